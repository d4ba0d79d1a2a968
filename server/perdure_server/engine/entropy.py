"""Randomness, in one place, so that a simulation can seed it."""

import os
from collections.abc import Callable

from perdure_server.kernel.values import Trace

_BLOCK = 4096


class Entropy:
    """Tokens, ids and dice. Reads its source in blocks: a system call per token was a tenth of a grant."""

    def __init__(self, source: Callable[[int], bytes] = os.urandom) -> None:
        self._source = source
        self._block = b""
        self._used = 0

    def bytes(self, count: int) -> bytes:
        """`count` random bytes."""
        if self._used + count > len(self._block):
            self._block = self._source(max(_BLOCK, count))
            self._used = 0
        self._used += count
        return self._block[self._used - count : self._used]

    def hex(self, count: int) -> str:
        """`count` random bytes as hex digits."""
        return self.bytes(count).hex()

    def trace(self, sample_ratio: float) -> Trace:
        """The trace of a workflow that no call with a trace context has started."""
        return Trace(self.hex(16), self.hex(8), flags=1 if self.dice() < sample_ratio else 0)

    def dice(self) -> float:
        """A number in [0, 1)."""
        return int.from_bytes(self.bytes(4), "big") / 2**32


def own_request_id(entropy: Entropy) -> str:
    """For a call without one: what it recognises its own effect by."""
    return f"~{entropy.hex(8)}"
