"""In-process coordination."""

from collections.abc import AsyncIterator

import pytest

from perdure_server.coordination import limits
from perdure_server.coordination.local import LocalCoordination
from perdure_server.ports.coordination import Coordination
from tests.coordination.clocks import StillClock
from tests.coordination.contract import CoordinationContract, opened
from tests.coordination.samples import frame, item


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
async def coordination(clock: StillClock) -> AsyncIterator[Coordination]:
    async with opened(LocalCoordination(clock)) as coordination:
        yield coordination


class TestLocalCoordination(CoordinationContract):
    """The contract, in this process."""


async def test_frames_expire_a_day_after_the_last_append(coordination: Coordination, clock: StillClock) -> None:
    await coordination.append_frames("run", [frame(1)])
    clock.time += limits.FRAMES_KEPT - 1
    await coordination.append_frames("run", [frame(2)])
    clock.time += limits.FRAMES_KEPT - 1
    assert len((await coordination.read_frames("run", "", 10)).frames) == 2
    clock.time += 1
    assert (await coordination.read_frames("run", "", 10)).frames == ()


async def test_frames_of_a_hundred_thousand_runs_stay_bounded(
    coordination: Coordination, clock: StillClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(coordination, LocalCoordination)
    monkeypatch.setattr("perdure_server.coordination.local_frames.FRAMES_TOTAL", 4 * 1024 * 1024)
    for number in range(100_000):
        clock.time += 1
        await coordination.append_frames(f"run{number}", [frame(1)])
    assert 1_000 < len(coordination._runs) < 4_096
    assert (await coordination.read_frames("run99999", "", 10)).frames
    assert not (await coordination.read_frames("run0", "", 10)).frames


async def test_queues_leave_nothing_behind(coordination: Coordination) -> None:
    assert isinstance(coordination, LocalCoordination)
    for number in range(1_000):
        await coordination.announce([item(number, queue=f"q{number}", fairness_key="k")])
        await coordination.take([f"q{number}"], 1, 0)
        await coordination.announce([item(number, queue=f"q{number}")])
        await coordination.remove([item(number, queue=f"q{number}")])
        await coordination.take([f"q{number}"], 1, 1)
    assert not coordination._queues
    assert not coordination._takers
