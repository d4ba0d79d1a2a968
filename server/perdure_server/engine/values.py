"""What goes in and out of the engine: values only, so that rpc maps and the engine decides."""

from collections.abc import Mapping
from enum import IntEnum

from msgspec import Struct

from perdure_server.kernel.definition import Definition, HookKind, StepDefinition
from perdure_server.kernel.outcomes import Outcome
from perdure_server.kernel.rejection import Reason
from perdure_server.kernel.values import Failure, LossCause, Paused, Payload, Trace, Wake
from perdure_server.kernel.workflow import Event, StepState, Workflow, WorkflowKey, WorkflowState
from perdure_server.ports.coordination import Frame
from perdure_server.ports.store import Subscription


class Ref(Struct, frozen=True, omit_defaults=True):
    """Names a workflow: its key, and what the caller expects of it (`round` None = the current one)."""

    key: WorkflowKey
    round: int | None = None
    expected_fence: int | None = None


class Unserved(IntEnum):
    """Why nobody takes a READY step from its queue."""

    PAUSED = 1
    NO_WORKER = 2
    INCOMPATIBLE = 3


class QueueFact(Struct, frozen=True):
    """That nobody takes from a queue, why, and since when (ms)."""

    kind: Unserved
    since: int
    paused: Paused | None = None


class View(Struct, frozen=True, omit_defaults=True):
    """An instance with its definition; refs are resolved as far as the asker wanted. `facts` by queue id, of its `ready`.

    `sizes` only for one that was asked for by its key.
    """

    workflow: Workflow
    definition: Definition
    facts: Mapping[str, QueueFact] = {}
    sizes: tuple[int, int] | None = None  # bytes of its document, and of its payloads outside of it


def etag_of(workflow: Workflow) -> str:
    """What changes with every change of the instance."""
    return f"{workflow.run_id}.{workflow.revision}"


class Started(Struct, frozen=True):
    """The answer to a start."""

    workflow: Workflow
    created: bool
    superseded: Workflow | None = None  # the round that it took the key from


class Signalled(Struct, frozen=True):
    """The answer to a signal. `consumed` = a wait took it in the same write."""

    workflow: Workflow
    duplicate: bool
    consumed: bool


class CancelAccepted(Struct, frozen=True):
    """The answer to a cancel."""

    workflow: Workflow
    duplicate: bool


class Unfinished(Struct, frozen=True):
    """A step that had begun and is not completed when a hook runs."""

    step: str
    checkpoint: Payload | None
    idempotency_key: str
    state: StepState


class HookFacts(Struct, frozen=True):
    """What a hook step is told of the workflow. `compensates` is empty but for a compensation."""

    kind: HookKind
    required: bool
    compensates: str
    in_doubt: bool
    compensated_output: Payload | None
    compensated_key: str
    failure: Failure | None
    failed_step: str
    cancel_reason: str
    cancel_actor: str
    cancel_time: int | None
    unfinished: tuple[Unfinished, ...]


class GrantedClaim(Struct, frozen=True):
    """Everything that a claim message says. Durations in ms."""

    token: str
    key: WorkflowKey
    run_id: str
    round: int
    fence: int
    fingerprint: str
    plan: StepDefinition
    claim_no: int
    attempt: int
    generation: int
    pool: str
    inputs: Mapping[str, Payload]
    checkpoint: Payload | None
    checkpoint_no: int
    wakes: tuple[Wake, ...]
    lease_remaining: int
    attempt_remaining: int
    trace: Trace
    span_id: str
    labels: Mapping[str, str]
    idempotency_key: str
    wake_token: str
    begin_after_renewed: bool
    cancel_requested: bool
    last_failure: Failure | None
    failed_inputs: Mapping[str, Failure] = {}
    hook: HookFacts | None = None
    cursor: Payload | None = None
    stop_at_lease_end: bool = False  # it holds permits


class ResultIn(Struct, frozen=True, omit_defaults=True):
    """One result, on the stream or unary."""

    token: str
    outcome: Outcome
    want_next: bool = False
    last_frame_seq: int | None = None
    result_id: int = 0


class HeartbeatIn(Struct, frozen=True, omit_defaults=True):
    """One heartbeat. `has_checkpoint` with `checkpoint` None clears it. Frames carry no step and no claim_no yet (both empty or 0)."""

    token: str
    has_checkpoint: bool = False
    checkpoint: Payload | None = None
    checkpoint_no: int = 0
    frames: tuple[Frame, ...] = ()
    alive: bool = False
    heartbeat_id: int = 0


class HeldIn(Struct, frozen=True, omit_defaults=True):
    """One claim that a worker says it holds, and how long ago (ms) its activity showed life."""

    token: str
    since_alive: int | None = None


class Hello(Struct, frozen=True, omit_defaults=True):
    """How a worker introduces itself. `lease` in ms, 0 = the server's default."""

    namespace: str
    worker_id: str
    client: str
    pools: tuple[Subscription, ...]
    auto_ack: bool = False
    held_tokens: tuple[str, ...] = ()
    session_id: str = ""
    session_secret: str = ""
    lease: int = 0
    labels: dict[str, str] = {}
    capabilities: tuple[str, ...] = ()
    peer: str = ""  # where it connects from


class StepServed(Struct, frozen=True):
    """Whether one step of a pool is served: the fingerprints it is accepted for, or why not."""

    step: str
    contract: str
    fingerprints: tuple[str, ...]
    problem: Reason | None = None


class PoolServed(Struct, frozen=True):
    """The subscription status of one pool."""

    pool: str
    steps: tuple[StepServed, ...]


class Welcome(Struct, frozen=True):
    """The answer to hello. Durations in ms."""

    session_id: str
    session_secret: str
    resumed: bool
    connection_no: int
    lease: int
    renew_interval: int
    acknowledge_within: int
    pools: tuple[PoolServed, ...]
    lost: tuple[tuple[str, LossCause], ...] = ()
    cancel_tokens: tuple[str, ...] = ()


class ClaimsOut(Struct, frozen=True):
    """Claims for the worker."""

    claims: tuple[GrantedClaim, ...]


class CancelOut(Struct, frozen=True):
    """Stop this claim's activity. `grace` in ms; `reason` as `why_cancelled` says."""

    token: str
    grace: int
    reason: str


def why_cancelled(workflow: Workflow) -> str:
    """What an activity of this workflow that should stop is told: a code that programs branch on, not a person's words."""
    return "WORKFLOW_FAILING" if workflow.state is WorkflowState.FAILING else "WORKFLOW_CANCELLED"


class LostOut(Struct, frozen=True):
    """This token is no longer current."""

    token: str
    cause: LossCause


class RenewedOut(Struct, frozen=True):
    """The renewal was stored (`error` None) or could not be. `lease` in ms."""

    renew_id: int
    lease: int
    error: Exception | None = None


class SettledOut(Struct, frozen=True):
    """The answer to one result."""

    result_id: int
    duplicate: bool = False
    next_claims: tuple[GrantedClaim, ...] = ()
    error: Exception | None = None


class HeartbeatOut(Struct, frozen=True):
    """The answer to one heartbeat. `lease_remaining` in ms: how long the claim lives without another sign of its session."""

    heartbeat_id: int
    token: str
    cancel_requested: bool = False
    error: Exception | None = None
    lease_remaining: int = 0


class PoolsOut(Struct, frozen=True):
    """The accepted fingerprints of these pools changed (a definition was registered)."""

    pools: tuple[PoolServed, ...]


class GoAwayOut(Struct, frozen=True):
    """Leave: this server drains, or a newer connection of the session took over. `grace` in ms."""

    grace: int
    reason: Reason


StreamOut = ClaimsOut | CancelOut | LostOut | RenewedOut | SettledOut | HeartbeatOut | PoolsOut | GoAwayOut


class SnapshotItem(Struct, frozen=True):
    """Watch: the whole state now."""

    view: View
    resume_token: str


class ChangeItem(Struct, frozen=True):
    """Watch: one change. `view` is the state after the latest change of the batch, for outputs and waits."""

    event: Event
    view: View
    resume_token: str


class FrameItem(Struct, frozen=True):
    """Watch: one progress frame."""

    frame: Frame
    resume_token: str


class FramesResetItem(Struct, frozen=True):
    """Watch: what was shown of this step's claim is void."""

    step: str
    claim_no: int
    resume_token: str


class GapItem(Struct, frozen=True):
    """Watch: something is no longer retained; a snapshot follows if `changes`."""

    changes: bool
    frames: bool
    reason: str
    resume_token: str


class KeepAliveItem(Struct, frozen=True):
    """Watch: nothing happened for a while."""

    resume_token: str


class EndItem(Struct, frozen=True):
    """Watch: the end state; the stream ends after it."""

    view: View
    resume_token: str


WatchItem = SnapshotItem | ChangeItem | FrameItem | FramesResetItem | GapItem | KeepAliveItem | EndItem
