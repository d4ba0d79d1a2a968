"""Map and child steps under TestDefinition: children end by scripts, and no workflow of their own is made."""

import json

from google.protobuf.duration_pb2 import Duration

from perdure.v1 import definition_pb2, workflow_pb2
from perdure.v1.claim_pb2 import Completed, MapPage
from perdure.v1.payload_pb2 import Payload
from perdure.v1.scripted_pb2 import NeverSettled, ScriptedOutcome
from perdure_server.kernel import limits
from tests.rpc.conftest import Served, definition, refused
from tests.rpc.test_trial import BROKEN, seconds, states, told, trial

W = workflow_pb2.Workflow
FIVE = Payload(json="[1, 2, 3, 4, 5]")


def mapping(join: int = definition_pb2.MapStep.JOIN_ALL, *, paged: bool = False) -> definition_pb2.Definition:
    made = definition("b: m", "m")
    step = made.steps[1]
    step.map.child_workflow_type = "item"
    step.map.join = definition_pb2.MapStep.Join.ValueType(join)
    if paged:
        step.map.paged.SetInParent()
    else:
        step.map.items_from = "input"
    step.policy.max_in_flight = 2
    step.policy.retry.max_attempts = 1
    return made


async def test_children_take_turns_and_their_scripts(served: Served) -> None:
    answer = await trial(served, mapping(), ScriptedOutcome(step="m", attempt=4, duration=seconds(60)), input=FIVE)
    assert (answer.workflow.state, answer.elapsed) == (W.STATE_COMPLETED, Duration(seconds=60))
    output = json.loads(next(step.output.json for step in answer.workflow.steps if step.name == "m"))
    assert output["progress"]["completedCount"] == "5"
    assert told(answer, "b")[-1] == "COMPLETED @ 60"
    assert not await served.running.engine.store.workflows.due(limits.TIME, 10)


async def test_a_child_that_fails_fails_the_join(served: Served) -> None:
    broken = ScriptedOutcome(step="m", attempt=2, failed=BROKEN)
    answer = await trial(served, mapping(), broken, input=FIVE)
    assert (answer.workflow.state, answer.workflow.failed_step) == (W.STATE_FAILED, "m")
    best = await trial(served, mapping(definition_pb2.MapStep.JOIN_BEST_EFFORT), broken, input=FIVE)
    assert (best.workflow.state, states(best)["m"]) == (W.STATE_COMPLETED, "COMPLETED")
    never = await trial(served, mapping(), ScriptedOutcome(step="m", attempt=5, never=NeverSettled()), input=FIVE)
    assert (never.workflow.state, states(never)["m"]) == (W.STATE_RUNNING, "WAITING"), "nothing moves it any more"


async def test_pages_come_from_scripts(served: Served) -> None:
    children = [Payload(json=str(number)) for number in range(3)]
    page = ScriptedOutcome(step="m", page=MapPage(children=children, cursor=Payload(json="3")), times=2)
    answer = await trial(served, mapping(paged=True), page)
    assert answer.workflow.state == W.STATE_COMPLETED
    output = json.loads(next(step.output.json for step in answer.workflow.steps if step.name == "m"))
    assert output["progress"]["completedCount"] == "6"
    wrong = await refused(trial(served, mapping(paged=True), ScriptedOutcome(step="m", completed=Completed())))
    assert (wrong.reason, list(wrong.fields)) == ("OUTCOME_NOT_ALLOWED", ["outcomes[0]"])


async def test_a_child_step_has_its_childs_output(served: Served) -> None:
    made = definition("b: c", "c")
    made.steps[1].child.child_workflow_type = "item"
    made.steps[1].child.input_from = "input"
    answer = await trial(served, made, ScriptedOutcome(step="c", completed=Completed(output=Payload(json='"of the child"'))), input=FIVE)
    assert answer.workflow.state == W.STATE_COMPLETED
    assert next(step.output.json for step in answer.workflow.steps if step.name == "c") == '"of the child"'
