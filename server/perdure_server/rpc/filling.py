"""Pages that every client can take, however large their rows are."""

from google.protobuf.message import Message

from perdure_server.rpc import limits


class Filling:
    """One page while it is filled: as many rows as were asked for, and as one answer may carry; one at least."""

    def __init__(self, size: int) -> None:
        self._left = size
        self._bytes = 0

    def takes(self, row: Message) -> bool:
        """Whether the row is still of this page; if not, the page ends before it."""
        first = not self._bytes
        self._bytes += row.ByteSize()
        self._left -= 1
        return self._left >= 0 and (first or self._bytes <= limits.RESPONSE)
