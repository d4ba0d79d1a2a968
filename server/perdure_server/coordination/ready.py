"""Ready items as a queue keeps them: an identity (workflow id, step) and a place, one number (kernel/ordering.py).

The place also tells the priority and the ready time from which it was made, so that a taken item that is announced again goes back to
exactly its place. Both adapters, and therefore both ends of a Redis rebuild, sort alike.
"""

from collections.abc import Sequence

from perdure_server.kernel.limits import AGE_PER_PRIORITY
from perdure_server.kernel.ordering import PRIORITIES
from perdure_server.ports.coordination import ReadyItem

_LENGTH = 2


def encode_item(item: ReadyItem) -> bytes:
    """The item's identity within its queue; among equal places the lower bytes are served first."""
    return len(item.workflow_id).to_bytes(_LENGTH) + item.workflow_id + item.step.encode()


def decode_item(queue: str, member: bytes, found_at: float) -> ReadyItem:
    """An item by its identity and place; ValueError if these bytes are not ours.

    Its fairness key is "", and its ready time is later than the announced one by what fairness had moved it.
    """
    length = int.from_bytes(member[:_LENGTH])
    workflow_id, step = member[_LENGTH : _LENGTH + length], member[_LENGTH + length :]
    if len(workflow_id) != length or not step:
        raise ValueError("not a ready item")
    score = int(found_at // 1)
    priority = round((found_at - score) * PRIORITIES)
    return ReadyItem(queue, workflow_id, step.decode(), score + AGE_PER_PRIORITY * priority, priority)


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
