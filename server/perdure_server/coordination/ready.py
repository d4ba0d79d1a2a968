"""The order of ready items, in one place: both adapters, and therefore both ends of a Redis rebuild, sort alike.

What a queue keeps of an item is its identity (workflow id, step) and its place, one number. The place also tells the priority and
the ready time from which it was made, so that a taken item that is announced again goes back to exactly its place.
"""

from collections.abc import Sequence

from perdure_server.coordination.limits import AGE_PER_PRIORITY, FAIRNESS_SHARE
from perdure_server.ports.coordination import ReadyItem

# The priority travels in the fraction of the place: binary, hence exact, and among equal scores the item that is ready longest,
# which is the one of the lowest priority, comes first.
PRIORITIES = 16
_LENGTH = 2


def place(ready_time: int, priority: int, last_place: float | None = None) -> float:
    """The one static number by which items are served, lowest first: the score in ms, and the priority as sixteenths.

    Aging: an item of priority p+1 overtakes one of p that became ready up to 30 s before it, never an older one; so the lowest
    priority waits at most 270 s longer than the highest. Fairness: an item comes at least one share (1 s) after `last_place`,
    the last one of its fairness key in this queue (None = no key, or the queue was empty, or long ago): however many items a key
    offers at once, an item of another key waits for about one of them per second that it came later.
    """
    rank = min(max(priority, 0), PRIORITIES - 1)
    score = ready_time - AGE_PER_PRIORITY * rank
    if last_place is not None:
        score = max(score, int(last_place // 1) + FAIRNESS_SHARE)
    return score + rank / PRIORITIES


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
