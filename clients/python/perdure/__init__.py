"""Perdure: durable workflows. Start at `Definition`, `Client` and `Context`."""

from perdure.answers import RegisteredDefinition, Replayed, Signalled
from perdure.attempts import Attempt
from perdure.batch_values import Batch, BatchOperation, BatchState
from perdure.branches import Branch, Chosen
from perdure.client import Client
from perdure.codec import Codec
from perdure.context import Context
from perdure.counting import Count
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
    PayloadUndecodable,
    PerdureError,
    ServerFault,
    Unavailable,
    Violation,
    WorkflowCancelled,
    WorkflowFailed,
    WorkflowNotCompleted,
    WorkflowTerminated,
)
from perdure.events import Change, End, Event, Frame, FramesReset, Gap, Idle, Snapshot
from perdure.explanation import Blocker, Explanation, StepExplanation
from perdure.failure import Failure
from perdure.fan_out import ChildStep, MapStep, Page
from perdure.filtering import Filter
from perdure.hook_facts import HookFacts, UnfinishedStep
from perdure.many_events import ExistingSent, ManyEvent, ManyIdle, StartOver, WorkflowChanged, WorkflowRemoved
from perdure.map_result import MapError, MapResult
from perdure.migration_values import Migration
from perdure.namespace_values import Namespace, NamespaceLimits
from perdure.operation_values import AuditRecord, Queue, ServerInfo, WorkerSession
from perdure.payloads import Payload
from perdure.polling import PolledClaim
from perdure.reasons import ErrorReason
from perdure.resolution import Resolution
from perdure.resource_values import PermitHolder, Rate, Resource
from perdure.retry import Retry
from perdure.run import Run
from perdure.schedule_values import Cron, Every, Firing, Schedule, ScheduledStart, ScheduleTimes
from perdure.security import Tls
from perdure.starting import Start, StartSignal
from perdure.steps import Step, StepPolicy, WaitStep
from perdure.view import StepState, StepView, Workflow, WorkflowRef, WorkflowState
from perdure.waits import Condition, Wait, Wake, Woken
from perdure.worker.worker import Worker
from perdure.workflow_policy import WorkflowPolicy

__all__ = [
    "AccessDenied",
    "AlreadyExists",
    "Attempt",
    "AuditRecord",
    "Batch",
    "BatchOperation",
    "BatchState",
    "Blocker",
    "Branch",
    "CallTimeout",
    "Change",
    "ChildStep",
    "Chosen",
    "ClaimLost",
    "Client",
    "Codec",
    "Condition",
    "Conflict",
    "Context",
    "Count",
    "Cron",
    "Definition",
    "DefinitionRejected",
    "End",
    "ErrorReason",
    "Event",
    "Every",
    "ExistingSent",
    "Explanation",
    "Failure",
    "Filter",
    "Firing",
    "Frame",
    "FramesReset",
    "Gap",
    "HookFacts",
    "Idle",
    "InvalidRequest",
    "ManyEvent",
    "ManyIdle",
    "MapError",
    "MapResult",
    "MapStep",
    "Migration",
    "Namespace",
    "NamespaceLimits",
    "NotAllowed",
    "NotFound",
    "NotImplementedYet",
    "Overloaded",
    "Page",
    "Payload",
    "PayloadRejected",
    "PayloadUndecodable",
    "PerdureError",
    "PermitHolder",
    "PolledClaim",
    "Queue",
    "Rate",
    "RegisteredDefinition",
    "Replayed",
    "Resolution",
    "Resource",
    "Retry",
    "Run",
    "Schedule",
    "ScheduleTimes",
    "ScheduledStart",
    "ServerFault",
    "ServerInfo",
    "Signalled",
    "Snapshot",
    "Start",
    "StartOver",
    "StartSignal",
    "Step",
    "StepExplanation",
    "StepPolicy",
    "StepState",
    "StepView",
    "Tls",
    "Unavailable",
    "UnfinishedStep",
    "Violation",
    "Wait",
    "WaitStep",
    "Wake",
    "Woken",
    "Worker",
    "WorkerSession",
    "Workflow",
    "WorkflowCancelled",
    "WorkflowChanged",
    "WorkflowFailed",
    "WorkflowNotCompleted",
    "WorkflowPolicy",
    "WorkflowRef",
    "WorkflowRemoved",
    "WorkflowState",
    "WorkflowTerminated",
]
