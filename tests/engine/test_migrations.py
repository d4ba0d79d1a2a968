"""Rolling upgrades: old and new workers side by side, what is stranded, and moving it."""

from typing import Any

import pytest

from perdure_server.engine.catalog import DefinitionName
from perdure_server.engine.people import Conditions
from perdure_server.engine.values import Unserved
from perdure_server.kernel import limits
from perdure_server.kernel.definition import Definition, StepDefinition, StepOptions
from perdure_server.kernel.migration import Migration
from perdure_server.kernel.outcomes import Completed
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.workflow import Signal
from perdure_server.ports.store import Subscription
from perdure_server.store.memory import Moment
from tests.engine.harness import TYPE, World
from tests.kernel.harness import activity, on_signal, waiting


def built_for(definition: Definition, slots: int = 4) -> tuple[Subscription, ...]:
    """The pool of a worker that serves one definition."""
    contracts = {step.name: step.contract for step in definition.steps if step.by_worker}
    return (Subscription("pool", "default", TYPE, contracts, slots),)


async def migrate(world: World, server: Any, name: str, old: Definition, new: Definition) -> bool:
    done, _ = await server.operations.migrations.migrate(world.ref(name), DefinitionName("default", TYPE, old.fingerprint), Migration(new))
    return not done


async def test_c54_a_rolling_upgrade_that_adds_a_step_and_its_rollback(world: World) -> None:
    server = await world.server()
    old = await world.define(server, "a", "b: a")
    old_worker = await world.worker(server, "old", pools=built_for(old), script=None)
    await world.start(server, "first")
    await world.settle()
    new = await world.define(server, "a", "check: a", activity("b: a, check", needs=("a",)))
    new_worker = await world.worker(server, "new", pools=built_for(new), script=None)
    await world.start(server, "second")
    await world.settle()
    # Side by side: contracts of a and b are the same, so both serve them in both; only the new one knows `check`.
    for _ in range(4):
        for worker in (old_worker, new_worker):
            for claim in list(worker.held.values()):
                assert claim.plan.name != "check" or worker is new_worker
                await worker.settle(claim, Completed())
    assert await world.completed("first")
    assert await world.completed("second")
    # Rollback: the new workers go, and what waits for them is told, moved and goes on.
    await world.start(server, "third")
    await world.settle()
    holder = next(worker for worker in (old_worker, new_worker) if worker.held)
    new_worker.slots = 0
    await holder.settle(next(iter(holder.held.values())), Completed(), want_next=False)
    await new_worker.stream.close()
    new_worker.stop()
    await world.advance(60_000)
    view = await server.get(world.ref("third"), with_payloads=False)
    assert [fact.kind for fact in view.facts.values()] in ([Unserved.NO_WORKER], [Unserved.INCOMPATIBLE], [])
    assert await migrate(world, server, "third", new, old) or (await world.stored("third")).fingerprint == old.fingerprint
    await world.until(lambda: any(claim.plan.name == "b" and claim.key.business_key == "third" for claim in old_worker.got), 10_000)


async def test_c54_a_hundred_waiting_instances_are_told_and_moved(world: World) -> None:
    server = await world.server()
    old = await world.define(server, "a", waiting("w: a", on_signal("go")), "z: w")
    worker = await world.worker(server, pools=built_for(old))
    for number in range(100):
        await world.start(server, f"k{number}")
    await world.settle()
    worker.stop()
    await worker.stream.close()
    same = await world.define(server, "z: w", waiting("w: a", on_signal("go")), StepDefinition("a", needs=("input",), attempt_timeout=9))
    assert same.fingerprint == old.fingerprint, "listing order and policies are no structure"
    new = await world.define(server, activity("a", version="2"), waiting("w: a", on_signal("go")), activity("z: w", version="2"))
    assert new.fingerprint != old.fingerprint
    fresh = await world.worker(server, pools=built_for(new))

    for number in range(100):
        await server.signal(world.ref(f"k{number}"), Signal(f"s{number}", "go", 0))
    await world.advance(90_000)  # the old session's lease, and then half a minute
    assert fresh.got == [], "no step of the old contract is given to it"
    view = await server.get(world.ref("k7"), with_payloads=False)
    assert [fact.kind for fact in view.facts.values()] == [Unserved.INCOMPATIBLE]
    commits = world.writes
    await world.advance(30_000)
    assert world.writes == commits, "no hot loop of refused claims"
    for number in range(100):
        assert await migrate(world, server, f"k{number}", old, new)
        assert not await migrate(world, server, f"k{number}", old, new)
    await world.until(lambda: len(fresh.got) == 100, within=20_000)
    for number in range(100):
        assert await world.completed(f"k{number}")


async def test_an_unknown_result_of_a_migration_is_found_out(world: World) -> None:
    server = await world.server()
    old = await world.define(server, "a", "b: a")
    await world.start(server)
    new = await world.define(server, "a", "b: a", "c: b")
    world.faults.fail("workflows.commit", Moment.AFTER)
    call = world.spawn(migrate(world, server, "k", old, new))
    await world.until(call.done)
    assert (await world.stored()).fingerprint == new.fingerprint


async def test_another_definition_than_the_named_one_is_left_alone(world: World) -> None:
    server = await world.server()
    old = await world.define(server, "a")
    new = await world.define(server, "a", "b: a")
    third = await world.define(server, "a", "c: a")
    await world.start(server)
    with pytest.raises(Rejection) as caught:
        await migrate(world, server, "k", old, new)
    assert caught.value.reason is Reason.WORKFLOW_STATE_INVALID
    assert (await world.stored()).fingerprint == third.fingerprint


async def test_options_of_a_step_go_along(world: World) -> None:
    server = await world.server()
    old = await world.define(server, "a")
    await world.start(server)
    options = StepOptions(("priority",), StepDefinition("a", priority=9))
    await server.people.update_options(world.ref(), "a", options, Conditions())
    new = await world.define(server, "a", "b: a")
    assert await migrate(world, server, "k", old, new)
    worker = await world.worker(server, pools=built_for(new), script=None)
    assert worker.got[0].plan.priority == 9
    assert worker.got[0].fingerprint == new.fingerprint


async def test_a_queue_without_workers_is_told_once_after_thirty_seconds(world: World) -> None:
    server = await world.server()
    definition = await world.define(server, "a")
    await world.start(server)
    await world.advance(15_000)
    assert not (await server.get(world.ref(), with_payloads=False)).facts
    await world.advance(40_000)
    facts = (await server.get(world.ref(), with_payloads=False)).facts
    assert [fact.kind for fact in facts.values()] == [Unserved.NO_WORKER]
    assert server.queues._told == set(facts)
    await world.worker(server, pools=built_for(definition))
    await world.advance(15_000)
    assert await world.completed()
    assert server.queues._told == set()


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the log says of queues that nobody serves."""
    return [record.getMessage() for record in caplog.records if "no worker takes" in record.getMessage()]


async def test_the_log_names_many_such_queues_in_one_line_and_none_again_at_once(world: World, caplog: pytest.LogCaptureFixture) -> None:
    server = await world.server()
    definition = await world.define(server, *(f"s{number}" for number in range(5)))
    for key in ("k", "l"):
        await world.start(server, key)
        await world.advance(limits.MINUTE)
    (line,) = lines(caplog)
    assert line.startswith("no worker takes what is ready in 5 queues, such as default/default/note/")
    assert line.count("(NO_WORKER)") == 3
    worker = await world.worker(server, pools=built_for(definition))  # one that comes and goes
    await world.advance(15_000)
    assert await world.completed()
    assert server.queues._told == set()
    await worker.drop()
    await world.start(server, "m")
    await world.advance(2 * limits.MINUTE)
    assert server.queues._told != set()
    assert len(lines(caplog)) == 1
    await world.advance(limits.UNSERVED_TOLD_AGAIN)
    assert len(lines(caplog)) == 1, "it stands, and was told"
