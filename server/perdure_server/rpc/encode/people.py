"""Answers to what people ask of one workflow."""

from perdure.v1 import admin_service_pb2 as admin
from perdure.v1 import workflow_service_pb2 as wire
from perdure_server.engine.explain import queue_of
from perdure_server.engine.people import Done
from perdure_server.engine.values import View, etag_of
from perdure_server.kernel.workflow import Workflow
from perdure_server.rpc.encode import definitions, values, workflows


def terminated(done: Done) -> wire.TerminateWorkflowResponse:
    """The answer to a terminate."""
    source = done.workflow
    response = wire.TerminateWorkflowResponse(state=workflows.workflow_state(source.state), duplicate=done.duplicate, fence=source.fence)
    values.ref(response.workflow, source.key, source.round)
    return response


def paused(done: Done) -> wire.PauseWorkflowResponse:
    """The answer to a pause."""
    response = wire.PauseWorkflowResponse(duplicate=done.duplicate, etag=etag_of(done.workflow))
    values.ref(response.workflow, done.workflow.key, done.workflow.round)
    return response


def resumed(done: Done) -> wire.ResumeWorkflowResponse:
    """The answer to a resume."""
    response = wire.ResumeWorkflowResponse(duplicate=done.duplicate, etag=etag_of(done.workflow))
    values.ref(response.workflow, done.workflow.key, done.workflow.round)
    return response


def replayed(done: Done) -> wire.ReplayWorkflowResponse:
    """The answer to a replay; of one that was only checked: as it would be."""
    source = done.workflow
    response = wire.ReplayWorkflowResponse(
        fence=source.fence,
        state=workflows.workflow_state(source.state),
        reopened_steps=done.reopened,
        duplicate=done.duplicate,
        in_doubt_steps=done.in_doubt,
    )
    values.ref(response.workflow, source.key, source.round)
    return response


def deleted(source: Workflow, duplicate: bool, round_no: int | None) -> wire.DeleteWorkflowResponse:
    """The answer to a delete: of the round that was named, or of the whole key, by its last one."""
    response = wire.DeleteWorkflowResponse(duplicate=duplicate)
    values.ref(response.workflow, source.key, source.round if round_no is None else round_no)
    return response


def options_updated(done: Done, step: str) -> admin.UpdateStepOptionsResponse:
    """The answer to changed options of a step."""
    source = done.workflow
    response = admin.UpdateStepOptionsResponse(etag=etag_of(source), duplicate=done.duplicate)
    plan = done.definition.by_name[step]
    definitions.policy(response.policy, plan)
    response.policy.queue = queue_of(source, plan)
    return response


def resolved(done: Done, step: str) -> admin.ResolveStepResponse:
    """The answer to a resolved step."""
    source = done.workflow
    response = admin.ResolveStepResponse(
        workflow_state=workflows.workflow_state(source.state), etag=etag_of(source), duplicate=done.duplicate
    )
    workflows.step_of(response.step, View(source, done.definition), step)
    return response
