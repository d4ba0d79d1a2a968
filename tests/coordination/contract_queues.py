"""What every ReadyQueues does."""

import asyncio
import contextlib
import itertools

from perdure_server.ports.coordination import Coordination
from tests.conftest import Eventually
from tests.coordination.samples import NOW, drain, item, numbers

ODD_QUEUES = ("default", "a{b}c", "}", "{", "", "ns/q/type/ab12/step", "Größe ☃")


class ReadyQueuesContract:
    """Offers, order, waiting, rotation, cancellation."""

    async def test_oldest_first(self, coordination: Coordination) -> None:
        await coordination.announce([item(3, ready_time=NOW + 3), item(1, ready_time=NOW + 1), item(2, ready_time=NOW + 2)])
        assert await drain(coordination) == [1, 2, 3]
        assert not await coordination.take(["q"], 10, 0)

    async def test_a_taken_item_is_the_announced_one(self, coordination: Coordination) -> None:
        announced = [item(number, ready_time=NOW + number, priority=number) for number in range(10)]
        await coordination.announce(announced)
        taken = [*await coordination.take(["q"], 100, 0)]
        assert sorted(taken, key=lambda each: each.ready_time) == announced

    async def test_c53_priority_is_worth_thirty_seconds_of_waiting(self, coordination: Coordination) -> None:
        later_but_higher = item(1, ready_time=NOW + 29_999, priority=6)
        later_still = item(3, ready_time=NOW + 30_001, priority=6)
        await coordination.announce([later_still, item(2, ready_time=NOW, priority=5), later_but_higher])
        assert await drain(coordination) == [1, 2, 3]

    async def test_c53_equal_scores_oldest_ready_time_first_in_any_order_of_announcing(self, coordination: Coordination) -> None:
        equal = [item(number, ready_time=NOW + 30_000 * number, priority=number) for number in range(4)]
        for order in itertools.permutations(equal):
            for each in order:
                await coordination.announce([each])
            assert await drain(coordination) == [0, 1, 2, 3]

    async def test_c53_a_key_with_many_items_does_not_hold_up_another(self, coordination: Coordination) -> None:
        await coordination.announce([item(number, fairness_key="big") for number in range(2_000)])
        await coordination.announce([item(5_000 + number, ready_time=NOW + 5_000, fairness_key="small") for number in range(10)])
        order = await drain(coordination)
        assert len(order) == 2_010
        # Five seconds later: about five of the big one's first, then one each in turn.
        assert max(order.index(5_000 + number) for number in range(10)) <= 5 + 2 * 10
        assert [number for number in order if number < 5_000] == list(range(2_000))

    async def test_how_many_are_ahead_is_the_place_at_which_it_is_taken(self, coordination: Coordination) -> None:
        mixed = [
            item(number, ready_time=NOW + 7_000 * (number % 9), priority=number % 10, fairness_key=("", "big", "small")[number % 3])
            for number in range(60)
        ]
        await coordination.announce(mixed)
        ahead = [await coordination.ahead(each) for each in mixed]
        assert sorted(ahead) == list(range(60))
        order = await drain(coordination)
        assert [order[place] for place in ahead] == list(range(60))

    async def test_what_is_not_there_has_as_many_ahead_as_it_would_have(self, coordination: Coordination) -> None:
        await coordination.announce([item(number, ready_time=NOW + number) for number in range(10)])
        assert await coordination.ahead(item(99, ready_time=NOW + 4)) == 4
        assert await coordination.ahead(item(99, ready_time=NOW + 4, priority=6)) == 0
        assert await coordination.ahead(item(99, ready_time=NOW + 400)) == 10
        assert await coordination.ahead(item(99, queue="other")) == 0

    async def test_a_key_of_twice_the_weight_gets_twice_as_much(self, coordination: Coordination) -> None:
        await coordination.announce([item(number, fairness_key="heavy", fairness_weight=2.0) for number in range(100)])
        await coordination.announce([item(1_000 + number, fairness_key="light") for number in range(100)])
        first = (await drain(coordination))[:90]
        assert 58 <= sum(number < 1_000 for number in first) <= 62

    async def test_an_empty_queue_owes_no_fairness(self, coordination: Coordination) -> None:
        await coordination.announce([item(number, fairness_key="big") for number in range(100)])
        assert len(await drain(coordination)) == 100
        await coordination.announce([item(200, ready_time=NOW + 1, fairness_key="big"), item(201, ready_time=NOW + 2)])
        assert await drain(coordination) == [200, 201]

    async def test_an_item_that_is_there_keeps_its_place(self, coordination: Coordination) -> None:
        await coordination.announce([item(1), item(2, ready_time=NOW + 1)])
        await coordination.announce([item(1, ready_time=NOW + 10, priority=1, fairness_key="k"), item(2, ready_time=NOW - 5)])
        assert await coordination.backlog(["q"]) == {"q": 2}
        assert await drain(coordination) == [1, 2]

    async def test_a_taken_item_announced_again_goes_back_to_its_place(self, coordination: Coordination) -> None:
        await coordination.announce([item(number, fairness_key="k") for number in range(5)])
        first, second = await coordination.take(["q"], 2, 0)
        await coordination.announce([second])
        await coordination.announce([first])
        assert await drain(coordination) == [0, 1, 2, 3, 4]

    async def test_limit(self, coordination: Coordination) -> None:
        await coordination.announce([item(number, ready_time=NOW + number) for number in range(5)])
        assert numbers(await coordination.take(["q"], 2, 0)) == [0, 1]
        assert not await coordination.take(["q"], 0, 1_000)
        assert not await coordination.take([], 5, 1_000)
        assert numbers(await coordination.take(["q"], 2, 1_000)) == [2, 3]

    async def test_queues_are_served_in_rotation(self, coordination: Coordination) -> None:
        for queue in ("a", "b", "c"):
            await coordination.announce([item(number, queue=queue) for number in range(3)])
        served = [(await coordination.take(["a", "b", "c"], 1, 0))[0].queue for _ in range(9)]
        assert served == ["a", "b", "c"] * 3

    async def test_odd_queue_names_are_kept_apart(self, coordination: Coordination) -> None:
        await coordination.announce([item(number, queue=queue, fairness_key="k") for number, queue in enumerate(ODD_QUEUES)])
        assert await coordination.backlog(ODD_QUEUES) == dict.fromkeys(ODD_QUEUES, 1)
        for number, queue in enumerate(ODD_QUEUES):
            (taken,) = await coordination.take([queue], 5, 0)
            assert (taken.queue, numbers([taken])) == (queue, [number])

    async def test_remove_goes_by_identity(self, coordination: Coordination) -> None:
        await coordination.announce([item(1), item(2), item(3)])
        await coordination.remove([item(2, ready_time=NOW + 99, priority=0), item(9), item(1, queue="other")])
        assert await drain(coordination) == [1, 3]

    async def test_backlog_counts_none_where_nothing_is(self, coordination: Coordination) -> None:
        assert await coordination.backlog(["never"]) == {"never": 0}
        assert await coordination.backlog([]) == {}

    async def test_take_waits_and_answers_with_nothing(self, coordination: Coordination) -> None:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        assert not await coordination.take(["q"], 1, 120)
        assert 0.1 <= loop.time() - begun < 5

    async def test_a_waiting_take_gets_what_comes(self, coordination: Coordination) -> None:
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(coordination.take(["other", "q"], 5, 10_000))
            await coordination.announce([item(1)])
        assert numbers(waiting.result()) == [1]

    async def test_waiting_takes_of_different_queues_each_get_theirs(self, coordination: Coordination) -> None:
        async with asyncio.TaskGroup() as group:
            waiting = [group.create_task(coordination.take([f"q{number}"], 1, 10_000)) for number in range(20)]
            for number in reversed(range(20)):
                await coordination.announce([item(number, queue=f"q{number}")])
        assert [numbers(task.result()) for task in waiting] == [[number] for number in range(20)]

    async def test_c38_each_item_goes_to_one_taker(self, coordination: Coordination) -> None:
        taken: list[int] = []

        async def take() -> None:
            while items := await coordination.take(["a", "b"], 3, 300):
                taken.extend(numbers(items))

        async with asyncio.TaskGroup() as group:
            for _ in range(10):
                group.create_task(take())
            for number in range(200):
                await coordination.announce([item(number, queue="ab"[number % 2])])
        assert sorted(taken) == list(range(200))

    async def test_c74_a_cancelled_take_loses_nothing(self, coordination: Coordination, eventually: Eventually) -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(40):
                waiting = group.create_task(coordination.take(["q"], 1, 10_000))
                for _ in range(number % 7):
                    await coordination.backlog(["q"])
                announced = group.create_task(coordination.announce([item(number)]))
                for _ in range(number % 5):
                    await coordination.backlog(["other"])
                waiting.cancel()
                await announced
                with contextlib.suppress(asyncio.CancelledError):
                    await coordination.announce(await waiting)

        async def complete() -> bool:
            return (await coordination.backlog(["q"]))["q"] == 40

        assert await eventually(complete, what="all forty items are back")
