"""Perdure: durable workflows. Start at `Definition`, `Client` and `Context`."""

from perdure.answers import RegisteredDefinition, Signalled
from perdure.branches import Branch, Chosen
from perdure.client import Client
from perdure.context import Context
from perdure.definition import Definition
from perdure.errors import (
    AccessDenied,
    AlreadyExists,
    CallTimeout,
    ClaimLost,
    Conflict,
    DefinitionRejected,
    InvalidRequest,
    NotAllowed,
    NotFound,
    NotImplementedYet,
    Overloaded,
    PayloadRejected,
    PerdureError,
    ServerFault,
    Unavailable,
    Violation,
    WorkflowCancelled,
    WorkflowFailed,
    WorkflowNotCompleted,
    WorkflowTerminated,
)
from perdure.events import Change, End, Event, Frame, FramesReset, Gap, Snapshot
from perdure.failure import Failure
from perdure.fan_out import ChildStep, MapStep, Page
from perdure.hook_facts import HookFacts, UnfinishedStep
from perdure.map_result import MapError, MapResult
from perdure.payloads import Payload
from perdure.reasons import ErrorReason
from perdure.resolution import Resolution
from perdure.resource_values import PermitHolder, Rate, Resource
from perdure.retry import Retry
from perdure.run import Run
from perdure.starting import StartSignal
from perdure.steps import Step, StepPolicy, WaitStep
from perdure.view import StepState, StepView, Workflow, WorkflowRef, WorkflowState
from perdure.waits import Condition, Wait, Wake, Woken
from perdure.worker.worker import Worker
from perdure.workflow_policy import WorkflowPolicy

__all__ = [
    "AccessDenied",
    "AlreadyExists",
    "Branch",
    "CallTimeout",
    "Change",
    "ChildStep",
    "Chosen",
    "ClaimLost",
    "Client",
    "Condition",
    "Conflict",
    "Context",
    "Definition",
    "DefinitionRejected",
    "End",
    "ErrorReason",
    "Event",
    "Failure",
    "Frame",
    "FramesReset",
    "Gap",
    "HookFacts",
    "InvalidRequest",
    "MapError",
    "MapResult",
    "MapStep",
    "NotAllowed",
    "NotFound",
    "NotImplementedYet",
    "Overloaded",
    "Page",
    "Payload",
    "PayloadRejected",
    "PerdureError",
    "PermitHolder",
    "Rate",
    "RegisteredDefinition",
    "Resolution",
    "Resource",
    "Retry",
    "Run",
    "ServerFault",
    "Signalled",
    "Snapshot",
    "StartSignal",
    "Step",
    "StepPolicy",
    "StepState",
    "StepView",
    "Unavailable",
    "UnfinishedStep",
    "Violation",
    "Wait",
    "WaitStep",
    "Wake",
    "Woken",
    "Worker",
    "Workflow",
    "WorkflowCancelled",
    "WorkflowFailed",
    "WorkflowNotCompleted",
    "WorkflowPolicy",
    "WorkflowRef",
    "WorkflowState",
    "WorkflowTerminated",
]
