"""Deleting definitions: refused while in use, told to all servers, and harmless to a start that was under way."""

import pytest

from perdure_server.engine.catalog import DefinitionName
from perdure_server.engine.people import Conditions
from perdure_server.engine.service import Engine
from perdure_server.kernel import limits
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.start import OnClosed
from perdure_server.ports.errors import StoreUnavailable
from perdure_server.store.memory import Moment
from tests.engine.harness import World
from tests.engine.workers import holding

KEPT = limits.MINUTE  # instead of a day, of which the bench would run every second
BY_THEN = 2 * limits.HOUSEKEEPING_INTERVAL


@pytest.fixture(autouse=True)
def _kept_for_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "DELETED_DEFINITION_KEPT", KEPT)


async def two(world: World, server: Engine) -> tuple[Definition, Definition]:
    """An old definition, which some may run by, and the active one."""
    old = await world.define(server, "a")
    return old, await world.define(server, "a", "b: a")


def name_of(definition: Definition) -> DefinitionName:
    return DefinitionName(definition.namespace, definition.workflow_type, definition.fingerprint)


async def delete(server: Engine, definition: Definition, request_id: str = "") -> bool:
    """What the RPC does. True = this call deleted it."""
    removal = server.operations.definition_removal
    found = await removal.look(name_of(definition), request_id)
    return found is not None and await removal.delete(found[0], request_id)


async def refused(server: Engine, definition: Definition) -> dict[str, str]:
    with pytest.raises(Rejection) as caught:
        await delete(server, definition)
    assert caught.value.reason is Reason.DEFINITION_IN_USE
    return dict(caught.value.facts)


async def stored(world: World, definition: Definition) -> Definition | None:
    return await world.store.definitions.get(definition.namespace, definition.workflow_type, definition.fingerprint)


async def start_by(world: World, server: Engine, definition: Definition, key: str = "k") -> None:
    await server.start(world.command(key), definition.fingerprint)


async def test_refused_while_it_is_active_or_a_workflow_is_kept(world: World) -> None:
    server = await world.server()
    old, active = await two(world, server)
    assert await refused(server, active) == {"active": "true"}
    worker = await world.worker(server, script=holding)
    await start_by(world, server, old)
    await world.settle()
    assert await refused(server, old) == {"open_count": "1", "kept_count": "1", "workflows": "k (round 1)"}
    await worker.settle(worker.claim("a"))
    assert await world.completed()
    assert await refused(server, old) == {"open_count": "0", "kept_count": "1", "workflows": "k (round 1)"}, "it may be replayed"
    await server.start(world.command(on_closed=OnClosed.NEW_ROUND, request_id="r"))
    await world.settle()
    assert await refused(server, old) == {"open_count": "0", "kept_count": "1", "workflows": "k (round 1)"}, "an archived round"
    await worker.settle(worker.claim("a"))
    await worker.settle(worker.claim("b"))
    await server.remove(world.ref(), Conditions())
    await world.advance(2 * limits.MINUTE)
    assert await delete(server, old)


async def test_a_deleted_definition_is_gone_for_every_server_at_once(world: World) -> None:
    server, other = await world.server(), await world.server()
    old, active = await two(world, server)
    for engine in (server, other):
        assert (await engine.definition("default", "note", old.fingerprint))[0].fingerprint == old.fingerprint
    assert await delete(server, old)
    await world.settle()
    for engine in (server, other):
        for use in (
            start_by(world, engine, old),
            engine.definition("default", "note", old.fingerprint),
            engine.activate("default", "note", old.fingerprint),
            engine.pause_definitions(name_of(old), None),
            engine.operations.definition_removal.look(name_of(old), "another"),
        ):
            with pytest.raises(Rejection) as caught:
                await use
            assert caught.value.reason is Reason.DEFINITION_NOT_FOUND
        assert [found.fingerprint for found in await engine.versions("default", "note")] == [active.fingerprint]
    assert world.writes == 0


async def test_its_document_goes_a_while_later(world: World) -> None:
    server = await world.server()
    old, active = await two(world, server)
    assert await delete(server, old)
    await world.advance(KEPT - 2_000)
    assert await stored(world, old) is not None
    await world.advance(BY_THEN)
    assert await stored(world, old) is None
    assert await stored(world, active) is not None


async def test_a_start_that_was_held_up_runs_to_its_end_by_what_was_deleted(world: World) -> None:
    """On another server, which has the definition in its cache and never hears of the deletion."""
    server, other = await world.server(), await world.server()
    old, _ = await two(world, server)
    await start_by(world, other, old, "before")
    worker = await world.worker(other, script=holding)
    await worker.settle(worker.claim("a", "before"))
    await server.remove(world.ref("before"), Conditions())
    held = world.faults.hold("workflows.commit")
    late = world.spawn(start_by(world, other, old, "late"))
    await world.settle()
    world.coordination.deaf = True
    assert await delete(server, old)
    world.faults.release("workflows.commit")
    held.set()
    await late
    await world.advance(15_000)
    claim = worker.claim("a", "late")
    fresh = await world.server()  # has never read it
    assert (await fresh.get(world.ref("late"), with_payloads=True)).definition.fingerprint == old.fingerprint
    await worker.settle(claim)
    assert await world.completed("late")
    await world.advance(KEPT + BY_THEN)
    assert await stored(world, old) is not None, "it may be replayed"
    await server.remove(world.ref("late"), Conditions())
    await world.advance(BY_THEN)
    assert await stored(world, old) is None


async def test_a_start_between_the_two_looks_keeps_it(world: World) -> None:
    server, other = await world.server(), await world.server()
    old, _ = await two(world, server)
    held = world.faults.hold("definitions.mark")
    deletion = world.spawn(refused(server, old))
    await world.settle()
    await start_by(world, other, old)
    held.set()
    assert (await deletion)["open_count"] == "1"
    world.faults.release("definitions.mark")
    kept = await stored(world, old)
    assert kept is not None
    assert kept.deleted is None
    await start_by(world, other, old, "another")


@pytest.mark.parametrize("moment", [Moment.BEFORE, Moment.AFTER])
async def test_an_activation_at_the_same_moment_wins(world: World, moment: Moment) -> None:
    server, other = await world.server(), await world.server()
    old, _ = await two(world, server)
    held = world.faults.hold("definitions.activate", moment)
    activation = world.spawn(other.activate("default", "note", old.fingerprint))
    await world.settle()
    deletion = world.spawn(delete(server, old))
    await world.settle()
    held.set()
    await activation
    if moment is Moment.BEFORE:
        assert await deletion, "it saw nothing; the activation took it back"
    else:
        with pytest.raises(Rejection):
            await deletion
    kept = await stored(world, old)
    assert kept is not None
    assert kept.deleted is None
    assert (await world.start(server)).workflow.fingerprint == old.fingerprint


async def test_an_activation_of_unknown_result_is_put_right(world: World) -> None:
    """It is stored after the deletion, and whoever asked for it is gone."""
    server, other = await world.server(), await world.server()
    old, _ = await two(world, server)
    held = world.faults.hold("definitions.activate")
    activation = world.spawn(other.activate("default", "note", old.fingerprint))
    await world.settle()
    assert await delete(server, old)
    world.faults.fail("definitions.activate", Moment.AFTER)
    held.set()
    with pytest.raises(StoreUnavailable):
        await activation
    await world.advance(1_500)
    assert (await world.start(server)).workflow.fingerprint == old.fingerprint, "active is active"
    await world.advance(limits.HOUSEKEEPING_INTERVAL)
    assert await server.definition("default", "note", old.fingerprint)
    kept = await stored(world, old)
    assert kept is not None
    assert kept.deleted is None


async def test_registering_it_again_brings_it_back(world: World) -> None:
    server, other = await world.server(), await world.server()
    old, active = await two(world, server)
    assert await delete(server, old)
    assert await other.versions("default", "note") == (active,)
    await world.define(other, "a", activate=False)
    await start_by(world, server, old)
    await world.advance(KEPT + BY_THEN)
    assert await stored(world, old) is not None


async def test_a_refusal_goes_by_a_fresh_read(world: World) -> None:
    server, other = await world.server(), await world.server()
    old, _ = await two(world, server)
    assert await delete(server, old)
    with pytest.raises(Rejection):
        await start_by(world, server, old)
    world.coordination.deaf = True
    await world.define(other, "a", activate=False)
    await start_by(world, server, old)


async def test_a_repeat_is_recognised_and_an_unknown_result_found_out(world: World) -> None:
    server = await world.server()
    old, _ = await two(world, server)
    world.faults.fail("definitions.mark", Moment.AFTER)
    assert await delete(server, old, "r")
    assert await server.operations.definition_removal.look(name_of(old), "r") is None
    again = await world.define(server, "a", activate=False)
    world.faults.fail("definitions.mark", Moment.BEFORE)
    with pytest.raises(StoreUnavailable):
        await delete(server, again)
    assert (await stored(world, again)) == again
    changed = await world.define(server, "a", activate=False, description="another")
    assert changed.policy_revision == 2
    assert not await server.operations.definition_removal.delete(again, "r"), "others have changed it"


async def test_a_file_brings_its_deleted_definition_back(world: World) -> None:
    server = await world.server()
    old, _ = await two(world, server)
    assert await delete(server, old)
    await server.operations.transfer._know(old)  # what an import does before it stores the workflow
    await start_by(world, server, old)
