"""Replay: an ended workflow opens again, under a higher fence, and does what did not complete."""

from collections.abc import Callable

import pytest

from perdure_server.kernel import limits
from perdure_server.kernel.definition import Branch, Exhaustion, Hook, Hooks, StepDefinition
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.outcomes import Completed, Failed
from perdure_server.kernel.rejection import FieldViolation, Reason, Rejection
from perdure_server.kernel.reopening import left_in_doubt, reopened
from perdure_server.kernel.resolving import PassedOver, Resolution
from perdure_server.kernel.values import Failure, RetryPolicy
from perdure_server.kernel.workflow import StepState, WorkflowState
from tests.kernel.harness import T0, Run, activity, on_signal, payload, plan, refused, waiting

W = WorkflowState
S = StepState
ONCE = RetryPolicy(max_attempts=1)


def failed(*after: StepDefinition, **fields: object) -> Run:
    """`a` is done, `b` has failed."""
    run = Run(plan("a", activity("b: a", retry=ONCE), "c: b", *after, **fields))
    run.run_through("a")
    run.grant("b")
    run.checkpoint("b", 1, "half")
    run.fail("b")
    return run


def test_a_replay_raises_the_fence_and_keeps_what_is_completed() -> None:
    run = failed()
    fence, claim_no = run.workflow.fence, run.step("b").claim_no
    assert run.replay(request_id="r1")
    assert not run.replay(request_id="r1")
    assert (run.is_(), run.workflow.failure, run.workflow.failed_step, run.workflow.end_time) == (W.RUNNING, None, "", None)
    assert run.workflow.fence == max(fence + 1, run.now)
    assert (run.state("a"), run.state("b"), run.step("b").attempt, run.step("b").total_attempts) == (S.COMPLETED, S.READY, 0, 1)
    run.run_through("b", "c")
    assert (run.step("b").claim_no, run.is_(), run.workflow.expire_time) == (claim_no + 1, W.COMPLETED, run.now + limits.RETENTION)


def test_a_step_that_did_not_complete_goes_on_in_its_generation_with_its_checkpoint() -> None:
    run = failed()
    run.replay()
    assert (run.step("b").generation, run.step("b").checkpoint) == (0, payload("half")), "a downstream must recognise it"
    run.run_through("b", "c")
    run.replay("b")
    assert (run.step("b").generation, run.step("b").checkpoint, run.step("b").output) == (1, None, None)


def test_the_fence_rises_even_if_the_clock_does_not() -> None:
    run = failed()
    for _ in range(3):
        fence = run.workflow.fence
        run.replay()
        assert run.workflow.fence > fence
        run.grant("b")
        run.fail("b")


def test_a_replay_is_prepared_first_and_does_compensated_steps_again() -> None:
    steps = (activity("a", compensate_with="undo"), activity("b: a", retry=ONCE), activity("undo", needs=()), activity("ready", needs=()))
    run = Run(plan(*steps, hooks=Hooks(prepare_replay=Hook("ready")), workflow_timeout=limits.HOUR))
    run.run_through("a")
    run.grant("b")
    run.fail("b")
    run.run_through("undo")
    assert (run.is_(), run.state("a")) == (W.FAILED, S.COMPENSATED)
    run.replay()
    assert (run.is_(), run.state("ready")) == (W.PREPARING_REPLAY, S.READY)
    run.pass_time(2 * limits.HOUR)
    assert run.is_() is W.PREPARING_REPLAY, "its time begins when it runs"
    run.run_through("ready")
    assert (run.is_(), run.state("a"), run.step("a").generation, run.state("b")) == (W.RUNNING, S.READY, 1, S.BLOCKED)
    assert run.workflow.deadline == run.now + limits.HOUR
    run.run_through("a")
    run.grant("b")
    run.fail("b")
    run.run_through("undo")
    assert (run.is_(), run.step("undo").generation) == (W.FAILED, 1)
    run.replay()
    assert run.step("ready").generation == 1


def undoing() -> Run:
    """`a` and `b` are done and can be undone, `c` has failed: the workflow is FAILING, and `b` is undone first."""
    steps = (activity("a", compensate_with="undo"), activity("b: a", compensate_with="undo"), activity("c: b", retry=ONCE))
    run = Run(plan(*steps, activity("undo", needs=())))
    run.run_through("a", "b")
    run.grant("c")
    run.fail("c")
    return run


def doubts(run: Run, *named: str) -> tuple[str, ...]:
    """The steps of which a replay says that they may be undone."""
    draft = Draft(run.definition, run.workflow, run.now)
    return left_in_doubt(draft, reopened(draft, named))


def terminated(run: Run) -> None:
    """While the compensation runs."""
    run.grant("undo")
    run.terminate()


def terminated_later(run: Run) -> None:
    """While it backs off."""
    run.grant("undo")
    run.fail("undo")
    run.terminate()


def settled(run: Run, resolution: Resolution) -> None:
    """By a person, while it runs; the next one completes."""
    run.grant("undo")
    run.resolve("undo", resolution)
    run.run_through("undo")


CUT_OFF: dict[str, Callable[[Run], None]] = {
    "terminated while it runs": terminated,
    "terminated while it backs off": terminated_later,
    "passed over": lambda run: settled(run, PassedOver()),
    "failed by a person": lambda run: settled(run, Failed(Failure("gone"))),
}


@pytest.mark.parametrize("how", CUT_OFF)
def test_a_step_whose_compensation_did_not_complete_stays_completed_and_is_named(how: str) -> None:
    run = undoing()
    CUT_OFF[how](run)
    assert run.workflow.is_ended
    assert (run.state("b"), doubts(run), doubts(run, "b"), doubts(run, "a")) == (S.COMPLETED, ("b",), (), ())
    run.replay()
    assert run.state("b") is S.COMPLETED, "nobody asked for it"
    run.terminate()
    assert doubts(run) == ("b",), "the doubt stays until it is done again, or undone"
    run.replay("b")
    run.run_through(*(("a", "b") if run.state("a") is S.READY else ("b",)))
    run.terminate()
    assert doubts(run) == ()


def test_a_compensation_that_no_worker_began_leaves_no_doubt_and_one_that_completed_none_either() -> None:
    run = undoing()
    run.terminate()
    assert doubts(run) == ()
    run = undoing()
    run.run_through("undo")
    run.terminate()
    assert (run.state("b"), doubts(run)) == (S.COMPENSATED, ())


def test_a_start_that_set_a_timeout_has_it_again() -> None:
    run = Run(plan(activity("a", retry=ONCE)), workflow_timeout=limits.MINUTE)
    run.grant("a")
    run.fail("a")
    run.pass_time(limits.HOUR)
    run.replay()
    assert run.workflow.deadline == run.now + limits.MINUTE


def test_a_preparation_that_is_cancelled_leaves_the_end_open_for_another_replay() -> None:
    run = failed(activity("ready", needs=()), hooks=Hooks(prepare_replay=Hook("ready")))
    run.replay("a")
    run.grant("ready")
    run.cancel()
    assert (run.is_(), run.state("ready")) == (W.CANCELLING, S.CANCELLING)
    run.confirm("ready")
    assert (run.is_(), run.state("b"), run.workflow.reopen) == (W.CANCELLED, S.FAILED, ())
    run.replay()
    run.run_through("ready", "b", "c")
    assert (run.is_(), run.step("a").generation) == (W.COMPLETED, 0)


def test_reopen_steps_reopens_completed_ones_with_all_that_depends_on_them() -> None:
    run = Run(plan("a", "b: a", "c: b", "d"))
    run.run_through("a", "d", "b", "c")
    refused(Reason.WORKFLOW_STATE_INVALID, run.replay)
    with pytest.raises(FieldViolation):
        run.replay("b", "nothing")
    run.replay("b")
    assert run.states() == {"a": "COMPLETED", "b": "READY", "c": "BLOCKED", "d": "COMPLETED"}
    assert (run.workflow.output, run.workflow.remaining) == (None, 2)
    refused(Reason.WORKFLOW_NOT_CLOSED, lambda: run.replay("b"))
    run.run_through("b", "c")
    assert run.is_() is W.COMPLETED


ENDINGS: dict[str, Callable[[Run], object]] = {
    "FAILED": lambda run: run.fail("a"),
    "CANCELLED": lambda run: (run.cancel(), run.confirm("a")),
    "TERMINATED": lambda run: run.terminate(),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_end_can_be_replayed_and_old_tokens_stay_lost(ending: str) -> None:
    run = Run(plan(activity("a", retry=ONCE), waiting("w", on_signal("go")), "b: a w"))
    token = run.grant("a")
    ENDINGS[ending](run)
    assert run.is_().name == ending
    run.replay()
    assert run.states() == {"a": "READY", "w": "WAITING", "b": "BLOCKED"}
    refused(Reason.CLAIM_ALREADY_SETTLED if ending != "TERMINATED" else Reason.CLAIM_LOST, lambda: run.complete("a", "late", token))
    run.signal("go")
    run.run_through("a", "b")
    assert run.is_() is W.COMPLETED


def test_a_signal_that_was_kept_over_the_end_wins_in_the_replay() -> None:
    run = Run(plan(activity("a", retry=ONCE), waiting("w: a", on_signal("go"))))
    run.grant("a")
    run.signal("go")
    run.fail("a")
    run.replay()
    run.run_through("a")
    assert run.is_() is W.COMPLETED


LEFT_RIGHT = (Branch("left", ("b",)), Branch("right", ("c",)))


def chosen(*more: str) -> Run:
    """`a` chose left; `b` failed."""
    run = Run(plan(activity("a", branches=LEFT_RIGHT), activity("b: a", retry=ONCE), "c: a", "d: b c", *more))
    run.grant("a")
    run.report("a", Completed(choose=("left",)))
    run.grant("b")
    run.fail("b")
    return run


def test_a_choice_stands_in_a_replay_unless_who_chose_is_done_again() -> None:
    run = chosen()
    run.replay()
    assert run.states() == {"a": "COMPLETED", "b": "READY", "c": "SKIPPED", "d": "BLOCKED"}
    run.run_through("b", "d")
    assert run.is_() is W.COMPLETED
    refused(Reason.WORKFLOW_STATE_INVALID, run.replay)
    with pytest.raises(FieldViolation):
        run.replay("c")
    run.replay("a")
    run.grant("a")
    run.report("a", Completed(choose=("right",)))
    assert run.states() == {"a": "COMPLETED", "b": "SKIPPED", "c": "READY", "d": "BLOCKED"}


def test_a_choice_that_came_while_the_workflow_was_failing_stands_too() -> None:
    run = Run(plan(activity("a", branches=LEFT_RIGHT), "b: a", "c: a", activity("x", retry=ONCE)))
    run.grant("a")
    run.grant("x")
    run.fail("x")
    run.report("a", Completed(choose=("right",)))
    assert run.states() == {"a": "COMPLETED", "b": "CANCELLED", "c": "CANCELLED", "x": "FAILED"}
    run.replay()
    assert run.states() == {"a": "COMPLETED", "b": "SKIPPED", "c": "READY", "x": "READY"}


def test_what_a_failure_skipped_is_done_when_the_failed_step_is() -> None:
    run = Run(plan(activity("a", retry=ONCE, on_exhausted=Exhaustion.SKIP_DEPENDANTS), "b: a", "c: b"))
    run.grant("a")
    run.fail("a")
    assert run.is_() is W.COMPLETED
    run.replay()
    run.run_through("a", "b", "c")
    assert (run.is_(), run.workflow.replays) == (W.COMPLETED, 1)


def test_what_saw_a_failure_and_completed_stays_completed() -> None:
    run = Run(plan(activity("a", retry=ONCE, on_exhausted=Exhaustion.CONTINUE), "b: a"))
    run.grant("a")
    run.fail("a")
    run.run_through("b")
    run.replay()
    assert run.states() == {"a": "READY", "b": "COMPLETED"}
    run.run_through("a")
    assert run.is_() is W.COMPLETED


def test_a_cancel_request_of_before_the_replay_stays_a_repeat() -> None:
    run = Run(plan("a"))
    run.cancel("because", "c1")
    run.replay()
    assert not run.cancel("because", "c1")
    assert run.is_() is W.RUNNING
    assert run.cancel("because", "c2")


def test_c39_nothing_late_opens_an_ended_workflow() -> None:
    run = failed()
    token = run.step("b").settled[-1].nonce
    before = run.workflow
    lates: list[Callable[[], object]] = [
        lambda: run.complete("b", 1, token),
        lambda: run.checkpoint("b", 9, 1, token),
        lambda: run.signal("go"),
    ]
    for late in lates:
        with pytest.raises(Rejection):
            late()
    run.pass_time(limits.DURATION)
    run.lose_session()
    assert run.workflow is before
    assert run.workflow.end_time == T0
