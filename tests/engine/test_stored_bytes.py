"""The limit on what a namespace stores, with two servers in virtual time."""

import pytest

from perdure_server.engine.people import Conditions
from perdure_server.engine.service import Engine
from perdure_server.engine.transfer import Destination
from perdure_server.kernel import limits
from perdure_server.kernel.outcomes import Completed
from perdure_server.kernel.values import Payload
from perdure_server.kernel.workflow import WorkflowState
from perdure_server.ports.errors import StoreUnavailable
from perdure_server.store.memory import Moment
from tests.engine.harness import World
from tests.engine.test_quotas import accepted, keys, limit, refused
from tests.engine.workers import holding
from tests.kernel.harness import after, on_signal, signal, waiting

LARGE = "x" * 200_000  # larger than what stays in the document
MEASURED = limits.QUOTA_FRESH + limits.QUOTA_TELL + 1_000  # by then a change is seen everywhere


async def counted(world: World, server: Engine) -> int:
    """What ListNamespaces would tell, a while from now."""
    await world.advance(limits.NAMESPACE_USAGE + MEASURED)
    return (await server.namespaces.usage("default")).stored_bytes


async def test_the_limit_is_reached_refuses_and_after_a_purge_all_is_well(world: World) -> None:
    server = await world.server()
    await world.define(server, waiting("w", on_signal("go"), after(limits.DAY)))
    await limit(world, server, stored_bytes=1_000_000)
    await world.advance(MEASURED)
    await world.start(server, "small")
    for number in range(5):
        await world.start(server, f"k{number}", LARGE)
    error = await refused(world.start(server, "more"), "stored_bytes")
    assert (error.facts["limit"], error.facts["namespace"]) == ("1000000", "default")
    assert limits.SECOND <= error.retry_after <= limits.QUOTA_FRESH
    await refused(server.signal(world.ref("k0"), signal("go")), "stored_bytes")
    assert not (await world.start(server, "small")).created
    assert 1_000_000 < await counted(world, server) < 1_010_000
    await refused(world.start(server, "more"), "stored_bytes")
    for name in ("k0", "k1"):
        await server.cancel(world.ref(name), "", "")
        await server.remove(world.ref(name), Conditions())
    await world.advance(MEASURED)
    assert await accepted(world, server, "more") == ["more"]
    assert not (await server.signal(world.ref("k2"), signal("go"))).duplicate
    assert 600_000 < await counted(world, server) < 610_000


async def test_results_cancels_and_repeated_signals_are_never_refused(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", waiting("w: a", on_signal("go"), after(limits.DAY)))
    worker = await world.worker(server, script=holding)
    await world.start(server)
    await server.signal(world.ref(), signal("other", "s1"))
    await limit(world, server, stored_bytes=0)
    await world.advance(MEASURED)
    await refused(world.start(server, "new"), "stored_bytes")
    await refused(server.signal(world.ref(), signal("go", "s2")), "stored_bytes")
    assert (await server.signal(world.ref(), signal("other", "s1"))).duplicate
    await worker.settle(worker.claim("a"), Completed(Payload(json=f'"{LARGE}"')))
    await server.cancel(world.ref(), "", "")
    assert (await world.stored()).state is WorkflowState.CANCELLED


async def test_another_server_hears_of_the_measure_and_one_that_is_gone_is_stood_in_for(world: World) -> None:
    one, two = await world.server("one"), await world.server("two")
    await world.define(one, "a")
    await limit(world, one, stored_bytes=300_000)
    await world.advance(MEASURED)
    await world.start(one, "k1", LARGE)
    await world.start(one, "k2", LARGE)
    assert await accepted(world, two, "not yet known there") == ["not yet known there"]
    await world.advance(MEASURED)
    await refused(world.start(two, "k3"), "stored_bytes")
    await one.close()
    for name in ("k1", "k2"):
        await two.cancel(world.ref(name), "", "")
        await two.remove(world.ref(name), Conditions())
    await world.advance(limits.QUOTA_MEASURED_WITHIN + MEASURED)
    assert await accepted(world, two, "k3") == ["k3"]


async def test_a_signal_by_wake_token_and_a_file_are_asked_too(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding)
    await world.start(server)
    data = b"".join([line async for line in server.operations.transfer.export(world.ref(), False, False)])
    await limit(world, server, stored_bytes=0)
    await world.advance(MEASURED)
    await refused(server.signal(worker.claim("a").wake_token, signal("go")), "stored_bytes")
    await refused(server.operations.transfer.take_in(data, Destination("default", "copy", "r")), "stored_bytes")
    await server.operations.transfer.take_in(data, Destination("default", "copy", "r", validate_only=True))


async def test_a_namespace_without_the_limit_is_not_measured(world: World) -> None:
    asked: list[str] = []

    async def faults(operation: str, moment: Moment) -> None:
        if moment is Moment.BEFORE and operation in ("namespaces.stored_bytes", "namespaces.tally", "namespaces.put_tally"):
            asked.append(operation)

    server = await world.server()
    world.store.faults = faults
    await world.define(server, "a")
    await limit(world, server, open_workflows=100)
    await accepted(world, server, *keys("k", 20))
    await world.advance(limits.MINUTE)
    assert asked == []
    await limit(world, server, stored_bytes=1)
    await world.advance(limits.MINUTE)
    assert 10 <= asked.count("namespaces.stored_bytes") <= 14
    await limit(world, server)
    asked.clear()
    await world.advance(limits.MINUTE)
    assert asked == []
    assert await counted(world, server) == 0


@pytest.mark.parametrize("moment", list(Moment))
async def test_a_measure_that_fails_is_made_again_and_refuses_nobody(world: World, moment: Moment) -> None:
    failing = True

    async def faults(operation: str, at: Moment) -> None:
        if failing and at is moment and operation in ("namespaces.stored_bytes", "namespaces.put_tally"):
            raise StoreUnavailable("down")

    server = await world.server()
    await world.define(server, "a")
    world.store.faults = faults
    await limit(world, server, stored_bytes=0)
    await world.advance(limits.MINUTE)
    assert await accepted(world, server, "k") == ["k"]
    failing = False
    await world.advance(limits.QUOTA_MEASURED_WITHIN + MEASURED)
    await refused(world.start(server, "new"), "stored_bytes")
