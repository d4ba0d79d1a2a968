"""The Lua scripts. Each touches one hash tag only and takes every key as KEYS, so that each runs on a Redis Cluster.

None deletes what is not there: a server out of memory refuses a script by its first command that needs some. They are sent as
EVALSHA; a server that does not know one (new, restarted, SCRIPT FLUSH) gets it as EVAL, which also teaches it.
"""

from collections.abc import Sequence
from hashlib import sha1
from typing import Final

Argument = bytes | str | int | float
Command = tuple[Argument, ...]


class Script:
    """One script; its source travels only to a server that does not know it."""

    by_digest: Final[dict[str, "Script"]] = {}

    def __init__(self, source: str) -> None:
        self.source = source
        # Redis names scripts by SHA-1; nothing secret depends on it.
        self.digest = sha1(source.encode(), usedforsecurity=False).hexdigest()
        self.by_digest[self.digest] = self

    def call(self, keys: Sequence[str], arguments: Sequence[Argument]) -> Command:
        """The command that runs it."""
        return ("EVALSHA", self.digest, len(keys), *keys, *arguments)


def with_source(command: Command) -> Command:
    """The same EVALSHA as EVAL."""
    return ("EVAL", Script.by_digest[str(command[1])].source, *command[2:])


# The formula is kernel/ordering.py `place`; a test compares the two. An empty queue owes nobody fairness.
OFFER_FAIRLY = Script("""
local ready, fairness = KEYS[1], KEYS[2]
local kept, most, ready_kept = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local keys = redis.call('HLEN', fairness)
if keys > most or keys > 0 and redis.call('EXISTS', ready) == 0 then redis.call('DEL', fairness) end
for i = 4, #ARGV, 4 do
  local place, member, key, share = tonumber(ARGV[i]), ARGV[i + 1], ARGV[i + 2], tonumber(ARGV[i + 3])
  if not redis.call('ZSCORE', ready, member) then
    local last = key ~= '' and redis.call('HGET', fairness, key)
    if last then place = math.max(math.floor(place), math.floor(tonumber(last)) + share) + place % 1 end
    redis.call('ZADD', ready, string.format('%.4f', place), member)
    if key ~= '' then redis.call('HSET', fairness, key, string.format('%.4f', place)) end
  end
end
redis.call('PEXPIRE', fairness, kept)
redis.call('PEXPIRE', ready, ready_kept)
return 1
""")

# Removed in the same step as read, so that each timer goes to one caller.
POP_DUE = Script("""
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'WITHSCORES', 'LIMIT', 0, ARGV[2])
if #due > 0 then redis.call('ZREMRANGEBYRANK', KEYS[1], 0, #due / 2 - 1) end
return due
""")

# The stream's size is counted beside the seqs. If that count is lost, the stream goes too: watchers see a gap, never a repeat.
APPEND_FRAMES = Script("""
local stream, seqs = KEYS[1], KEYS[2]
local most, size_most, overhead, kept, sources = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5])
local size, length = tonumber(redis.call('HGET', seqs, 'size') or '-1'), redis.call('XLEN', stream)
if size < 0 and length > 0 then
  redis.call('DEL', stream)
  length = 0
end
if length == 0 then size = 0 end
if redis.call('HLEN', seqs) > sources then redis.call('DEL', seqs) end
for i = 6, #ARGV, 3 do
  local source, seq, data = ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2]
  if seq > tonumber(redis.call('HGET', seqs, source) or '0') then
    redis.call('HSET', seqs, source, ARGV[i + 1])
    redis.call('XADD', stream, '*', 'f', data)
    size, length = size + #data + overhead, length + 1
  end
end
while length > 1 and (length > most or size > size_most) do
  local oldest = redis.call('XRANGE', stream, '-', '+', 'COUNT', 1)[1]
  redis.call('XDEL', stream, oldest[1])
  size, length = size - #oldest[2][2] - overhead, length - 1
end
redis.call('HSET', seqs, 'size', string.format('%.0f', size))
redis.call('PEXPIRE', stream, kept)
redis.call('PEXPIRE', seqs, kept)
return length
""")
