"""What workers send. The hottest messages of all: fields are read one by one, and paths are made only where something is wrong."""

from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from perdure.v1 import claim_pb2, worker_service_pb2
from perdure.v1.watch_pb2 import Frame as WireFrame
from perdure_server.engine.values import HeartbeatIn, HeldIn, Hello, ResultIn
from perdure_server.kernel import limits
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.outcomes import Cancelled, Completed, Failed, Outcome, Released, Waiting
from perdure_server.kernel.policy_validation import QUEUE_NAME
from perdure_server.kernel.rejection import FieldViolation
from perdure_server.kernel.validation import STEP_NAME, TYPE_NAME
from perdure_server.kernel.values import Payload
from perdure_server.ports.coordination import Frame
from perdure_server.ports.store import Subscription
from perdure_server.rpc.decode import children, values
from perdure_server.rpc.faults import Faults

ResultMessage = worker_service_pb2.Result | worker_service_pb2.CompleteRequest
HeartbeatMessage = worker_service_pb2.StreamHeartbeat | worker_service_pb2.HeartbeatRequest
Offered = Sequence[Definition | FieldViolation]
HelloMessage = worker_service_pb2.Hello | worker_service_pb2.PollClaimsRequest

_FRAME_KINDS: Final = frozenset({WireFrame.KIND_TEXT, WireFrame.KIND_PROGRESS, WireFrame.KIND_LOG})


def result(message: ResultMessage, result_id: int = 0) -> ResultIn:
    """One result, unary or of a stream. Raises FieldViolation, with paths inside the result."""
    faults = Faults()
    kind = message.WhichOneof("outcome")
    decoder = _OUTCOMES.get(kind or "")
    outcome: Outcome = Cancelled()
    if decoder is not None:
        outcome = decoder(message, faults)
    else:
        faults.add("outcome", "is not set")
    last_frame_seq = message.last_frame_seq if message.HasField("last_frame_seq") else None
    if last_frame_seq is not None and last_frame_seq < 0:
        faults.add("last_frame_seq", "must not be negative")
    faults.check()
    return ResultIn(message.claim_token, outcome, message.want_next, last_frame_seq, result_id)


def heartbeat(message: HeartbeatMessage, heartbeat_id: int = 0) -> HeartbeatIn:
    """One heartbeat, unary or of a stream. Raises FieldViolation, with paths inside the heartbeat."""
    faults = Faults()
    has_checkpoint = message.HasField("checkpoint")
    checkpoint = values.payload(message.checkpoint, "checkpoint", faults) if has_checkpoint else None
    if message.checkpoint_no < 0:
        faults.add("checkpoint_no", "must not be negative")
    frames = _frames(message.frames, faults) if message.frames else ()
    faults.check()
    return HeartbeatIn(message.claim_token, has_checkpoint, checkpoint, message.checkpoint_no, frames, message.alive, heartbeat_id)


def held(messages: Sequence[claim_pb2.HeldClaim], field: str = "held") -> list[HeldIn]:
    """The claims that a worker says it runs. Raises FieldViolation."""
    faults = Faults()
    found: list[HeldIn] = []
    for message in messages:
        since = 0  # absent: just now
        if message.HasField("since_alive"):
            since = values.duration(message.since_alive, f"{field}[{len(found)}].since_alive", faults)
        found.append(HeldIn(message.claim_token, since))
    faults.check()
    return found


def hello(message: worker_service_pb2.Hello, definitions: Offered) -> Hello:
    """The introduction of a worker; `definitions` are those that it brought along. Raises FieldViolation."""
    faults = Faults()
    namespace, pools = _pools(message, definitions, faults)
    lease = values.duration(message.lease, "lease", faults) if message.HasField("lease") else 0
    labels = values.labels(message.labels, "labels", faults, limits.WORKER_LABELS)
    faults.check("hello.")
    return Hello(
        namespace=namespace,
        worker_id=message.worker_id,
        client=_client(message),
        pools=pools,
        auto_ack=message.auto_ack,
        held_tokens=tuple(message.held_claim_tokens),
        session_id=message.session_id,
        session_secret=message.session_secret,
        lease=lease,
        labels=labels,
        capabilities=_capabilities(message),
    )


def poll(message: worker_service_pb2.PollClaimsRequest, definitions: Offered) -> tuple[Hello, int, int]:
    """A unary poll: who asks, for how many claims, waiting how long (ms). Raises FieldViolation."""
    faults = Faults()
    namespace, pools = _pools(message, definitions, faults)
    if not message.pools:
        faults.add("pools", "is empty")
    if not 0 <= message.max_claims <= limits.POLL_CLAIMS_MAX:
        faults.add("max_claims", f"must be from 0 (= 1) to {limits.POLL_CLAIMS_MAX}")
    lease = poll_lease(message, faults)
    wait = values.duration(message.wait_time, "wait_time", faults) if message.HasField("wait_time") else 0
    if wait > limits.POLL_WAIT_MAX:
        faults.add("wait_time", f"must be at most {limits.POLL_WAIT_MAX} ms")
    faults.check()
    asked = Hello(namespace=namespace, worker_id=message.worker_id, client=_client(message), pools=pools, auto_ack=True, lease=lease)
    asked = replace(asked, capabilities=_capabilities(message))
    return asked, message.max_claims or 1, wait


def poll_lease(message: worker_service_pb2.PollClaimsRequest | worker_service_pb2.RenewClaimsRequest, faults: Faults) -> int:
    """The lease wished for in ms; 0 = the default, or as granted."""
    if not message.HasField("lease"):
        return 0
    lease = values.duration(message.lease, "lease", faults)
    if not limits.SESSION_LEASE_MIN <= lease <= limits.POLL_LEASE_MAX:
        faults.add("lease", f"must be from {limits.SESSION_LEASE_MIN} to {limits.POLL_LEASE_MAX} ms")
    return lease


def outcome(kind: str, message: ResultMessage, faults: Faults) -> Outcome:
    """The outcome of this kind in a result."""
    return _OUTCOMES[kind](message, faults)


def _completed(message: ResultMessage, faults: Faults) -> Completed:
    return completed(message.completed, "completed", faults)


def completed(message: claim_pb2.Completed, field: str, faults: Faults) -> Completed:
    """A step's output and the branches that are taken."""
    if len(message.choose) > limits.STEPS:
        faults.add(f"{field}.choose", f"has more than {limits.STEPS} entries")
    output = values.payload(message.output, f"{field}.output", faults) if message.HasField("output") else None
    return Completed(output, tuple(dict.fromkeys(message.choose)))


def _failed(message: ResultMessage, faults: Faults) -> Failed:
    return Failed(values.failure(message.failed, "failed", faults))


def _waiting(message: ResultMessage, faults: Faults) -> Waiting:
    waiting = message.waiting
    checkpoint, keep = _checkpoint(waiting, "waiting.checkpoint", faults)
    return Waiting(values.wait(waiting.wait, "waiting.wait", faults), checkpoint, keep)


def _released(message: ResultMessage, faults: Faults) -> Released:
    return Released(*_checkpoint(message.released, "released.checkpoint", faults))


def _cancelled(message: ResultMessage, faults: Faults) -> Cancelled:
    return Cancelled(*_checkpoint(message.cancelled, "cancelled.checkpoint", faults))


def _checkpoint(
    message: claim_pb2.Waiting | claim_pb2.Released | claim_pb2.Cancelled, field: str, faults: Faults
) -> tuple[Payload | None, bool]:
    # Absent = keep what is stored; without data = clear it.
    if not message.HasField("checkpoint"):
        return None, True
    return values.payload(message.checkpoint, field, faults), False


_OUTCOMES: Final[dict[str, Callable[[ResultMessage, Faults], Outcome]]] = {
    "completed": _completed,
    "failed": _failed,
    "waiting": _waiting,
    "released": _released,
    "cancelled": _cancelled,
    "page": lambda message, faults: children.page(message.page, "page", faults),
}


def _frames(messages: Sequence[claim_pb2.FrameUpload], faults: Faults) -> tuple[Frame, ...]:
    if len(messages) > limits.FRAMES_PER_CALL:
        faults.add("frames", f"has more than {limits.FRAMES_PER_CALL} entries")
    found = []
    for index, message in enumerate(messages):
        if message.seq < 1:
            faults.add(f"frames[{index}].seq", "must be at least 1")
        if message.kind not in _FRAME_KINDS:
            faults.add(f"frames[{index}].kind", "must be KIND_TEXT, KIND_PROGRESS or KIND_LOG")
        content = values.payload(message.payload, f"frames[{index}].payload", faults, limits.FRAME_PAYLOAD)
        found.append(Frame("", 0, message.seq, int(message.kind), 0, content))
    return tuple(found)


def _pools(message: HelloMessage, definitions: Offered, faults: Faults) -> tuple[str, tuple[Subscription, ...]]:
    values.identifier(message.worker_id, "worker_id", faults, required=True)
    if len(message.pools) > limits.POOLS:
        faults.add("pools", f"has more than {limits.POOLS} entries")
    names = [pool.pool for pool in message.pools]
    if len(set(names)) != len(names):
        faults.add("pools", "names a pool twice")
    namespace = values.namespace(message.namespace, "namespace", faults)
    for index, pool in enumerate(message.pools):
        if pool.namespace not in {"", namespace}:
            text = f"must be empty or {namespace!r}, that of the session: a worker opens one session for each namespace that it serves"
            faults.add(f"pools[{index}].namespace", text)
    return namespace, tuple(_pool(pool, f"pools[{index}]", definitions, faults) for index, pool in enumerate(message.pools))


def _pool(message: claim_pb2.Pool, field: str, definitions: Offered, faults: Faults) -> Subscription:
    values.identifier(message.pool, f"{field}.pool", faults, required=True)
    queue = message.queue or "default"
    values.name(queue, f"{field}.queue", QUEUE_NAME, faults)
    values.name(message.workflow_type, f"{field}.workflow_type", TYPE_NAME, faults)
    if not 0 <= message.slots <= limits.CREDIT:
        faults.add(f"{field}.slots", f"must be from 0 to {limits.CREDIT}")
    contracts = _contracts(message, field, definitions, faults)
    return Subscription(message.pool, queue, message.workflow_type, contracts, message.slots)


def _contracts(message: claim_pb2.Pool, field: str, definitions: Offered, faults: Faults) -> dict[str, str]:
    contracts = dict(message.step_contracts)
    if len(contracts) > limits.STEPS:
        faults.add(f"{field}.step_contracts", f"has more than {limits.STEPS} entries")
    for name, contract in contracts.items():
        values.name(name, f"{field}.step_contracts", STEP_NAME, faults)
        if len(contract) > limits.ID_LENGTH:
            faults.add(f"{field}.step_contracts", f"has a contract of more than {limits.ID_LENGTH} characters, for step {name!r}")
    for name in message.steps:
        values.name(name, f"{field}.steps", STEP_NAME, faults)
    if message.HasField("definition_index"):
        if 0 <= message.definition_index < len(definitions):
            return contracts | _built_for(definitions[message.definition_index], message, field, faults)
        faults.add(f"{field}.definition_index", "points to no definition of this hello")
        return contracts
    if message.any_contract:
        return contracts | dict.fromkeys(message.steps, "")
    if message.steps:
        faults.add(f"{field}.steps", "needs definition_index or any_contract; a deployed worker names step_contracts")
    elif not contracts:
        faults.add(f"{field}.step_contracts", "is empty: name step_contracts, or definition_index, or any_contract")
    return contracts


def _built_for(definition: Definition | FieldViolation, message: claim_pb2.Pool, field: str, faults: Faults) -> dict[str, str]:
    if isinstance(definition, FieldViolation):
        faults.merge(definition, f"definitions[{message.definition_index}].")
        return {}
    if definition.workflow_type != message.workflow_type:
        faults.add(f"{field}.definition_index", f"points to a definition of type {definition.workflow_type!r}")
    found = {step.name: step.contract for step in definition.steps if step.by_worker}
    if not message.steps:
        return found
    for step in message.steps:
        if step not in found:
            faults.add(f"{field}.steps", f"names no activity of the definition: {step!r}")
    return {step: found.get(step, "") for step in message.steps}


def _capabilities(message: HelloMessage) -> tuple[str, ...]:
    # For people: unknown names are ignored, so neither too many nor too long ones are a fault.
    return tuple(name[: limits.ID_LENGTH] for name in message.capabilities[: limits.WORKER_CAPABILITIES])


def _client(message: HelloMessage) -> str:
    return f"{message.client_name[: limits.ID_LENGTH]}/{message.client_version[: limits.ID_LENGTH]}".strip("/")
