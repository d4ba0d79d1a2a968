"""Map and child steps: what is counted, when the join is met, pages, and bounds."""

import json

import pytest

from perdure_server.kernel import limits
from perdure_server.kernel.child_state import ParentClose
from perdure_server.kernel.children import CHILD_FAILED, pack
from perdure_server.kernel.definition import Join
from perdure_server.kernel.effects import DutyTaken
from perdure_server.kernel.outcomes import Page
from perdure_server.kernel.progress import expand
from perdure_server.kernel.rejection import Reason
from perdure_server.kernel.values import Payload, PayloadRef, RetryPolicy
from perdure_server.kernel.workflow import DutyKind, StepState, WorkflowState
from tests.kernel.families import (
    CANCELLED,
    FAILED,
    childing,
    children,
    duties,
    ended,
    made,
    mapped,
    mapping,
    page,
    paged,
    result,
    to_close,
)
from tests.kernel.harness import Run, payload, plan, refused

S, W = StepState, WorkflowState


def test_all_the_first_failure_fails_the_step_and_closes_the_others() -> None:
    run = mapped(4)
    ended(run, 2, state=FAILED)
    failure = run.step("m").failure
    assert (run.state("m"), run.is_()) == (S.FAILED, W.FAILED)
    assert failure is not None
    assert failure.details is not None
    assert failure.type == CHILD_FAILED
    details = json.loads(failure.details.json or "")
    assert details["errors"][0]["index"] == "2"
    assert details["errors"][0]["failure"] == {"type": "child.broken", "message": "as told"}
    assert [closing.open for closing in to_close(run)] == [(0, 1, 3)]
    assert any(isinstance(effect, DutyTaken) for effect in run.effects)
    assert children(run).cancelled == 3


def test_all_a_cancelled_child_fails_the_step() -> None:
    run = mapped(2)
    ended(run, 0, state=CANCELLED)
    assert run.state("m") is S.FAILED


def test_any_is_done_with_the_first_and_the_others_are_closed() -> None:
    run = mapped(9, Join.ANY, max_in_flight=3, parent_close=ParentClose.TERMINATE)
    ended(run, 0, state=FAILED)
    assert run.state("m") is S.WAITING
    ended(run, 2)
    assert run.state("m") is S.COMPLETED
    found = result(run)
    assert found["progress"]["completedCount"] == "1"
    assert found["progress"]["openCount"] == "2"
    assert [(closing.open, closing.policy) for closing in to_close(run)] == [((1, 3), ParentClose.TERMINATE)]
    assert run.state("z") is S.READY


def test_any_fails_when_none_is_left() -> None:
    run = mapped(2, Join.ANY)
    ended(run, 0, 1, state=FAILED)
    assert run.state("m") is S.FAILED


@pytest.mark.parametrize(("failures", "expected"), [(3, S.COMPLETED), (4, S.FAILED)])
def test_n_of_m(failures: int, expected: StepState) -> None:
    run = mapped(5, Join.N_OF_M, required=2)
    ended(run, *range(failures), state=FAILED)
    if failures == 3:
        ended(run, 3)
        assert run.state("m") is S.WAITING
        ended(run, 4)
    assert run.state("m") is expected


def test_n_of_m_that_can_never_be_met_fails_at_once() -> None:
    assert mapped(3, Join.N_OF_M, required=4).state("m") is S.FAILED


@pytest.mark.parametrize("order", ["first", "last", "together"])
def test_c46_best_effort_ends_after_the_last_whatever_failed(order: str) -> None:
    run = mapped(100, Join.BEST_EFFORT)
    bad, good = range(30), range(30, 100)
    if order == "together":
        ended(run, *bad[:15], state=FAILED)
        ended(run, *bad[15:], state=CANCELLED)
        ended(run, *good[:-1])
    elif order == "first":
        ended(run, *bad, state=FAILED)
        ended(run, *good[:-1])
    else:
        ended(run, *good[:-1])
        ended(run, *bad, state=FAILED)
    assert (run.state("m"), run.state("z")) == (S.WAITING, S.BLOCKED)
    ended(run, good[-1])
    assert (run.state("m"), run.state("z")) == (S.COMPLETED, S.READY)
    errors = [int(error.get("index", "0")) for error in result(run)["errors"]]
    assert errors == list(range(15 if order == "together" else limits.CHILD_ERRORS))


def test_a_child_step_takes_its_child_s_output() -> None:
    run = Run(plan(childing("c")), input=7)
    assert children(run, "c").total == 1
    ended(run, 0, name="c")
    assert run.is_() is W.COMPLETED
    assert run.workflow.output == Payload(json='"0"')


def test_pages_come_one_after_the_other_as_children_are_created() -> None:
    run = paged()
    assert run.state("m") is S.READY
    run.grant("m")
    page(run, 3, cursor="next")
    assert (run.state("m"), children(run).open, children(run).known) == (S.WAITING, (0, 1, 2), False)
    made(run, 2)
    assert run.state("m") is S.WAITING, "the page is needed until its children are created"
    made(run, 3)
    assert run.state("m") is S.READY
    ended(run, 0, 1, 2)
    assert run.state("m") is S.READY, "more may come"
    run.grant("m")
    page(run, 1)
    assert (children(run).open, children(run).known, children(run).page_start) == ((3,), True, 3)
    ended(run, 3)
    assert result(run)["progress"]["totalCount"] == "4"
    assert children(run).page is None


def test_a_page_renews_the_attempts_and_ends_are_counted_while_the_worker_is_at_it() -> None:
    run = paged(2, retry=RetryPolicy(max_attempts=2, jitter=0.0))
    run.grant("m")
    run.fail("m")
    run.pass_time(1_000)
    run.grant("m")
    ended(run, 0, 1)
    assert (run.state("m"), children(run).completed) == (S.RUNNING, 2)
    page(run, 1, cursor=2)
    made(run)
    assert (run.step("m").attempt, run.step("m").total_attempts) == (0, 3)
    for _ in range(2):
        run.grant("m")
        run.fail("m")
        run.pass_time(1_000)
    assert run.is_() is W.FAILED
    assert [closing.open for closing in to_close(run)] == [(2,)]


def test_an_empty_last_page_ends_the_step() -> None:
    run = paged(1)
    ended(run, 0)
    run.grant("m")
    page(run, 0)
    assert run.state("m") is S.COMPLETED


def test_a_failure_while_the_worker_is_at_a_page_counts_when_it_comes() -> None:
    run = paged(2)
    run.grant("m")
    ended(run, 0, state=FAILED)
    assert run.state("m") is S.RUNNING
    page(run, 1)
    assert run.state("m") is S.FAILED
    assert [closing.open for closing in to_close(run)] == [(1,)]


def test_outcomes_that_do_not_belong_to_the_step() -> None:
    run = paged()
    run.grant("m")
    refused(Reason.OUTCOME_NOT_ALLOWED, lambda: run.complete("m"))
    other = Run(plan("a"))
    other.grant("a")
    refused(Reason.OUTCOME_NOT_ALLOWED, lambda: other.report("a", Page()))


def test_a_repeated_page_is_a_duplicate() -> None:
    run = paged()
    nonce = run.grant("m")
    page(run, 2, cursor=1)
    before = run.workflow
    assert run.report("m", Page(2, pack([payload(0), payload(1)]), payload(1)), nonce) is False
    assert run.workflow is before


def test_c47_a_hundred_thousand_children_never_enlarge_the_parent() -> None:
    run = Run(plan(mapping("m", joined=Join.BEST_EFFORT, max_in_flight=1_000)), input=Payload(ref=PayloadRef("big", 10**6)))
    run.do(lambda draft: expand(draft, "m", 100_000))
    largest = 0
    while run.state("m") is S.WAITING:
        found = children(run)
        ended(run, *found.open, state=FAILED)
        largest = max(largest, len(found.open), len(found.errors))
        run.now += 10
    assert largest <= 1_000
    assert result(run)["progress"]["failedCount"] == "100000"
    assert len(result(run)["errors"]) == limits.CHILD_ERRORS


def test_progress_is_told_at_most_once_a_second() -> None:
    run = mapped(10, max_in_flight=1)
    for index in range(3):
        ended(run, index)
    run.now += 1_000
    ended(run, 3)
    assert run.events_of("m") == ["UNBLOCK>WAITING", "PROGRESS>WAITING", "PROGRESS>WAITING"]


def test_an_audit_comes_ten_minutes_after_the_last() -> None:
    run = mapped(3)
    made(run)
    due = [duty.due for duty in duties(run, DutyKind.TEND_CHILDREN)]
    assert due == [run.now + limits.CHILDREN_AUDIT]
    run.now += limits.CHILDREN_AUDIT
    made(run, audited=True)
    assert [duty.due for duty in duties(run, DutyKind.TEND_CHILDREN)] == [run.now + limits.CHILDREN_AUDIT]
