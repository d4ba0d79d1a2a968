"""The fence: a number that rises with every round of a business key. Whoever comes with a lower one than is stored comes too late.

    MongoDB      update_one({"_id": key, "fence": {"$lte": fence}}, {"$set": {..., "fence": fence}})
    SQL          UPDATE orders SET ..., fence = :fence WHERE id = :key AND fence <= :fence

`<=`, not `<`: the steps of one round share a fence, and an attempt that is made again must pass.
"""

from perdure import Failure


def superseded(key: str, fence: int) -> Failure:
    """What a step raises when its write was refused. Not retried: it will not become newer."""
    return Failure("order.superseded", f"{key}: a newer round than that of fence {fence} has written", non_retryable=True)
