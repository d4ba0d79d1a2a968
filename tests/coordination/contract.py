"""What every Coordination does. An adapter is proved by a subclass that provides the `coordination` fixture."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from perdure_server.ports.coordination import RE_READ, Coordination, WakeUp
from perdure_server.ports.errors import CoordinationUnavailable
from tests.coordination.contract_frames import FramesContract
from tests.coordination.contract_queues import ReadyQueuesContract
from tests.coordination.samples import NOW, item


class TimersContract:
    """Due times."""

    async def test_due_timers_oldest_first(self, coordination: Coordination) -> None:
        due = {number.to_bytes(16): NOW + number for number in range(20)}
        await coordination.set_timers(due)
        assert await coordination.next_timer() == NOW
        assert await coordination.due_timers(NOW - 1, 100) == []
        assert await coordination.due_timers(NOW + 9, 100) == [number.to_bytes(16) for number in range(10)]
        assert await coordination.next_timer() == NOW + 10
        assert len(await coordination.due_timers(NOW + 50, 100)) == 10
        assert await coordination.next_timer() is None

    async def test_the_earliest_of_several_stands(self, coordination: Coordination) -> None:
        await coordination.set_timers({b"w": NOW})
        await coordination.set_timers({b"w": NOW + 5})
        assert await coordination.next_timer() == NOW
        await coordination.set_timers({b"w": NOW - 5})
        assert await coordination.due_timers(NOW - 5, 10) == [b"w"]
        assert await coordination.due_timers(NOW + 5, 10) == []

    async def test_limit(self, coordination: Coordination) -> None:
        await coordination.set_timers({number.to_bytes(16): NOW for number in range(50)})
        seen: list[bytes] = []
        for limit in (1, 3, 7, 39, 5):
            found = await coordination.due_timers(NOW, limit)
            assert len(found) <= limit
            seen += found
        assert len(seen) == len(set(seen)) == 50
        assert await coordination.due_timers(NOW, 0) == []

    async def test_c18_each_timer_goes_to_one_caller(self, coordination: Coordination) -> None:
        workflow_ids = [number.to_bytes(16) for number in range(3_000)]
        await coordination.set_timers(dict.fromkeys(workflow_ids, NOW))
        fired: list[bytes] = []

        async def pump() -> None:
            while found := await coordination.due_timers(NOW, 100):
                fired.extend(found)

        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(pump())
        assert sorted(fired) == workflow_ids

    async def test_nothing_to_set(self, coordination: Coordination) -> None:
        await coordination.set_timers({})
        assert await coordination.next_timer() is None


class WakeUpsContract:
    """Publish and subscribe."""

    async def test_everybody_hears_in_order(self, coordination: Coordination) -> None:
        first, second = coordination.subscribe(), coordination.subscribe()
        assert [await anext(first), await anext(second)] == [RE_READ, RE_READ]
        sent = [WakeUp("w", number.to_bytes(16), number) for number in range(100)]
        await coordination.publish(sent[:60])
        await coordination.publish(sent[60:])
        await coordination.publish([])
        assert [await anext(first) for _ in sent] == sent
        assert [await anext(second) for _ in sent] == sent

    async def test_close_ends_the_subscription(self, coordination: Coordination) -> None:
        subscription = coordination.subscribe()

        async def listen() -> list[WakeUp]:
            return [wakeup async for wakeup in subscription]

        async with asyncio.TaskGroup() as group:
            heard = group.create_task(listen())
            await coordination.publish([])
            await coordination.close()
        assert set(heard.result()) <= {RE_READ}


class LifeContract:
    """Open, close, description."""

    async def test_after_close_everything_is_unavailable(self, coordination: Coordination) -> None:
        async def wait() -> None:
            with pytest.raises(CoordinationUnavailable):
                await coordination.take(["q"], 1, 20_000)

        async with asyncio.TaskGroup() as group:
            group.create_task(wait())
            await coordination.backlog(["q"])
            await coordination.close()
        with pytest.raises(CoordinationUnavailable):
            await coordination.announce([item(1)])
        with pytest.raises(CoordinationUnavailable):
            await coordination.take(["q"], 1, 1_000)
        assert coordination.description()["health"] == "closed"
        await coordination.close()

    async def test_description_names_no_host(self, coordination: Coordination) -> None:
        facts = coordination.description()
        assert facts["health"] == "ok"
        assert facts["kind"]
        assert not any("127.0.0.1" in value or "localhost" in value for value in facts.values())


class CoordinationContract(ReadyQueuesContract, TimersContract, WakeUpsContract, FramesContract, LifeContract):
    """All of it."""


@contextlib.asynccontextmanager
async def opened(coordination: Coordination) -> AsyncIterator[Coordination]:
    """Open for the length of a test."""
    await coordination.open()
    try:
        yield coordination
    finally:
        await coordination.close()
