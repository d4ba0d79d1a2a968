"""Items and frames that tests are made of."""

from collections.abc import Iterable

from perdure_server.kernel.values import Payload
from perdure_server.ports.coordination import Coordination, Frame, ReadyItem

# For tests in which nothing is silent: a machine that is busy with other tests must not look like a silent Redis.
PATIENT = 10_000
NOW = 1_790_000_000_000


def item(
    number: int, *, queue: str = "q", ready_time: int = NOW, priority: int = 5, fairness_key: str = "", fairness_weight: float = 1.0
) -> ReadyItem:
    return ReadyItem(queue, number.to_bytes(16), "step", ready_time, priority, fairness_key, fairness_weight)


def numbers(items: Iterable[ReadyItem]) -> list[int]:
    return [int.from_bytes(taken.workflow_id) for taken in items]


def frame(seq: int, *, step: str = "step", claim_no: int = 1, text: str = "") -> Frame:
    return Frame(step, claim_no, seq, 1, NOW + seq, Payload(json=text or str(seq)))


async def drain(coordination: Coordination, queue: str = "q") -> list[int]:
    taken: list[int] = []
    while items := await coordination.take([queue], 50, 0):
        taken += numbers(items)
    return taken
