"""A workflow goes on by another definition: what is carried over, what is lost, what is opened."""

from collections.abc import Mapping
from typing import Any

import pytest

from perdure_server.kernel import limits
from perdure_server.kernel.children import is_counting
from perdure_server.kernel.definition import Branch, Definition, Hook, Hooks, Permit, StepOptions
from perdure_server.kernel.effects import PermitsFreed, StepRequeued
from perdure_server.kernel.migration import Loss, Migration, check_mapping, losses, migrate
from perdure_server.kernel.options import as_run, update_options
from perdure_server.kernel.outcomes import Completed
from perdure_server.kernel.rejection import FieldViolation, Reason
from perdure_server.kernel.workflow import DutyKind, StepState, WorkflowState
from tests.kernel.families import duties, ended, paged, paging
from tests.kernel.harness import T0, Run, activity, after, on_signal, plan, refused, waiting

MINUTE = limits.MINUTE
GO = on_signal("go")
ALL = frozenset(Loss)


def go_over(run: Run, to: Definition, mapping: Mapping[str, str] | None = None, accepted: frozenset[Loss] = frozenset()) -> bool:
    return run.do(lambda draft: migrate(draft, Migration(to, mapping or {}, accepted)))


def lost(run: Run, to: Definition, mapping: Mapping[str, str] | None = None) -> list[tuple[str, str]]:
    return [(found.step, found.loss.name) for found in losses(run.definition, run.workflow, Migration(to, mapping or {}))]


def refusal(run: Run, to: Definition, **options: Any) -> str:
    return refused(Reason.MIGRATION_LOSES_STATE, lambda: go_over(run, to, **options))["losses"]


def test_a_step_that_comes_in_is_done_before_what_has_not_begun() -> None:
    run = Run(plan("a", "b: a"))
    run.grant("a")
    run.complete("a", 1)
    (before,) = run.workflow.ready
    to = plan("a", "check: a", activity("b: a, check", needs=("a",)))
    assert go_over(run, to)
    assert run.states() == {"a": "COMPLETED", "check": "READY", "b": "BLOCKED"}
    assert (run.workflow.fingerprint, run.workflow.step_count, run.workflow.remaining) == (to.fingerprint, 3, 2)
    assert run.step("a").output is not None
    assert before not in run.workflow.ready
    assert not go_over(run, to), "a repeat"
    for name in ("check", "b"):
        run.grant(name)
        run.complete(name)
    assert run.is_() is WorkflowState.COMPLETED


def test_the_last_step_ends_in_the_same_write_and_a_new_one_follows_it() -> None:
    run = Run(plan(waiting("w", after(MINUTE)), "end", hooks=Hooks(on_success=Hook("end"))))
    run.now += MINUTE
    assert go_over(run, plan(waiting("w", after(MINUTE)), "z: w"))
    assert run.states() == {"w": "COMPLETED", "z": "READY"}
    assert run.workflow.remaining == 1
    run.run_through("z")
    assert run.is_() is WorkflowState.COMPLETED


def test_rollback_loses_what_only_the_new_definition_has() -> None:
    old, new = plan("a", "b: a"), plan("a", "check: a", activity("b: a, check", needs=("a",)))
    run = Run(new)
    run.grant("a")
    run.complete("a")
    assert lost(run, old) == []
    run.grant("check")
    assert refusal(run, old) == "RUNNING_CLAIM"
    run.complete("check")
    assert refusal(run, old) == "COMPLETED_OUTPUT"
    assert run.workflow.fingerprint == new.fingerprint
    assert go_over(run, old, accepted=frozenset({Loss.COMPLETED_OUTPUT}))
    assert run.states() == {"a": "COMPLETED", "b": "READY"}


def test_a_running_claim_goes_on_where_its_contract_is_the_same() -> None:
    run = Run(plan("a", "b: a"))
    token = run.grant("a")
    run.checkpoint("a", 1, "half")
    assert go_over(run, plan("a", "b: a", "c: a"))
    assert (run.state("a"), run.claim("a").nonce) == (StepState.RUNNING, token)
    run.complete("a", 1, nonce=token)
    assert run.states() == {"a": "COMPLETED", "b": "READY", "c": "READY"}


def test_a_running_claim_of_another_contract_is_fenced_and_its_checkpoint_kept() -> None:
    run = Run(plan("a", "b: a"))
    token = run.grant("a")
    run.checkpoint("a", 1, "half")
    to = plan(activity("a", version="2"), "b: a")
    assert refusal(run, to) == "RUNNING_CLAIM"
    assert go_over(run, to, accepted=frozenset({Loss.RUNNING_CLAIM}))
    assert (run.state("a"), run.step("a").checkpoint is not None) == (StepState.READY, True)
    assert refused(Reason.CLAIM_LOST, lambda: run.complete("a", nonce=token))["cause"] == "SUPERSEDED"


def test_a_permit_that_a_running_claim_holds_is_a_loss() -> None:
    needs = {"permits": (Permit("llm"),)}
    run = Run(plan(activity("a", **needs)))
    token = run.grant("a")
    to = plan(activity("a", version="2", **needs))
    assert lost(run, to) == [("a", "RUNNING_CLAIM"), ("a", "HELD_PERMIT")]
    assert refusal(run, to, accepted=frozenset({Loss.RUNNING_CLAIM})) == "HELD_PERMIT"
    assert (run.state("a"), run.claim("a").nonce, run.count(PermitsFreed)) == (StepState.RUNNING, token, 0)
    assert go_over(run, to, accepted=ALL)
    assert (run.state("a"), run.count(PermitsFreed)) == (StepState.READY, 1)


def test_steps_are_renamed_with_all_that_they_have() -> None:
    run = Run(plan("a", "b: a"), step_queues={"b": "gpu"})
    run.grant("a")
    run.complete("a", "text")
    to = plan("read", "sum: read")
    assert lost(run, to) == [("a", "COMPLETED_OUTPUT")]
    assert go_over(run, to, {"a": "read", "b": "sum"})
    assert run.states() == {"read": "COMPLETED", "sum": "READY"}
    (ready,) = run.workflow.ready
    assert ready.split("/")[1] == "gpu"
    assert isinstance(run.effects[-1], StepRequeued)


def test_options_of_a_step_stay_whether_it_has_begun_or_not() -> None:
    run = Run(plan("a", "b: a", "c: b"))
    for name in ("a", "b", "c"):
        changed = StepOptions(("priority",), activity(name, priority=9))
        run.do(lambda draft: update_options(draft, name, changed, ""))  # noqa: B023 -- called in its round
    assert go_over(run, plan("a", "sum: a"), {"b": "sum"})
    assert "sum" not in run.workflow.steps
    assert run.workflow.step_options.keys() == {"a", "sum"}
    assert as_run(run.definition, run.workflow).by_name["sum"].priority == 9


def test_an_open_wait_stays_open_or_is_a_loss() -> None:
    run = Run(plan("a", waiting("w", GO)))
    assert lost(run, plan("a", waiting("w", GO), "c: w")) == []
    assert refusal(run, plan("a", waiting("w", on_signal("other")))) == "OPEN_WAIT"
    assert refusal(run, plan("a")) == "OPEN_WAIT"
    assert go_over(run, plan("a", waiting("w", on_signal("other"))), accepted=frozenset({Loss.OPEN_WAIT}))
    assert (run.state("w"), run.step("w").wait[0].signal) == (StepState.WAITING, "other")
    run.signal("other")
    assert run.state("w") is StepState.COMPLETED


def test_a_checkpoint_of_a_step_that_is_no_more_is_a_loss() -> None:
    run = Run(plan("a", "b"))
    run.grant("b")
    run.checkpoint("b", 1, "job-7")
    run.wait("b", GO)
    assert refusal(run, plan("a")) == "CHECKPOINT, OPEN_WAIT"
    assert go_over(run, plan("a"), accepted=ALL)
    assert run.states() == {"a": "READY"}
    assert run.workflow.remaining == 1


def test_a_step_becomes_another_kind() -> None:
    run = Run(plan("a", "b: a"))
    assert go_over(run, plan(waiting("a", GO), "b: a"))
    assert run.state("a") is StepState.WAITING


def test_nobody_tends_the_children_of_a_step_that_is_no_more() -> None:
    run, to = paged(2), plan("z")
    ended(run, 0)
    assert refusal(run, to, accepted=ALL) == "OPEN_CHILDREN"
    ended(run, 1)
    assert [duty.subject for duty in duties(run, DutyKind.TEND_CHILDREN)] == ["m"]
    assert go_over(run, to, accepted=ALL)
    assert not run.workflow.duties


def test_a_pass_over_children_finds_none_of_a_step_that_is_another_kind_now() -> None:
    run = paged(2)
    generation = run.step("m").generation
    ended(run, 0, 1)
    assert run.do(lambda draft: is_counting(draft, "m", generation))
    assert go_over(run, plan("m", "z: m"), accepted=ALL)
    assert run.step("m").children is None
    assert not run.do(lambda draft: is_counting(draft, "m", generation))


def test_open_children_know_their_step_by_its_name() -> None:
    to = plan(paging("n"), "z: n")
    run = paged(2)
    assert refusal(run, to, mapping={"m": "n"}, accepted=ALL) == "OPEN_CHILDREN"
    ended(run, 0, 1)
    assert go_over(run, to, {"m": "n"})
    assert [duty.subject for duty in duties(run, DutyKind.TEND_CHILDREN)] == ["n"]


def test_dropping_the_last_open_step_ends_the_workflow() -> None:
    run = Run(plan("a", "b: a"))
    run.grant("a")
    run.complete("a", 1)
    assert go_over(run, plan("a"))
    assert run.is_() is WorkflowState.COMPLETED


def test_branches_that_were_not_taken_stay_skipped() -> None:
    branches = (Branch("left", ("l",)), Branch("right", ("r",)))
    run = Run(plan(activity("a", branches=branches), "l: a", "r: a"))
    run.grant("a")
    run.report("a", Completed(choose=("left",)))
    assert go_over(run, plan(activity("a", branches=branches), "l: a", "r: a", "z: l, r"))
    assert run.states() == {"a": "COMPLETED", "l": "READY", "r": "SKIPPED", "z": "BLOCKED"}


def test_a_chosen_branch_that_is_no_more_is_a_loss() -> None:
    run = Run(plan(activity("a", branches=(Branch("left", ("l",)), Branch("right", ("r",)))), "l: a", "r: a"))
    run.grant("a")
    run.report("a", Completed(choose=("left",)))
    to = plan(activity("a", branches=(Branch("up", ("l",)), Branch("right", ("r",)))), "l: a", "r: a")
    assert refusal(run, to) == "COMPLETED_OUTPUT"
    assert go_over(run, to, accepted=frozenset({Loss.COMPLETED_OUTPUT}))
    assert run.step("a").chosen == ()
    assert run.states()["r"] == "SKIPPED"


def test_a_hook_that_waits_for_its_turn_begins_when_all_is_done_again() -> None:
    hooks = Hooks(on_success=Hook("bye"))
    run = Run(plan("a", "bye", hooks=hooks))
    run.grant("a")
    run.complete("a")
    assert run.state("bye") is StepState.READY
    assert go_over(run, plan("a", "b: a", "bye", hooks=hooks))
    assert run.states() == {"a": "COMPLETED", "b": "READY", "bye": "BLOCKED"}
    run.grant("b")
    run.complete("b")
    assert run.state("bye") is StepState.READY


def test_only_a_running_workflow_is_moved_and_a_paused_one_stays_paused() -> None:
    run = Run(plan("a"))
    run.grant("a")
    run.cancel()
    refused(Reason.WORKFLOW_STATE_INVALID, lambda: go_over(run, plan("a", "b: a")))
    paused = Run(plan("a"))
    paused.pause()
    assert go_over(paused, plan("a", "b: a"))
    assert paused.workflow.paused is not None
    assert paused.workflow.ready == ("S//default/note",)


def test_faults_of_a_mapping_are_named_at_once() -> None:
    old, new = plan("a", "b: a"), plan("a", "c: a")
    check_mapping(old, new, [("b", "c")])
    check_mapping(old, new, [("b", "")])
    with pytest.raises(FieldViolation) as caught:
        check_mapping(old, new, [("x", "c"), ("b", "a"), ("b", "nothing")])
    assert [field for field, _ in caught.value.violations] == [
        "step_mapping[0].from_step",
        "step_mapping[1].to_step",
        "step_mapping[2].from_step",
        "step_mapping[2].to_step",
    ]


def test_timeouts_that_run_are_those_of_the_new_definition() -> None:
    timed = plan(activity("a", version="1", queue_timeout=MINUTE), activity("b", step_timeout=MINUTE, attempt_timeout=MINUTE))
    free = plan(activity("a", version="2"), activity("b", step_timeout=3 * MINUTE, attempt_timeout=2 * MINUTE), "c: a")
    run = Run(timed)
    run.grant("b")
    assert run.step("a").due == T0 + MINUTE
    assert go_over(run, free)
    claim = run.step("b").claim
    assert claim is not None
    assert (run.step("a").due, run.step("b").step_deadline, claim.deadline) == (None, T0 + 3 * MINUTE, T0 + 2 * MINUTE)
    run.pass_time(90_000)
    assert (run.state("a"), run.state("b")) == (StepState.READY, StepState.RUNNING)
    assert go_over(run, timed)
    assert run.step("a").due == T0 + 90_000 + MINUTE, "it was not measured before"


def test_the_step_time_of_what_begins_anew_begins_anew() -> None:
    run = Run(plan(activity("a", step_timeout=10_000), "b: a"))
    assert run.step("a").step_deadline is not None
    assert go_over(run, plan(waiting("a", on_signal("go")), "b: a"))
    assert (run.step("a").state, run.step("a").step_deadline, run.step("a").step_left) == (StepState.WAITING, None, None)
