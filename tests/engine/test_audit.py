"""The audit trail when the store is away, and its bounded retention."""

from perdure_server.engine.audit import Deed
from perdure_server.kernel import limits
from perdure_server.ports.audit import AuditQuery
from perdure_server.store.memory import Moment
from tests.engine.harness import World

ALL = AuditQuery("default")


async def test_a_record_that_the_store_did_not_take_is_stored_later(world: World) -> None:
    server = await world.server()
    world.faults.away = True
    call = world.spawn(server.audit.record(Deed("PauseWorkflow", "default", request_id="r")))
    passed = await world.until(call.done)
    assert passed == limits.AUDIT_WITHIN, "the answer does not wait for ever: the deed is done"
    world.faults.away = False
    await world.advance(10_000)
    (found,) = await server.audit.find(ALL, 10, None)
    assert (found.method, found.request_id) == ("PauseWorkflow", "r")


async def test_an_unknown_result_makes_one_record(world: World) -> None:
    server = await world.server()
    world.faults.fail("audit.add", Moment.AFTER)
    call = world.spawn(server.audit.record(Deed("PauseWorkflow", "default")))
    await world.until(call.done)
    await server.audit.record(Deed("CancelWorkflow", "default", request_id="r"))
    await server.audit.record(Deed("CancelWorkflow", "default", request_id="r"))
    assert [record.method for record in await server.audit.find(ALL, 10, None)] == ["CancelWorkflow", "PauseWorkflow"]


async def test_a_record_is_forgotten_after_its_retention(world: World) -> None:
    server = await world.server()
    await server.audit.record(Deed("PauseWorkflow", "default"))
    await server.close()
    await world.advance(limits.AUDIT_RETENTION - limits.HOUR)
    later = await world.server()
    await world.advance(limits.MINUTE)
    assert len(await later.audit.find(ALL, 10, None)) == 1
    await world.advance(limits.HOUR)
    assert not await later.audit.find(ALL, 10, None)
