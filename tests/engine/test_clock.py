"""Store time on this machine's clock."""

import asyncio
from typing import cast

import pytest

from perdure_server.engine.clock import StoreClock
from perdure_server.ports.errors import StoreUnavailable
from tests.engine.virtual_loop import VirtualLoop


class Bench:
    """A store's clock and a machine's, moved apart at will."""

    def __init__(self) -> None:
        self.store = 1_000_000
        self.machine = 50
        self.round_trip = 0
        self.away = False

    async def measure(self) -> tuple[int, int]:
        if self.away:
            raise StoreUnavailable("away")
        return self.store, self.round_trip

    def monotonic(self) -> int:
        return self.machine

    def pass_time(self, duration: int) -> None:
        self.store += duration
        self.machine += duration


async def test_store_time_is_carried_on_the_monotonic_clock() -> None:
    bench = Bench()
    clock = StoreClock(bench.measure, bench.monotonic)
    await clock.sync()
    assert clock.now() == 1_000_000
    bench.pass_time(5_000)
    assert clock.now() == 1_005_000


async def test_it_never_goes_back() -> None:
    bench = Bench()
    clock = StoreClock(bench.measure, bench.monotonic)
    await clock.sync()
    bench.pass_time(1_000)
    before = clock.now()
    bench.store -= 10_000
    for _ in range(9):
        await clock.sync()
    assert clock.now() == before
    bench.pass_time(10_000)
    assert clock.now() == before


async def test_the_sample_with_the_shortest_round_trip_counts() -> None:
    bench = Bench()
    clock = StoreClock(bench.measure, bench.monotonic)
    await clock.sync()
    bench.round_trip = 900
    await clock.sync()
    assert clock.now() == 1_000_000
    assert clock.certain


async def test_c17_uncertain_by_more_than_a_second_is_not_ready() -> None:
    bench = Bench()
    bench.round_trip = 1_001
    clock = StoreClock(bench.measure, bench.monotonic)
    await clock.sync()
    assert not clock.may_judge(0)
    bench.round_trip = 100
    await clock.sync()
    assert clock.may_judge(0)


async def test_c21_a_failed_sample_begins_the_lease_anew() -> None:
    bench = Bench()
    clock = StoreClock(bench.measure, bench.monotonic)
    assert not clock.may_judge(0)
    await clock.sync()
    bench.pass_time(30_000)
    assert clock.may_judge(30_000)
    bench.away = True
    with pytest.raises(StoreUnavailable):
        await clock.sync()
    assert not clock.may_judge(0)
    bench.away = False
    await clock.sync()
    bench.pass_time(29_999)
    assert not clock.may_judge(30_000)
    bench.pass_time(1)
    assert clock.may_judge(30_000)


async def test_c14_a_sleep_of_years_is_cut_into_pieces() -> None:
    loop = cast("VirtualLoop", asyncio.get_running_loop())
    bench = Bench()
    clock = StoreClock(bench.measure, lambda: loop.milliseconds)
    await clock.sync()
    sleeping = loop.create_task(clock.sleep_until(clock.now() + 90_000))
    await loop.advance(89_999)
    assert not sleeping.done()
    await loop.advance(1)
    assert sleeping.done()


async def test_loops_of_a_process_wake_at_the_same_moments_and_never_later_than_asked() -> None:
    bench = Bench()
    clock = StoreClock(bench.measure, bench.monotonic, phase=300)
    bench.machine = 10_300
    assert [clock.together(duration) for duration in (1_000, 1_500, 5_000)] == [1_000, 1_000, 5_000]
    bench.machine = 10_320  # what was to do took a while
    assert [clock.together(duration) for duration in (1_000, 1_500, 5_000)] == [980, 980, 4_980]
    bench.machine = 10_298  # a timer went off early
    assert clock.together(1_000) == 1_000
    bench.machine = 11_200  # it took so long that the next moment is too near
    assert [clock.together(duration) for duration in (1_000, 2_000)] == [500, 1_100]
    assert clock.together(999) == 999


async def test_without_a_phase_each_loop_keeps_its_own_time() -> None:
    bench = Bench()
    bench.machine = 10_320
    assert StoreClock(bench.measure, bench.monotonic).together(1_000) == 1_000
