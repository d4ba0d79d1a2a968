"""The limits of a namespace, with two servers in virtual time."""

from collections.abc import AsyncIterator, Awaitable
from contextlib import aclosing
from typing import Any, cast

import pytest
from msgspec.structs import replace

from perdure_server.engine.people import Conditions
from perdure_server.engine.service import Engine
from perdure_server.kernel import limits
from perdure_server.kernel.namespace import NamespaceLimits
from perdure_server.kernel.outcomes import Completed
from perdure_server.kernel.rejection import Reason, Rejection
from tests.engine.harness import World
from tests.engine.workers import holding


async def limit(world: World, server: Engine, **most: Any) -> None:
    """Set limits, and wait until every server knows them."""
    await server.namespaces.put("default", lambda settings: replace(settings, limits=NamespaceLimits(**most)), Conditions(""))
    await world.advance(limits.NAMESPACE_REFRESH + 100)


async def refused(call: Awaitable[object], name: str) -> Rejection:
    with pytest.raises(Rejection) as caught:
        await call
    assert caught.value.reason is Reason.QUOTA_EXCEEDED
    assert (caught.value.facts["scope"], caught.value.facts["limit_name"]) == ("namespace", name)
    return caught.value


async def accepted(world: World, server: Engine, *names: str) -> list[str]:
    """Which of these starts were let in."""
    found: list[str] = []
    for name in names:
        try:
            await world.start(server, name)
        except Rejection as error:
            if error.reason is not Reason.QUOTA_EXCEEDED:
                raise
        else:
            found.append(name)
    return found


def keys(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{number}" for number in range(count)]


class TestOpenWorkflows:
    async def test_no_more_are_open_at_once_and_repeats_are_let_through(self, world: World) -> None:
        server = await world.server()
        await world.define(server, "a")
        await limit(world, server, open_workflows=3)
        assert await accepted(world, server, *keys("k", 5)) == keys("k", 3)
        error = await refused(world.start(server, "more"), "open_workflows")
        assert error.facts["limit"] == "3"
        assert not (await world.start(server, "k1")).created
        await server.cancel(world.ref("k1"), "", "")
        await world.advance(limits.QUOTA_LOOK_AGAIN + 100)
        assert await accepted(world, server, "new", "one too many") == ["new"]

    async def test_another_server_knows_within_five_seconds(self, world: World) -> None:
        one, two = await world.server("one"), await world.server("two")
        await world.define(one, "a")
        await limit(world, one, open_workflows=3)
        assert await accepted(world, two, "first") == ["first"]
        assert await accepted(world, one, "second", "third") == ["second", "third"]
        await world.advance(limits.QUOTA_FRESH)
        assert await accepted(world, two, "fourth") == []

    async def test_what_is_under_way_is_never_refused(self, world: World) -> None:
        server = await world.server()
        await world.define(server, "a")
        worker = await world.worker(server, script=holding)
        await world.start(server, "k0")
        await world.start(server, "k1")
        await world.settle()
        await limit(world, server, open_workflows=0, starts_per_second=0, sessions=0, watchers=0)
        await refused(world.start(server, "k2"), "open_workflows")
        await world.advance(limits.MINUTE)  # renewals and all
        assert (await worker.settle(worker.claim("a", "k0"), Completed())).error is None
        assert world.is_completed("k0")
        await server.cancel(world.ref("k1"), "", "")


class TestStartsPerSecond:
    async def test_two_servers_together_start_no_more_than_that(self, world: World) -> None:
        one, two = await world.server("one"), await world.server("two")
        await world.define(one, "a")
        await limit(world, one, starts_per_second=10)
        await world.advance(limits.SECOND - world.now() % limits.SECOND)
        begun = world.now()
        let_in = await accepted(world, one, *keys("a", 8)) + await accepted(world, two, *keys("b", 8))
        assert world.now() // limits.SECOND == begun // limits.SECOND
        assert len(let_in) == 10
        await refused(world.start(one, "x"), "starts_per_second")
        await refused(world.start(two, "x"), "starts_per_second")
        await world.advance(limits.SECOND)
        assert len(await accepted(world, one, *keys("c", 30))) == 10

    async def test_one_server_alone_gets_all_of_it(self, world: World) -> None:
        one = await world.server("one")
        await world.server("two")
        await world.define(one, "a")
        await limit(world, one, starts_per_second=100)
        await world.advance(limits.SECOND - world.now() % limits.SECOND)
        assert len(await accepted(world, one, *keys("a", 105))) == 100

    async def test_less_than_one_a_second(self, world: World) -> None:
        server = await world.server()
        await world.define(server, "a")
        await limit(world, server, starts_per_second=0.1)
        let_in = 0
        for number in range(60):
            let_in += len(await accepted(world, server, f"k{number}"))
            await world.advance(limits.SECOND)
        assert 6 <= let_in <= 7

    async def test_nothing_is_asked_of_the_store_for_most_starts(self, world: World) -> None:
        server = await world.server()
        await world.define(server, "a")
        asked: list[str] = []
        tally = server.store.namespaces.put_tally

        async def counted(*arguments: Any) -> bool:
            asked.append("put")
            return await tally(*arguments)

        server.store.namespaces.put_tally = counted  # type: ignore[method-assign, assignment]  # listens, and does the same
        await accepted(world, server, *keys("free", 20))
        assert asked == []
        await limit(world, server, starts_per_second=1_000)
        assert len(await accepted(world, server, *keys("a", 100))) == 100
        assert len(asked) <= 4


class TestSessions:
    async def test_no_more_sessions_and_a_reconnect_is_none(self, world: World) -> None:
        one, two = await world.server("one"), await world.server("two")
        await world.define(one, "a")
        await limit(world, one, sessions=2)
        await world.worker(one)
        await world.worker(two)
        await refused(world.worker(one), "sessions")
        await refused(world.worker(two), "sessions")


class TestWatchers:
    @staticmethod
    async def opened(server: Engine, ref: Any) -> AsyncIterator[Any]:
        batches = server.watch(ref, "", False, False)
        await anext(batches)
        return batches

    async def test_no_more_watchers_and_other_servers_hear_of_them(self, world: World) -> None:
        one, two = await world.server("one"), await world.server("two")
        await world.define(one, "a")
        await world.start(one, "k")
        await limit(world, one, watchers=2)
        first = await self.opened(one, world.ref("k"))
        await world.advance(5 * limits.SECOND)
        second = await self.opened(two, world.ref("k"))
        await refused(self.opened(two, world.ref("k")), "watchers")
        await world.advance(5 * limits.SECOND)
        await refused(self.opened(one, world.ref("k")), "watchers")
        await cast("Any", first).aclose()
        await world.advance(5 * limits.SECOND)
        third = await self.opened(two, world.ref("k"))
        for batches in (second, third):
            await cast("Any", batches).aclose()

    async def test_the_word_of_a_server_that_is_gone_is_forgotten(self, world: World) -> None:
        one, two = await world.server("one"), await world.server("two")
        await world.define(one, "a")
        await world.start(one, "k")
        await limit(world, one, watchers=1)
        async with aclosing(cast("Any", await self.opened(one, world.ref("k")))):
            await world.advance(limits.QUOTA_FORGET + 5 * limits.SECOND)
            await refused(self.opened(two, world.ref("k")), "watchers")
            one.quotas.step = two.quotas.step  # type: ignore[method-assign]  # it says nothing more
        one.quotas._known.clear()
        await world.advance(limits.QUOTA_FORGET + 5 * limits.SECOND)
        await cast("Any", await self.opened(two, world.ref("k"))).aclose()
