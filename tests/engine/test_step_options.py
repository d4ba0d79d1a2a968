"""Options of single steps, and pauses of definitions, while work goes on."""

from typing import Any

from perdure_server.engine.catalog import DefinitionName
from perdure_server.engine.people import Conditions
from perdure_server.kernel.definition import StepDefinition, StepOptions
from perdure_server.kernel.values import Paused, RetryPolicy
from perdure_server.kernel.workflow import StepState
from perdure_server.ports.coordination import ReadyItem
from perdure_server.ports.store import Subscription
from tests.engine.harness import TYPE, World
from tests.engine.workers import failing


def options(step: str, **fields: Any) -> StepOptions:
    return StepOptions(tuple(sorted(fields)), StepDefinition(step, **fields))


def serving(queue: str) -> tuple[Subscription, ...]:
    return (Subscription("pool", queue, TYPE, {}, 4),)


async def test_a_step_moves_to_another_queue_while_it_waits(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", "b: a")
    await world.start(server)
    await server.people.update_options(world.ref(), "a", options("a", queue="gpu", priority=9), Conditions())
    await world.settle()
    slow = await world.worker(server, pools=serving("default"))
    assert slow.got == []
    worker = await world.worker(server, pools=serving("gpu"))
    assert [claim.plan.name for claim in worker.got] == ["a"]
    assert worker.got[0].plan.priority == 9
    await world.until(lambda: len(slow.got) == 1, within=1_000)
    assert await world.completed()


async def test_a_stale_hint_in_the_old_queue_gives_the_step_to_nobody(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    await world.start(server)
    await world.settle()
    ((old, queue),) = world.coordination._queues.items()
    await server.people.update_options(world.ref(), "a", options("a", queue="gpu"), Conditions())
    await world.settle()
    assert old not in world.coordination._queues, "withdrawn"
    assert not queue.places
    stored = await world.stored()
    await world.coordination.announce([ReadyItem(old, stored.workflow_id, "a", stored.update_time)])
    wrong = await world.worker(server, pools=serving("default"))
    await world.advance(5_000)
    assert wrong.got == []
    assert (await world.step("a")).state is StepState.READY
    right = await world.worker(server, pools=serving("gpu"))
    await world.until(lambda: len(right.got) == 1, within=3_000)


async def test_options_are_of_one_workflow_and_of_all_servers(world: World) -> None:
    first, second = await world.server(), await world.server()
    await world.define(first, "a")
    await world.start(first, "k")
    await world.start(first, "other")
    await first.people.update_options(world.ref("k"), "a", options("a", retry=RetryPolicy(max_attempts=1)), Conditions())
    worker = await world.worker(second, script=failing)
    await world.until(lambda: len(worker.got) == 4, within=60_000)
    assert sorted(claim.key.business_key for claim in worker.got) == ["k", "other", "other", "other"]


async def test_validate_only_and_repeats(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    await world.start(server)
    tried = await server.people.update_options(world.ref(), "a", options("a", priority=1), Conditions(validate_only=True))
    assert tried.definition.by_name["a"].priority == 1
    assert not (await world.stored()).step_options
    done = await server.people.update_options(world.ref(), "a", options("a", priority=1), Conditions("r"))
    again = await server.people.update_options(world.ref(), "a", options("a", priority=2), Conditions("r"))
    assert (done.duplicate, again.duplicate) == (False, True)
    assert again.definition.by_name["a"].priority == 1


async def test_a_paused_definition_grants_nothing_on_any_server_and_all_else_goes_on(world: World) -> None:
    first, second = await world.server(), await world.server()
    definition = await world.define(first, "a", "b: a")
    worker = await world.worker(second, script=None)
    await world.start(first, "before")
    await world.settle()
    (running,) = worker.got
    ((paused, active),) = await first.pause_definitions(
        DefinitionName("default", TYPE, definition.fingerprint), Paused(0, "ann", "incident")
    )
    assert (paused.paused, active) == (Paused(world.now(), "ann", "incident"), True)
    await world.settle()
    await worker.settle(running)
    await world.start(second, "during")
    await world.advance(30_000)
    assert len(worker.got) == 1
    assert await world.states("before") == {"a": "COMPLETED", "b": "READY"}
    assert await world.states("during") == {"a": "READY"}
    third = await world.server()  # a pause survives restarts
    late = await world.worker(third, script=None)
    await world.advance(15_000)
    assert late.got == []
    grants = len([event for event in (await world.stored("before")).events if event.reason == "GRANT"])
    assert grants == 1
    await third.pause_definitions(DefinitionName("default", TYPE), None)
    await world.until(lambda: len(worker.got) + len(late.got) == 3, within=3_000)


async def test_a_pause_is_heard_within_ten_seconds_even_if_the_message_is_lost(world: World) -> None:
    first, second = await world.server(), await world.server()
    await world.define(first, "a")
    worker = await world.worker(second, script=None, slots=2)
    await world.start(first, "warm")
    await world.settle()
    world.coordination.deaf = True
    await first.pause_definitions(DefinitionName("default", TYPE), Paused(0))
    await world.advance(11_000)
    await world.start(second, "k")
    await world.advance(5_000)
    assert [claim.key.business_key for claim in worker.got] == ["warm"]


async def test_running_workflows_say_which_revision_of_the_policies_they_run_by(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", "b: a")
    worker = await world.worker(server, script=None)
    await world.start(server)
    await world.settle()
    changed = await world.define(server, "a", StepDefinition("b", depends_on=("a",), needs=("a",), attempt_timeout=77_000))
    assert changed.policy_revision == 2
    await worker.settle(worker.claim("a"))
    assert (await world.stored()).policy_revision == 2
    assert worker.claim("b").attempt_remaining == 77_000
