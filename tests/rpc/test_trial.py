"""TestDefinition: a definition runs in memory by scripts, and nothing is stored."""

import grpc
from google.protobuf.duration_pb2 import Duration

from perdure.v1 import admin_service_pb2 as admin
from perdure.v1 import definition_pb2, workflow_pb2
from perdure.v1.claim_pb2 import Completed, Waiting
from perdure.v1.payload_pb2 import Failure, Payload
from perdure.v1.scripted_pb2 import NeverSettled, ScriptedCancel, ScriptedEvent, ScriptedOutcome, ScriptedSignal, WorkerLost
from perdure_server.kernel import limits
from tests.rpc.conftest import Served, definition, refused

W, S = workflow_pb2.Workflow, workflow_pb2.StepView
BROKEN = Failure(type="test.broken", message="as told")


async def trial(
    served: Served, made: definition_pb2.Definition, *outcomes: ScriptedOutcome, **fields: object
) -> admin.TestDefinitionResponse:
    request = admin.TestDefinitionRequest(definition=made, outcomes=outcomes, **fields)  # type: ignore[arg-type]  # fields of the message
    return await served.admin.TestDefinition(request)


def told(answer: admin.TestDefinitionResponse, step: str = "") -> list[str]:
    """Reason @ seconds since the start, of one step or of the workflow."""
    return [f"{change.reason} @ {change.after.ToMilliseconds() / 1000:g}" for change in answer.changes if change.step == step]


def states(answer: admin.TestDefinitionResponse) -> dict[str, str]:
    return {step.name: S.State.Name(step.state).removeprefix("STATE_") for step in answer.workflow.steps}


def seconds(number: float) -> Duration:
    return Duration(seconds=int(number), nanos=round(number % 1 * 1e9))


def choosing(step: str, *branches: str) -> ScriptedOutcome:
    return ScriptedOutcome(step=step, completed=Completed(choose=branches))


def waiting(duration: int, **fields: int) -> ScriptedOutcome:
    made = ScriptedOutcome(waiting=Waiting(), **fields)  # type: ignore[arg-type]  # fields of the message
    made.waiting.wait.any_of.add().after.seconds = duration
    return made


async def test_without_scripts_everything_completes_at_once_and_nothing_is_stored(served: Served) -> None:
    answer = await trial(served, definition("a", "b: a"), input=Payload(json='{"x": 1}'))
    assert answer.workflow.state == W.STATE_COMPLETED
    assert answer.workflow.input.json == '{"x": 1}'
    assert told(answer, "b") == ["UNBLOCK @ 0", "GRANT @ 0", "COMPLETED @ 0"]
    assert not answer.elapsed.ToMilliseconds()
    assert len(answer.definition_fingerprint) == 64
    assert not await served.running.engine.definitions("default")
    stored = served.running.engine.store.workflows
    assert not await stored.due(limits.TIME, 10)


async def test_retries_take_their_time_on_the_trials_clock(served: Served) -> None:
    made = definition("a")
    made.steps[0].policy.retry.max_attempts = 3
    answer = await trial(served, made, ScriptedOutcome(step="a", attempt=3, duration=seconds(30)), ScriptedOutcome(step="a", failed=BROKEN))
    assert answer.workflow.state == W.STATE_COMPLETED
    expected = "UNBLOCK @ 0, GRANT @ 0, FAILED @ 0, DUE @ 1, GRANT @ 1, FAILED @ 1, DUE @ 3, GRANT @ 3, COMPLETED @ 33"
    assert told(answer, "a") == expected.split(", ")
    assert answer.elapsed == seconds(33)
    shaken = [(await trial(served, made, ScriptedOutcome(failed=BROKEN), seed=seed)).elapsed.ToMilliseconds() for seed in (7, 7, 8)]
    assert shaken[0] == shaken[1] != shaken[2], "the seed decides"
    assert 2_400 <= shaken[0] <= 3_600


async def test_a_choice_takes_its_branch(served: Served) -> None:
    made = definition("decide", "left: decide", "right: decide", "join: left right")
    for name in ("left", "right"):
        made.steps[0].branches.add(name=name, steps=[name])
    left = choosing("decide", "left")
    answer = await trial(served, made, left)
    assert states(answer) == {"decide": "COMPLETED", "left": "COMPLETED", "right": "SKIPPED", "join": "COMPLETED"}
    wrong = await refused(trial(served, made, ScriptedOutcome(step="a"), choosing("decide", "up")))
    assert set(wrong.fields) == {"outcomes[0].step"}, "nothing runs by scripts that fit nothing"
    wrong = await refused(trial(served, made, choosing("left"), choosing("decide", "up")))
    assert (wrong.reason, list(wrong.fields)) == ("BRANCH_INVALID", ["outcomes[1].completed.choose"])


async def test_hooks_and_compensations_run_when_it_fails(served: Served) -> None:
    made = definition("reserve", "charge: reserve", "undo", "tell")
    made.steps[0].compensate_with = "undo"
    made.steps[1].policy.retry.max_attempts = 1
    made.hooks.failure_finalizer.step = "tell"
    answer = await trial(
        served,
        made,
        ScriptedOutcome(step="charge", failed=BROKEN),
        ScriptedOutcome(step="tell", failed=BROKEN, times=2),
    )
    assert answer.workflow.state == W.STATE_FAILED
    assert answer.workflow.failed_step == "charge"
    assert states(answer) == {"reserve": "COMPENSATED", "charge": "FAILED", "undo": "COMPLETED", "tell": "COMPLETED"}
    assert told(answer, "tell").count("FAILED @ 0") == 1
    order = [change.step for change in answer.changes if change.reason == "COMPLETED"]
    assert order == ["reserve", "undo", "tell"]
    assert next(change.failure.type for change in answer.changes if change.step == "charge" and change.reason == "FAILED") == BROKEN.type


async def test_signals_and_timers(served: Served) -> None:
    made = definition("wait_go", "b: wait_go")
    event = ScriptedEvent(after=seconds(90), signal=ScriptedSignal(signal_name="wait_go", payload=Payload(json="7")))
    answer = await trial(served, made, events=[event])
    assert answer.workflow.state == W.STATE_COMPLETED
    assert answer.elapsed == seconds(90)
    stuck = await trial(served, made)
    assert (stuck.workflow.state, states(stuck)["wait_go"]) == (W.STATE_RUNNING, "WAITING"), "nothing can move any more"
    polled = await trial(served, definition("a"), waiting(3_600, times=2))
    assert (polled.workflow.state, polled.elapsed) == (W.STATE_COMPLETED, seconds(7_200))


async def test_timeouts_and_lost_workers(served: Served) -> None:
    made = definition("a", "b: a")
    made.steps[0].policy.retry.max_attempts = 2
    answer = await trial(
        served,
        made,
        ScriptedOutcome(step="a", attempt=1, never=NeverSettled()),
        ScriptedOutcome(step="b", attempt=1, lost=WorkerLost(), duration=seconds(2)),
    )
    assert answer.workflow.state == W.STATE_COMPLETED
    assert told(answer, "a")[2:4] == ["TIMED_OUT @ 600", "DUE @ 601"]
    assert told(answer, "b")[2:4] == ["LOST @ 603", "GRANT @ 603"]


async def test_a_cancel_stops_it(served: Served) -> None:
    made = definition("a", "b: a")
    cancel = ScriptedEvent(after=seconds(5), cancel=ScriptedCancel(reason="enough"))
    answer = await trial(served, made, ScriptedOutcome(step="a", duration=seconds(10)), events=[cancel])
    assert answer.workflow.state == W.STATE_CANCELLED
    assert states(answer)["a"] == "COMPLETED", "what it did within the grace is kept"
    assert answer.elapsed == seconds(10)


async def test_it_stops_when_told_and_after_ten_thousand_changes(served: Served) -> None:
    made = definition("a")
    stops = await trial(served, made, ScriptedOutcome(step="a", duration=seconds(100)), duration=seconds(60))
    assert (stops.workflow.state, stops.elapsed) == (W.STATE_RUNNING, seconds(60))
    answer = await trial(served, made, waiting(30))
    assert answer.workflow.state == W.STATE_RUNNING
    assert len(answer.changes) == 10_000


async def test_a_registered_definition(served: Served) -> None:
    registered = await served.register("a")
    request = admin.TestDefinitionRequest(registered=admin.DefinitionRef(workflow_type="note"))
    answer = await served.admin.TestDefinition(request)
    assert answer.definition_fingerprint == registered.fingerprint
    request.registered.workflow_type = "unknown"
    found = await refused(served.admin.TestDefinition(request))
    assert found.reason == "DEFINITION_NOT_FOUND"


async def test_a_broken_definition_and_broken_scripts_are_named(served: Served) -> None:
    found = await refused(trial(served, definition("a: b", "b: a")))
    assert (found.code, found.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "DEFINITION_CYCLE")
    assert "a" in found.facts["cycle"]
    found = await refused(served.admin.TestDefinition(admin.TestDefinitionRequest()))
    assert list(found.fields) == ["source"]
    wrong = ScriptedOutcome(step="c", attempt=-1, failed=Failure(), duration=seconds(-1))
    found = await refused(trial(served, definition("a"), wrong, events=[ScriptedEvent()]))
    assert sorted(found.fields) == ["events[0].event", *(f"outcomes[0].{name}" for name in ("attempt", "duration", "failed.type", "step"))]
