"""Starting: the first start wins, a repeat meets what is there."""

from enum import IntEnum

from msgspec import Struct
from msgspec.structs import replace

from perdure_server.kernel import limits
from perdure_server.kernel.child_state import Parent
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.effects import Effect, WorkflowStarted
from perdure_server.kernel.progress import open_step
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.signals import deposit
from perdure_server.kernel.transitions import StepEvent
from perdure_server.kernel.values import Payload, Trace
from perdure_server.kernel.workflow import Signal, StepState, Workflow, WorkflowKey, WorkflowState


class OnOpen(IntEnum):
    """What a start does when the key has an open workflow."""

    USE_EXISTING = 1
    REJECT = 2
    SUPERSEDE = 3


class OnClosed(IntEnum):
    """What a start does when the key's workflow has ended."""

    USE_EXISTING = 1
    NEW_ROUND = 2
    NEW_ROUND_IF_FAILED = 3
    REJECT = 4


class Start(Struct, frozen=True, omit_defaults=True):
    """A start command. `run_id` and `trace` are minted before the first try; `input_digest` is kernel.canonical's."""

    key: WorkflowKey
    run_id: str
    trace: Trace
    wake_secret: str = ""
    input: Payload | None = None
    input_digest: bytes = b""
    request_id: str = ""
    on_open: OnOpen = OnOpen.USE_EXISTING
    on_closed: OnClosed = OnClosed.USE_EXISTING
    start_at: int | None = None
    labels: dict[str, str] = {}
    priority: int | None = None
    queue: str = ""
    step_queues: dict[str, str] = {}
    fairness_key: str = ""
    fairness_weight: float = 1.0
    workflow_timeout: int | None = None
    retention: int | None = None
    signals: tuple[Signal, ...] = ()
    parent: Parent | None = None  # set by the engine only: a map or child step starts it
    expected_fence: int | None = None  # of the round that is there; not compared if there is none
    schedule_id: str = ""


def begin(definition: Definition, command: Start, now: int) -> tuple[Workflow, tuple[Effect, ...]]:
    """The first round of a key, as one value."""
    draft = Draft(definition, blank(definition, command, now), now)
    populate(draft, command)
    return draft.finish(), tuple(draft.effects)


def blank(definition: Definition, command: Start, now: int) -> Workflow:
    """The first round before anything has happened: no steps, no events, revision 0."""
    timeout = command.workflow_timeout if command.workflow_timeout is not None else definition.workflow_timeout
    begins = max(now, command.start_at or now)
    return Workflow(
        key=command.key,
        run_id=command.run_id,
        round=1,
        fence=now,
        revision=0,
        state=WorkflowState.RUNNING,
        update_time=now,
        start_time=now,
        fingerprint=definition.fingerprint,
        steps={},
        remaining=len(definition.ordinary),
        step_count=len(definition.steps),
        trace=command.trace,
        policy_revision=definition.policy_revision,
        wake_secret=command.wake_secret,
        input=command.input,
        input_digest=command.input_digest,
        request_ids=(command.request_id,) if command.request_id else (),
        deadline=min(begins + timeout, limits.TIME) if timeout is not None else None,
        timeout=command.workflow_timeout,
        labels=command.labels,
        priority=limits.PRIORITY if command.priority is None else command.priority,
        queue=command.queue,
        step_queues=command.step_queues,
        fairness_key=command.fairness_key,
        fairness_weight=command.fairness_weight,
        parent=command.parent,
        retention=_retention(command, definition),
        schedule_id=command.schedule_id,
        start_at=begins if begins > now else None,
    )


def _retention(command: Start, definition: Definition) -> int:
    if command.retention is not None:
        return command.retention
    return limits.RETENTION if definition.retention is None else definition.retention


def populate(draft: Draft, command: Start) -> None:
    """Bring a blank instance to life: its signals, then its first steps."""
    now = draft.now
    begins = max(now, command.start_at or now)
    draft.effects.append(WorkflowStarted())
    draft.note_workflow(WorkflowState.RUNNING, "START")
    for signal in command.signals:
        if signal.signal_id not in draft.get("signal_ids", ()):
            deposit(draft, replace(signal, time=now))
    for name in draft.definition.roots:
        if begins > now:
            draft.move(name, StepEvent.DELAY, StepState.BACKOFF, due=begins)
        else:
            open_step(draft, name, StepEvent.UNBLOCK)


def meet(existing: Workflow, command: Start) -> bool:
    """What a start says to the workflow that has its key. True = this very command began it. Raises Rejection; never changes anything.

    Not asked when it opens a round (kernel.rounds).
    """
    if existing.run_id == command.run_id or command.run_id in existing.past_runs:
        return True
    require_fence(existing, command)
    asked = known_digest(existing, command.request_id)
    rejects = command.on_closed is OnClosed.REJECT if existing.is_ended else command.on_open is OnOpen.REJECT
    if rejects and asked is None:
        raise Rejection(
            Reason.WORKFLOW_ALREADY_EXISTS,
            "A workflow with this business key exists and the start policy is REJECT.",
            state=existing.state.name,
            round=str(existing.round),
        )
    if command.input_digest != (existing.input_digest if asked is None else asked):
        raise Rejection(
            Reason.START_INPUT_MISMATCH,
            "A workflow with this business key exists with another input; it was left as it is.",
            round=str(existing.round),
            conflict="business_key" if asked is None else "request_id",
        )
    return False


def require_fence(existing: Workflow, command: Start) -> None:
    """Raise Rejection FENCED if the start expects another fence. A repeat is none the less one: it has perhaps changed the fence itself."""
    if command.expected_fence in (None, existing.fence) or known_digest(existing, command.request_id) is not None:
        return
    raise Rejection(Reason.FENCED, "The key's last round has another fence than expected: read again.", fence=str(existing.fence))


def known_digest(existing: Workflow, request_id: str) -> bytes | None:
    """The input of the start that this request id is remembered for, in whichever round; None = not remembered."""
    if not request_id or request_id not in existing.request_ids:
        return None
    return next((past.input_digest for past in existing.past_requests if past.request_id == request_id), existing.input_digest)
