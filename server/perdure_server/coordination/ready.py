"""The order of ready items, in one place: both adapters, and therefore both ends of a Redis rebuild, sort alike."""

import struct
from collections.abc import Sequence

import msgspec

from perdure_server.coordination.limits import AGE_PER_PRIORITY, FAIRNESS_SHARE
from perdure_server.ports.coordination import ReadyItem

# Big-endian, so that the order of the bytes is the order of the ready times; items of one score are served oldest first.
_HEAD = struct.Struct(">QB")
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(tuple[bytes, str, str])


def score(ready_time: int, priority: int, last_score: int | None = None) -> int:
    """The one static number by which items are served, lowest first; in ms.

    Aging: an item of priority p+1 overtakes one of p that became ready up to 30 s before it, never an older one; so the lowest
    priority waits at most 270 s longer than the highest. Fairness: an item comes at least one share (1 s) after `last_score`,
    the last one of its fairness key in this queue (None = no key, or the queue was empty, or long ago): however many items a key
    offers at once, an item of another key waits for about one of them per second that it came later.
    """
    aged = ready_time - AGE_PER_PRIORITY * priority
    return aged if last_score is None else max(aged, last_score + FAIRNESS_SHARE)


def encode_item(item: ReadyItem) -> bytes:
    """The item without its queue. Equal bytes = the same offer; among equal scores the lower bytes are served first."""
    return _HEAD.pack(max(0, item.ready_time), item.priority) + _encoder.encode((item.workflow_id, item.step, item.fairness_key))


def decode_item(queue: str, member: bytes) -> ReadyItem:
    """The inverse of `encode_item`; ValueError if these bytes are not ours."""
    try:
        ready_time, priority = _HEAD.unpack_from(member)
        workflow_id, step, fairness_key = _decoder.decode(memoryview(member)[_HEAD.size :])
    except (struct.error, msgspec.DecodeError) as error:
        raise ValueError("not a ready item") from error
    return ReadyItem(queue, workflow_id, step, ready_time, priority, fairness_key)


class Rotation:
    """Remembers which queue was served last, so that each in turn is asked first."""

    def __init__(self) -> None:
        self._last = ""

    def order(self, queues: Sequence[str]) -> Sequence[str]:
        """`queues`, beginning after the one served last (from the start if that one is not among them)."""
        try:
            start = queues.index(self._last) + 1
        except ValueError:
            return queues
        return [*queues[start:], *queues[:start]]

    def served(self, queue: str) -> None:
        """Call this with the last queue that gave an item."""
        self._last = queue
