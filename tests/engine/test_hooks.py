"""Hooks, compensations and branches, run by a worker at an engine."""

from collections import Counter

import pytest

from perdure_server.engine.values import GrantedClaim
from perdure_server.kernel import limits
from perdure_server.kernel.definition import Branch, Exhaustion, Hook, HookKind, Hooks
from perdure_server.kernel.outcomes import Cancelled, Completed, Outcome
from perdure_server.kernel.values import Condition, Failure, RetryPolicy
from perdure_server.kernel.workflow import StepState, WorkflowState
from tests.engine.harness import World
from tests.engine.test_people import ONCE, failing_in, hook, names
from tests.engine.workers import completing, failing, holding
from tests.kernel.harness import activity, payload, signal, waiting

QUICK = RetryPolicy(max_attempts=1, initial_interval=1_000, max_interval=2_000, jitter=0.0)


async def test_a_required_finalizer_fails_three_times_and_then_succeeds(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", activity("b: a", retry=ONCE), hook("tidy", retry=QUICK), hooks=Hooks(failure_finalizer=Hook("tidy")))
    tried: Counter[str] = Counter()

    def script(claim: GrantedClaim) -> Outcome | None:
        tried[claim.plan.name] += 1
        return failing(claim) if claim.plan.name == "b" or (claim.plan.name == "tidy" and tried["tidy"] <= 3) else completing(claim)

    worker = await world.worker(server, script=script)
    await world.start(server)
    await world.until(lambda: tried["tidy"] == 1)
    assert (await world.stored()).state is WorkflowState.FAILING, "visibly, until it succeeds"
    await world.until(lambda: tried["tidy"] == 4)
    await world.settle()
    stored = await world.stored()
    assert (stored.state, stored.failed_step, stored.steps["tidy"].state) == (WorkflowState.FAILED, "b", StepState.COMPLETED)
    assert [claim.attempt for claim in worker.got if claim.plan.name == "tidy"] == [1, 2, 3, 4]
    facts = worker.got[-1].hook
    assert facts is not None
    assert (facts.kind, facts.required, facts.failed_step) == (HookKind.FAILURE_FINALIZER, True, "b")
    assert facts.failure == Failure("test.broken", "as told")
    assert [(step.step, step.state) for step in facts.unfinished] == [("b", StepState.FAILED)]
    assert not worker.got[-1].begin_after_renewed or worker.got[-1].plan.retry.max_attempts == 1


@pytest.mark.parametrize("size", [1, 2 * limits.INLINE_PAYLOAD])
async def test_what_a_cancelled_step_says_last_reaches_the_cancel_finalizer(world: World, size: int) -> None:
    server = await world.server()
    await world.define(server, "a", hook("tidy"), hooks=Hooks(cancel_finalizer=Hook("tidy")))
    worker = await world.worker(server, script=lambda claim: completing(claim) if claim.plan.name == "tidy" else None)
    await world.start(server)
    await world.settle()
    worker.beat(worker.claim("a"), checkpoint=payload("earlier"), has_checkpoint=True, checkpoint_no=1)
    await world.settle()
    await server.cancel(world.ref(), "enough", "c")
    last = payload("x" * size)
    await worker.settle(worker.claim("a"), Cancelled(last, keep_checkpoint=False))
    assert (await world.stored()).state is WorkflowState.CANCELLED
    facts = worker.got[-1].hook
    assert facts is not None
    (cut,) = facts.unfinished
    assert (cut.step, cut.state) == ("a", StepState.CANCELLED)
    assert cut.checkpoint is not None
    told = cut.checkpoint
    if told.ref is not None:  # a large one stays in its own document, and the worker fetches it
        told = await server.fetch_payload(worker.got[-1].token, told.ref.payload_id)
    assert told.json == last.json


async def test_a_failure_finalizer_is_told_the_checkpoints_of_what_was_cut_short(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", activity("b", retry=ONCE), hook("tidy"), hooks=Hooks(failure_finalizer=Hook("tidy")))
    worker = await world.worker(server, script=lambda claim: completing(claim) if claim.plan.name == "tidy" else None)
    await world.start(server)
    await world.settle()
    worker.beat(worker.claim("a"), checkpoint=payload("half"), has_checkpoint=True, checkpoint_no=1)
    await world.settle()
    await worker.settle(worker.claim("b"), failing(worker.claim("b")))
    assert names(worker.got) == ["a", "b"], "`a` has its grace"
    await world.advance(limits.CANCEL_GRACE + limits.SECOND)
    facts = worker.got[-1].hook
    assert facts is not None
    told = {cut.step: (cut.state, cut.checkpoint) for cut in facts.unfinished}
    assert told == {"a": (StepState.CANCELLED, payload("half")), "b": (StepState.FAILED, None)}


async def test_a_best_effort_finalizer_is_tried_by_its_policy_and_passed(world: World) -> None:
    server = await world.server()
    hooks = Hooks(failure_finalizer=Hook("tidy", required=False))
    await world.define(server, activity("a", retry=ONCE), hook("tidy", retry=ONCE), hooks=hooks)
    worker = await world.worker(server, script=failing)
    await world.start(server)
    await world.settle()
    assert ((await world.stored()).state, names(worker.got)) == (WorkflowState.FAILED, ["a", "tidy"])


async def test_compensations_reach_the_worker_one_by_one_in_doubt_first_then_in_reverse(world: World) -> None:
    server = await world.server()
    undoing = [activity("a", compensate_with="undo_a"), activity("b: a", compensate_with="undo_b")]
    await world.define(
        server, *undoing, activity("c: b", retry=ONCE, compensate_with="undo_c"), hook("undo_a"), hook("undo_b"), hook("undo_c")
    )
    worker = await world.worker(server, script=failing_in("c"))
    await world.start(server)
    await world.settle()
    assert names(worker.got) == ["a", "b", "c", "undo_c", "undo_b", "undo_a"]
    told = [claim.hook for claim in worker.got[3:]]
    assert [(facts.compensates, facts.in_doubt) for facts in told if facts is not None] == [("c", True), ("b", False), ("a", False)]
    assert told[2] is not None
    assert (told[2].compensated_output, told[2].compensated_key) == (payload("a 1"), worker.got[0].idempotency_key)
    stored = await world.stored()
    assert stored.state is WorkflowState.FAILED
    assert [stored.steps[name].state for name in "abc"] == [StepState.COMPENSATED] * 3


async def test_a_cancel_finalizer_runs_when_all_have_confirmed(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", hook("tidy"), hooks=Hooks(cancel_finalizer=Hook("tidy")))
    worker = await world.worker(server, script=holding)
    await world.start(server)
    await world.settle()
    await server.cancel(world.ref(), "enough", "")
    await world.settle()
    assert names(worker.got) == ["a"]
    worker.script = completing
    await worker.settle(worker.claim("a"), Cancelled())
    await world.settle()
    assert worker.got[-1].hook is not None
    assert (worker.got[-1].hook.kind, worker.got[-1].hook.cancel_reason) == (HookKind.CANCEL_FINALIZER, "enough")
    assert (await world.stored()).state is WorkflowState.CANCELLED


def branches(*chosen: str) -> tuple[Branch, ...]:
    return tuple(Branch(name, (name,)) for name in chosen)


async def test_a_worker_chooses_and_only_its_branch_runs(world: World) -> None:
    server = await world.server()
    plan = activity("ask", branches=branches("left", "right"))
    await world.define(server, plan, "left: ask", "right: ask", "join: left right", output_step="join")

    def script(claim: GrantedClaim) -> Outcome | None:
        return Completed(payload(1), ("right",)) if claim.plan.name == "ask" else completing(claim)

    worker = await world.worker(server, script=script)
    await world.start(server)
    await world.settle()
    assert names(worker.got) == ["ask", "right", "join"]
    assert (await world.states()) == {"ask": "COMPLETED", "left": "SKIPPED", "right": "COMPLETED", "join": "COMPLETED"}
    assert list(worker.got[-1].inputs) == ["right"]


async def test_the_choice_goes_with_an_output_that_leaves_the_document(world: World) -> None:
    server = await world.server()
    await world.define(server, activity("ask", branches=branches("left", "right")), "left: ask", "right: ask")
    worker = await world.worker(server, script=holding)
    await world.start(server)
    await world.settle()
    await worker.settle(worker.claim("ask"), Completed(payload("x" * (limits.INLINE_PAYLOAD + 1)), ("left",)))
    assert ((await world.step("left")).state, (await world.step("right")).state) == (StepState.RUNNING, StepState.SKIPPED)


async def test_the_condition_that_wins_a_wait_chooses(world: World) -> None:
    server = await world.server()
    conditions = (Condition("yes", signal="yes", choose=("go",)), Condition("no", signal="no", choose=("stop",)))
    await world.define(server, waiting("ask", *conditions, branches=branches("go", "stop")), "go: ask", "stop: ask")
    worker = await world.worker(server)
    await world.start(server)
    await server.signal(world.ref(), signal("no"))
    await world.settle()
    assert names(worker.got) == ["stop"]
    assert await world.completed()


async def test_on_success_comes_before_the_end(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", hook("tell"), hooks=Hooks(on_success=Hook("tell")))
    worker = await world.worker(server, script=lambda claim: completing(claim) if claim.plan.name == "a" else None)
    await world.start(server)
    await world.settle()
    assert (await world.stored()).state is WorkflowState.RUNNING
    await worker.settle(worker.claim("tell"))
    stored = await world.stored()
    assert (stored.state, stored.output) == (WorkflowState.COMPLETED, payload("a 1"))


async def test_a_failure_that_is_passed_over_is_an_input(world: World) -> None:
    server = await world.server()
    await world.define(server, activity("a", retry=ONCE, on_exhausted=Exhaustion.CONTINUE), "b: a")
    worker = await world.worker(server, script=failing_in("a"))
    await world.start(server)
    await world.settle()
    assert (dict(worker.got[-1].inputs), dict(worker.got[-1].failed_inputs)) == ({}, {"a": Failure("test.broken", "as told")})
    assert await world.completed()
