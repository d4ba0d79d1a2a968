"""The names of all keys. What is used together shares a hash tag (`{...}`), and so a slot of a Redis Cluster: a queue, a run."""

import re
from zlib import crc32

from perdure_server.coordination.limits import TIMER_SHARDS

_PREFIX = re.compile(r"[A-Za-z0-9_.:-]{1,64}")


class Keys:
    """Key names under one prefix; two deployments on one Redis need two prefixes. ValueError on a prefix with other characters."""

    def __init__(self, prefix: str) -> None:
        if not _PREFIX.fullmatch(prefix):
            raise ValueError("a Redis key prefix has 1-64 letters, digits or any of _ . : -")
        self._prefix = prefix
        self.wakeups = f"{prefix}:wakeups"
        self.timers = tuple(f"{prefix}:{{timers:{shard}}}" for shard in range(TIMER_SHARDS))

    def ready(self, queue: str) -> str:
        """Sorted set: the items of a queue by score."""
        return f"{self._prefix}:{{q:{queue}}}:ready"

    def queue_of(self, key: str) -> str:
        """The inverse of `ready`."""
        return key[len(self._prefix) + 4 : -len("}:ready")]

    def fairness(self, queue: str) -> str:
        """Hash: fairness key -> last score in this queue."""
        return f"{self._prefix}:{{q:{queue}}}:fairness"

    def timers_of(self, workflow_id: bytes) -> str:
        """Sorted set: workflow id -> due time, one of a few shards."""
        return self.timers[crc32(workflow_id) % TIMER_SHARDS]

    def frames(self, run_id: str) -> str:
        """Stream: one run's frames, each entry a single field `f`."""
        return f"{self._prefix}:{{r:{run_id}}}:frames"

    def seqs(self, run_id: str) -> str:
        """Hash: `step:claim_no` -> last seq; `size` -> bytes in the stream."""
        return f"{self._prefix}:{{r:{run_id}}}:seqs"

    def bell(self, server: str) -> str:
        """Sorted set that wakes one server's blocked pop."""
        return f"{self._prefix}:bell:{server}"
