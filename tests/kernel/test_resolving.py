"""Exhaustion policies, and what a person may say to a step that is held, stuck, or a hook that does not succeed."""

import pytest
from msgspec.structs import replace

from perdure_server.kernel import limits
from perdure_server.kernel.definition import Branch, Exhaustion, Hook, Hooks
from perdure_server.kernel.outcomes import Completed, Failed
from perdure_server.kernel.rejection import FieldViolation, Reason
from perdure_server.kernel.resolving import PassedOver, Retried
from perdure_server.kernel.values import Failure, RetryPolicy
from perdure_server.kernel.workflow import StepState, WorkflowState
from tests.kernel.harness import Run, activity, after, on_signal, payload, plan, refused, waiting

W = WorkflowState
S = StepState
ONCE = RetryPolicy(max_attempts=1)
FAILED = Failed(Failure("by.hand"))


def held(**fields: object) -> Run:
    run = Run(plan(activity("a", retry=ONCE, on_exhausted=Exhaustion.HOLD, **fields), "b: a"))
    run.grant("a")
    run.fail("a")
    assert (run.state("a"), run.is_()) == (S.HELD, W.RUNNING)
    return run


def test_a_held_step_waits_for_a_person_who_may_complete_it() -> None:
    run = held()
    run.pass_time(limits.DURATION)
    assert run.state("a") is S.HELD
    assert run.resolve("a", Completed(payload(7)), "r1")
    assert not run.resolve("a", Completed(payload(8)), "r1")
    assert (run.state("a"), run.step("a").output, run.state("b")) == (S.COMPLETED, payload(7), S.READY)
    refused(Reason.STEP_STATE_INVALID, lambda: run.resolve("a", Retried()))


def test_a_held_step_may_be_failed_retried_or_passed_over() -> None:
    failed = held()
    failed.resolve("a", FAILED)
    assert (failed.is_(), failed.workflow.failed_step) == (W.FAILED, "a")
    again = held()
    again.resolve("a", Retried())
    assert (again.state("a"), again.step("a").attempt, again.announced()) == (S.READY, 0, ["a"])
    again.run_through("a", "b")
    assert again.is_() is W.COMPLETED
    passed = held()
    passed.resolve("a", PassedOver())
    assert (passed.state("a"), passed.state("b"), passed.is_()) == (S.SKIPPED, S.SKIPPED, W.COMPLETED)


def test_a_step_passed_over_takes_its_dependants_along_whatever_else_they_depend_on() -> None:
    run = Run(plan(activity("a", retry=ONCE, on_exhausted=Exhaustion.HOLD), "b", "c: a b"))
    run.grant("a")
    run.fail("a")
    run.run_through("b")
    run.resolve("a", PassedOver())
    assert (run.state("c"), run.is_()) == (S.SKIPPED, W.COMPLETED)


def test_a_retry_has_its_losses_and_its_time_anew_and_may_forget_the_checkpoint() -> None:
    run = held(step_timeout=limits.MINUTE)
    assert run.step("a").step_deadline is None
    run.resolve("a", Retried())
    assert run.step("a").step_deadline == run.now + limits.MINUTE
    run.grant("a")
    run.checkpoint("a", 1, "half")
    run.fail("a")
    run.resolve("a", Retried(clear_checkpoint=True))
    assert (run.step("a").checkpoint, run.step("a").lost_claims, run.step("a").total_attempts) == (None, 0, 2)


def test_a_held_step_ends_with_a_cancel_and_with_a_failure_elsewhere() -> None:
    run = held()
    run.cancel()
    assert (run.state("a"), run.is_()) == (S.CANCELLED, W.CANCELLED)
    both = Run(plan(activity("a", retry=ONCE, on_exhausted=Exhaustion.HOLD), activity("b", retry=ONCE)))
    both.grant("a")
    both.grant("b")
    both.fail("a")
    both.fail("b")
    assert (both.state("a"), both.is_()) == (S.CANCELLED, W.FAILED)


def test_what_backs_off_or_waits_can_be_resolved_and_what_goes_on_by_itself_cannot() -> None:
    run = Run(plan("a", waiting("w", on_signal("go")), "r"))
    run.grant("a")
    run.fail("a")
    run.resolve("a", Retried())
    assert run.state("a") is S.READY
    refused(Reason.STEP_STATE_INVALID, lambda: run.resolve("a", PassedOver()))
    refused(Reason.STEP_STATE_INVALID, lambda: run.resolve("w", Retried()))
    run.resolve("w", Completed(payload("by hand")))
    assert (run.state("w"), run.step("w").wait) == (S.COMPLETED, ())
    run.grant("r")
    refused(Reason.STEP_STATE_INVALID, lambda: run.resolve("r", PassedOver()))
    refused(Reason.STEP_NOT_FOUND, lambda: run.resolve("x", PassedOver()))


def test_a_held_wait_waits_again_after_a_retry() -> None:
    timed = {"step_timeout": limits.MINUTE, "step_timeout_includes_waits": True, "on_exhausted": Exhaustion.HOLD}
    run = Run(plan(waiting("w", on_signal("go"), **timed)))
    run.pass_time(limits.MINUTE)
    assert run.state("w") is S.HELD
    run.resolve("w", Retried())
    assert run.state("w") is S.WAITING
    run.signal("go")
    assert run.is_() is W.COMPLETED


def test_who_completes_a_step_that_chooses_says_what_it_chose() -> None:
    branches = (Branch("left", ("b",)), Branch("right", ("c",)))
    run = Run(plan(activity("a", retry=ONCE, on_exhausted=Exhaustion.HOLD, branches=branches), "b: a", "c: a"))
    run.grant("a")
    run.fail("a")
    with pytest.raises(FieldViolation) as caught:
        run.resolve("a", Completed(choose=("up",)))
    assert caught.value.reason is Reason.BRANCH_INVALID
    run.resolve("a", Completed(choose=("right",)))
    assert (run.state("b"), run.state("c")) == (S.SKIPPED, S.READY)


def finalizing(kind: str) -> Run:
    run = Run(plan(activity("a", retry=ONCE), activity("h", needs=(), retry=ONCE), hooks=Hooks(**{kind: Hook("h")})))
    run.grant("a")
    if kind == "on_success":
        run.complete("a")
    elif kind == "cancel_finalizer":
        run.cancel()
        run.confirm("a")
    else:
        run.fail("a")
    if kind == "prepare_replay":
        run.replay()
    run.grant("h")
    run.fail("h")
    assert run.state("h") is S.BACKOFF
    return run


ENDS = {"on_success": W.COMPLETED, "failure_finalizer": W.FAILED, "cancel_finalizer": W.CANCELLED, "prepare_replay": W.RUNNING}


@pytest.mark.parametrize("kind", ENDS)
def test_a_hook_is_passed_completed_or_tried_at_once_by_a_persons_word(kind: str) -> None:
    passed = finalizing(kind)
    passed.resolve("h", PassedOver())
    assert (passed.is_(), passed.state("h")) == (ENDS[kind], S.SKIPPED)
    completed = finalizing(kind)
    completed.resolve("h", Completed())
    assert (completed.is_(), completed.state("h")) == (ENDS[kind], S.COMPLETED)
    now = finalizing(kind)
    now.resolve("h", Retried())
    now.run_through("h")
    assert now.is_() is ENDS[kind]


@pytest.mark.parametrize("kind", ENDS)
def test_a_hook_that_a_person_fails_fails_the_workflow_unless_it_settles_an_end(kind: str) -> None:
    run = finalizing(kind)
    run.resolve("h", FAILED)
    assert run.state("h") is S.FAILED
    assert run.is_() is {"cancel_finalizer": W.CANCELLED}.get(kind, W.FAILED)


def test_a_hook_is_fenced_when_a_person_passes_it_while_it_runs() -> None:
    run = finalizing("failure_finalizer")
    run.pass_time(limits.MINUTE)
    token = run.grant("h")
    run.resolve("h", PassedOver())
    assert run.is_() is W.FAILED
    refused(Reason.CLAIM_LOST, lambda: run.complete("h", 1, token))


def test_a_hook_that_was_told_to_stop_ends_by_itself() -> None:
    run = finalizing("on_success")
    run.pass_time(limits.MINUTE)
    run.grant("h")
    run.cancel()
    assert run.state("h") is S.CANCELLING
    refused(Reason.STEP_STATE_INVALID, lambda: run.resolve("h", PassedOver()))
    run.confirm("h")
    assert run.is_() is W.CANCELLED


def test_skip_dependants_skips_all_that_depends_and_the_rest_goes_on() -> None:
    run = Run(plan(activity("a", retry=ONCE, on_exhausted=Exhaustion.SKIP_DEPENDANTS), "b: a", "c: b", "d"))
    run.grant("a")
    run.fail("a")
    assert (run.state("b"), run.state("c"), run.is_()) == (S.SKIPPED, S.SKIPPED, W.RUNNING)
    run.run_through("d")
    assert run.is_() is W.COMPLETED


@pytest.mark.parametrize("width", [3, 100])
@pytest.mark.parametrize("policy", [Exhaustion.SKIP_DEPENDANTS, Exhaustion.CONTINUE])
@pytest.mark.parametrize("first", [True, False])
def test_c46_a_join_waits_for_all_the_others_whichever_fails_and_when(width: int, policy: Exhaustion, first: bool) -> None:
    names = [f"s{number}" for number in range(width)]
    run = Run(plan(*(activity(name, retry=ONCE, on_exhausted=policy) for name in names), f"join: {' '.join(names)}"))
    bad = names[0] if first else names[-1]
    for name in names:
        assert run.state("join") is S.BLOCKED
        run.grant(name)
        if name == bad:
            run.fail(name)
        else:
            run.complete(name)
    assert run.state("join") is (S.READY if policy is Exhaustion.CONTINUE else S.SKIPPED)


def test_continue_lets_dependants_see_the_failure() -> None:
    run = Run(plan(activity("a", retry=ONCE, on_exhausted=Exhaustion.CONTINUE), "b: a"))
    run.grant("a")
    run.fail("a")
    assert (run.state("a"), run.state("b")) == (S.FAILED, S.READY)
    run.run_through("b")
    assert run.is_() is W.COMPLETED


def test_a_step_that_fails_chooses_nothing() -> None:
    branches = (Branch("left", ("b",)), Branch("right", ("c",)))
    run = Run(plan(activity("a", retry=ONCE, on_exhausted=Exhaustion.CONTINUE, branches=branches), "b: a", "c: a", "d: a"))
    run.grant("a")
    run.fail("a")
    assert (run.state("b"), run.state("c"), run.state("d")) == (S.SKIPPED, S.SKIPPED, S.READY)


@pytest.mark.parametrize("how", ["timeout", "loss", "returned"])
def test_c44_every_way_to_run_out_of_attempts_follows_the_policy(how: str) -> None:
    run = Run(plan(activity("a", retry=ONCE, attempt_timeout=limits.SECOND, on_exhausted=Exhaustion.HOLD)))
    for _ in range(limits.UNDELIVERED_AS_LOST if how == "returned" else 1):
        run.pass_time(2 * limits.MINUTE)
        run.grant("a", acknowledged=how != "returned")
        {"timeout": lambda: run.pass_time(limits.SECOND), "loss": lambda: run.lose("a"), "returned": lambda: run.undelivered("a")}[how]()
    assert (run.state("a"), run.step("a").claim) == (S.HELD, None)


# -------------------------------------------------------------------------------------------------------------------- choosing


def choosing() -> Run:
    branches = (Branch("left", ("b",)), Branch("right", ("c",)))
    return Run(plan(activity("a", branches=branches), "b: a", "c: a", "d: b, c"))


def test_the_branches_that_are_not_chosen_are_skipped_and_a_join_goes_on() -> None:
    run = choosing()
    run.grant("a")
    run.report("a", Completed(choose=("left",)))
    assert (run.state("b"), run.state("c"), run.state("d")) == (S.READY, S.SKIPPED, S.BLOCKED)
    run.run_through("b")
    assert run.state("d") is S.READY


@pytest.mark.parametrize("choose", [("left", "up"), ()])
def test_choosing_nothing_or_what_is_no_branch_is_refused_and_the_claim_goes_on(choose: tuple[str, ...]) -> None:
    run = choosing()
    run.grant("a")
    with pytest.raises(FieldViolation):
        run.report("a", Completed(choose=choose))
    assert run.state("a") is S.RUNNING


def test_a_step_of_two_branches_runs_if_one_of_them_is_taken() -> None:
    branches = (Branch("left", ("b", "x")), Branch("right", ("c", "x")))
    run = Run(plan(activity("a", branches=branches), "b: a", "c: a", "x: a"))
    run.grant("a")
    run.report("a", Completed(choose=("right",)))
    assert (run.state("b"), run.state("c"), run.state("x")) == (S.SKIPPED, S.READY, S.READY)


def test_a_condition_of_a_wait_chooses() -> None:
    branches = (Branch("left", ("b",)), Branch("right", ("c",)))
    yes, no = (on_signal(name) for name in ("yes", "no"))
    wait = waiting("w", replace(yes, choose=("left",)), replace(no, choose=("right",)), after(limits.DAY), branches=branches)
    run = Run(plan(wait, "b: w", "c: w"))
    run.signal("no")
    assert (run.state("b"), run.state("c")) == (S.SKIPPED, S.READY)
    nobody = Run(run.definition)
    nobody.pass_time(limits.DAY)
    assert nobody.is_() is W.COMPLETED


def test_a_long_chain_of_waits_behind_a_choice_does_not_nest() -> None:
    names = ["w0", *(f"w{number}: w{number - 1}" for number in range(1, 400))]
    run = Run(plan(*(waiting(name, on_signal("go")) for name in names)), signals=())
    for _ in range(400):
        run.signal("go")
    assert run.is_() is W.COMPLETED
