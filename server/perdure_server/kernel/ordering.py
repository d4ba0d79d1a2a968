"""In which order READY steps of one queue are served: a static number for each, so that nothing is sorted again as time goes by."""

from typing import Final

from perdure_server.kernel.limits import AGE_PER_PRIORITY, FAIRNESS_SHARE

# The priority travels in the fraction of the place: binary, hence exact, and among equal scores the item that is ready longest,
# which is the one of the lowest priority, comes first.
PRIORITIES: Final = 16


def place(ready_time: int, priority: int, last_place: float | None = None, share: int = FAIRNESS_SHARE) -> float:
    """The one static number by which items are served, lowest first: the score in ms, and the priority as sixteenths.

    Aging: an item of priority p+1 overtakes one of p that became ready up to 30 s before it, never an older one; so the lowest
    priority waits at most 270 s longer than the highest. Fairness: an item comes at least one share (5 s) after `last_place`,
    the last one of its fairness key in this queue (None = no key, or the queue was empty, or long ago): however many items a key
    offers at once, an item of another key waits for about one of them per share that it came later, and then for one in turn.
    """
    rank = min(max(priority, 0), PRIORITIES - 1)
    score = ready_time - AGE_PER_PRIORITY * rank
    if last_place is not None:
        score = max(score, int(last_place // 1) + share)
    return score + rank / PRIORITIES


def share_of(weight: float) -> int:
    """The distance in ms that the items of a fairness key keep: half of it for a key of twice the weight."""
    return max(1, round(FAIRNESS_SHARE / weight))
