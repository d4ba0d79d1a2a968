"""What came out of the trial of a definition."""

from perdure.v1 import admin_service_pb2 as wire
from perdure.v1 import scripted_pb2, workflow_pb2
from perdure_server.engine.trial import TrialResult
from perdure_server.engine.values import View
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.workflow import Event
from perdure_server.rpc import limits
from perdure_server.rpc.encode import values, workflows


def trial(result: TrialResult, definition: Definition) -> wire.TestDefinitionResponse:
    """The end, and each change on the way, as many as a message may carry."""
    response = wire.TestDefinitionResponse(definition_fingerprint=definition.fingerprint)
    workflows.workflow(response.workflow, View(result.workflow, definition), workflow_pb2.WORKFLOW_VIEW_FULL)
    values.duration(response.elapsed, result.ended - result.begun)
    for event in result.changes:
        _change(response.changes.add(), event, result.begun)
        if len(response.changes) % limits.CHANGES_BETWEEN_COUNTS == 0 and response.ByteSize() > limits.RESPONSE // 2:
            break
    return response


def _change(target: scripted_pb2.ScriptedChange, event: Event, begun: int) -> None:
    values.duration(target.after, event.time - begun)
    target.step = event.step
    target.attempt = event.attempt
    target.reason = event.reason
    if event.step:
        target.step_state = workflows.step_state(event.state)
    else:
        target.workflow_state = workflows.workflow_state(event.state)
    if event.failure_type:
        target.failure.type, target.failure.message = event.failure_type, event.failure_message
