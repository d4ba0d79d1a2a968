"""What operators read: queues, workers, the audit trail and the server, as values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, TypeAlias, cast

from perdure.times import span_of
from perdure.v1 import admin_service_pb2, resource_pb2
from perdure.view import WorkflowRef, enum_name, phase_name, ref_of, time_of

Severity: TypeAlias = Literal["OK", "WARNING", "ERROR", "UNKNOWN"]


@dataclass(frozen=True, slots=True)
class Queue:
    """Ready and running steps of one kind; at most 1 s old."""

    queue: str
    workflow_type: str
    fingerprint: str
    step: str
    phase: str
    """QUEUED, NO_WORKER, INCOMPATIBLE or PAUSED; empty: nothing is ready."""
    ready: int
    throttled: int
    """Of the ready ones: lack permits."""
    running: int
    oldest_wait: timedelta | None
    """How long the first ready one has waited; None: none waits."""
    workers: int
    """Workers that serve it."""
    free_slots: int
    incompatible_workers: int
    """Workers of the type that were built for other contracts."""
    is_estimate: bool
    message: resource_pb2.Queue = field(repr=False)
    """All that the server told."""


@dataclass(frozen=True, slots=True)
class WorkerSession:
    """One session of a worker, as the server sees it."""

    worker_id: str
    session_id: str
    """Not its secret."""
    client_name: str
    client_version: str
    held: int
    """Claims that it holds."""
    is_draining: bool
    """It takes no more claims."""
    is_polling: bool
    """A session of PollClaims rather than of a stream."""
    server_id: str
    """Replica that it is connected to; empty: none now."""
    peer_address: str
    connect_time: datetime | None
    renew_time: datetime | None
    lease_end_time: datetime | None
    labels: Mapping[str, str]
    message: resource_pb2.Worker = field(repr=False)
    """All that the server told: pools, contracts, capabilities."""


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """Who did what, when."""

    record_id: str
    time: datetime | None
    actor: str
    """The proved name; where the server has no access file, what the call says of itself (`perdure-actor`), if anything."""
    method: str
    """The RPC, such as `TerminateWorkflow`."""
    workflow: WorkflowRef | None
    target: str
    """Another thing than a workflow: a definition, resource, schedule, batch; empty: none."""
    reason: str
    request_id: str
    problem: str
    """Why it was refused; empty: it was done."""
    facts: Mapping[str, str]
    peer_address: str
    message: resource_pb2.AuditRecord = field(repr=False)
    """All that the server told."""


@dataclass(frozen=True, slots=True)
class ServerCheck:
    """One thing that the server looked at."""

    name: str
    """Such as `store.write_concern`."""
    severity: Severity
    finding: str
    """What was found, for people."""
    remedy: str
    """What to do about it; empty: nothing."""


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """The server that answered."""

    server_version: str
    server_id: str
    """Which replica."""
    start_time: datetime | None
    store_time: datetime | None
    """Store time when it answered, as this server estimates it."""
    store_time_uncertainty: timedelta | None
    """How far that may be off; None: it did not say."""
    store: str
    """Kind and version."""
    durability: str
    """What an OK means there, in a sentence."""
    is_store_healthy: bool
    coordination: str
    """Kind and version."""
    is_coordination_healthy: bool
    is_draining: bool
    is_dev: bool
    """It is `perdure dev`."""
    capabilities: tuple[str, ...]
    unimplemented_methods: tuple[str, ...]
    checks: tuple[ServerCheck, ...]
    """What was looked at, worst first; `perdure doctor` prints it."""
    defaults: admin_service_pb2.ServerDefaults = field(repr=False)
    limits: admin_service_pb2.ServerLimits = field(repr=False)
    message: admin_service_pb2.GetServerInfoResponse = field(repr=False)
    """All that the server told."""


def queue_of(message: resource_pb2.Queue) -> Queue:
    """The value of a message."""
    return Queue(
        queue=message.queue,
        workflow_type=message.workflow_type,
        fingerprint=message.definition_fingerprint,
        step=message.step,
        phase=phase_name(message.phase),
        ready=message.ready_count,
        throttled=message.throttled_count,
        running=message.running_count,
        oldest_wait=span_of(message, "oldest_wait"),
        workers=message.worker_count,
        free_slots=message.free_slots,
        incompatible_workers=message.incompatible_worker_count,
        is_estimate=message.estimate,
        message=message,
    )


def worker_of(message: resource_pb2.Worker) -> WorkerSession:
    """The value of a message."""
    return WorkerSession(
        worker_id=message.worker_id,
        session_id=message.session_id,
        client_name=message.client_name,
        client_version=message.client_version,
        held=message.held_count,
        is_draining=message.draining,
        is_polling=message.polling,
        server_id=message.server_id,
        peer_address=message.peer_address,
        connect_time=time_of(message.connect_time),
        renew_time=time_of(message.renew_time),
        lease_end_time=time_of(message.lease_end_time),
        labels=dict(message.labels),
        message=message,
    )


def audit_of(message: resource_pb2.AuditRecord) -> AuditRecord:
    """The value of a message."""
    return AuditRecord(
        record_id=message.record_id,
        time=time_of(message.record_time),
        actor=message.actor,
        method=message.method,
        workflow=ref_of(message.workflow) if message.HasField("workflow") else None,
        target=message.target,
        reason=message.reason,
        request_id=message.request_id,
        problem=message.status.message if message.status.code else "",
        facts=dict(message.facts),
        peer_address=message.peer_address,
        message=message,
    )


def server_info_of(message: admin_service_pb2.GetServerInfoResponse) -> ServerInfo:
    """The value of a message."""
    store, coordination = message.store.backend, message.coordination
    return ServerInfo(
        server_version=message.server_version,
        server_id=message.server_id,
        start_time=time_of(message.start_time),
        store_time=time_of(message.store_time),
        store_time_uncertainty=span_of(message, "store_time_uncertainty"),
        store=f"{store.name} {store.version}".strip(),
        durability=message.store.durability,
        is_store_healthy=store.healthy,
        coordination=f"{coordination.name} {coordination.version}".strip(),
        is_coordination_healthy=coordination.healthy,
        is_draining=message.draining,
        is_dev=message.dev,
        capabilities=tuple(message.capabilities),
        unimplemented_methods=tuple(message.unimplemented_methods),
        checks=tuple(_check_of(check) for check in message.checks),
        defaults=message.defaults,
        limits=message.limits,
        message=message,
    )


def _check_of(message: admin_service_pb2.ServerCheck) -> ServerCheck:
    name = enum_name(admin_service_pb2.ServerCheck.Severity, message.severity, "SEVERITY_")
    severity = cast("Severity", name if name in {"OK", "WARNING", "ERROR"} else "UNKNOWN")
    return ServerCheck(message.name, severity, message.finding, message.remedy)
