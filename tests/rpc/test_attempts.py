"""ListAttempts: one row per claim, whatever became of it."""

from perdure.v1 import workflow_pb2
from perdure.v1 import workflow_service_pb2 as wire
from perdure_server.engine.values import View
from perdure_server.kernel.values import Failure, Trace
from perdure_server.kernel.workflow import AttemptError, Claim, Event, Settled, Step, StepState, Workflow, WorkflowKey, WorkflowState
from perdure_server.rpc.encode import attempts
from tests.kernel.harness import plan

Outcome = workflow_pb2.Attempt
READY, RUNNING, WAITING, BACKOFF = (int(state) for state in (StepState.READY, StepState.RUNNING, StepState.WAITING, StepState.BACKOFF))


def view(events: tuple[Event, ...], **steps: Step) -> View:
    workflow = Workflow(
        WorkflowKey("default", "note", "k"),
        "a" * 24,
        1,
        1,
        1,
        WorkflowState.RUNNING,
        1,
        1,
        "f",
        steps,
        1,
        2,
        Trace("0" * 32, "1" * 16),
        events=events,
    )
    return View(workflow, plan("a", "b: a"))


def listed(shown: View, step: str = "", size: int = 100, token: str = "") -> wire.ListAttemptsResponse:
    return attempts.response(shown, step, size, wire.ListAttemptsRequest(page_token=token))


def story() -> View:
    """Released, undelivered, waited, failed, lost, and now running."""
    reasons = ["RELEASED", "UNDELIVERED", "WAITING", "FAILED", "LOST"]
    events: list[Event] = []
    for number, reason in enumerate(reasons, start=1):
        events.append(Event(2 * number, 10 * number, "a", RUNNING, "GRANT", number, max(1, number - 3)))
        failed = ("t.x", "no") if reason == "FAILED" else ("", "")
        events.append(Event(2 * number + 1, 10 * number + 5, "a", READY, reason, number, 1, number, *failed))
    events.append(Event(20, 60, "a", RUNNING, "GRANT", 6, 3))
    step = Step(
        StepState.RUNNING,
        60,
        claim_no=6,
        attempt=3,
        claim=Claim("n", "s", 60, 999, "span", worker_id="w"),
        errors=(AttemptError(1, 4, 45, Failure("t.x", "no")), AttemptError(2, 5, 55, Failure("WORKER_LOST"))),
    )
    return view(tuple(events), a=step)


def test_every_claim_is_told_with_its_times_and_its_outcome() -> None:
    found = listed(story()).attempts
    assert [(row.claim_no, Outcome.Outcome.Name(row.outcome).removeprefix("OUTCOME_"), row.charged, row.attempt) for row in found] == [
        (6, "UNSPECIFIED", True, 3),
        (5, "LOST", True, 2),
        (4, "FAILED", True, 1),
        (3, "WAITING", False, 1),
        (2, "UNDELIVERED", False, 1),
        (1, "RELEASED", False, 1),
    ]
    assert [(row.start_time.ToMilliseconds(), row.end_time.ToMilliseconds()) for row in found[1:3]] == [(50, 55), (40, 45)]
    assert (found[0].worker_id, found[0].span_id, found[0].HasField("end_time")) == ("w", "span", False)
    assert (found[2].failure.type, found[2].failure.message) == ("t.x", "no")
    assert [row.last_frame_seq for row in found[3:]] == [3, 2, 1]


def test_pages_and_steps() -> None:
    shown = story()
    first = listed(shown, "a", 4)
    rest = listed(shown, "a", 4, first.next_page_token)
    assert [row.claim_no for row in (*first.attempts, *rest.attempts)] == [6, 5, 4, 3, 2, 1]
    assert not rest.next_page_token
    assert not listed(shown, "b").attempts


def test_what_has_left_the_ring_is_told_as_far_as_the_step_remembers() -> None:
    errors = tuple(AttemptError(number, number, number, Failure("t.x")) for number in range(1, 11))
    step = Step(StepState.COMPLETED, 99, claim_no=11, attempt=11, ended=99, errors=errors, settled=(Settled("n", b"d"),), last_frame_seq=7)
    found = listed(view((), a=step)).attempts
    assert [row.claim_no for row in found] == list(range(11, 1, -1)), "ten are kept"
    assert (found[0].outcome, found[0].end_time.ToMilliseconds(), found[0].last_frame_seq) == (Outcome.OUTCOME_COMPLETED, 99, 7)


def test_a_person_who_completes_a_step_makes_no_claim_of_it() -> None:
    events = (
        Event(1, 10, "a", RUNNING, "GRANT", 1, 1),
        Event(2, 20, "a", BACKOFF, "FAILED", 1, 1),
        Event(3, 30, "a", WAITING, "RESOLVED", 1, 1),
    )
    step = Step(StepState.COMPLETED, 30, claim_no=1, attempt=1, ended=30, errors=(AttemptError(1, 1, 20, Failure("t.x")),))
    (row,) = listed(view(events, a=step)).attempts
    assert (row.outcome, row.end_time.ToMilliseconds()) == (Outcome.OUTCOME_FAILED, 20)
