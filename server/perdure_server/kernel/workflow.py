"""The instance: one immutable value that holds everything that decides about one workflow.

A step that is BLOCKED is not in `steps`, unless a replay reopened it.
What the store writes is found by comparing two instances field by field, by identity.
"""

import hashlib
from enum import IntEnum
from functools import cached_property

from msgspec import Struct

from perdure_server.kernel import limits, values
from perdure_server.kernel.child_state import Children, Parent
from perdure_server.kernel.definition import StepOptions
from perdure_server.kernel.values import Failure, LossCause, Payload, Trace, Wake

Paused = values.Paused  # of a workflow; a definition has one, too


class WorkflowState(IntEnum):
    """Where a workflow stands."""

    RUNNING = 1
    CANCELLING = 2
    FAILING = 3
    PREPARING_REPLAY = 4
    COMPLETED = 5
    FAILED = 6
    CANCELLED = 7
    TERMINATED = 8


ENDED = frozenset({WorkflowState.COMPLETED, WorkflowState.FAILED, WorkflowState.CANCELLED, WorkflowState.TERMINATED})


class StepState(IntEnum):
    """Where a step stands."""

    BLOCKED = 1
    READY = 2
    RUNNING = 3
    WAITING = 4
    BACKOFF = 5
    CANCELLING = 6
    HELD = 7
    COMPLETED = 8
    FAILED = 9
    CANCELLED = 10
    SKIPPED = 11
    COMPENSATED = 12


STEP_ENDS = frozenset({StepState.COMPLETED, StepState.FAILED, StepState.CANCELLED, StepState.SKIPPED, StepState.COMPENSATED})
CLAIMED = frozenset({StepState.RUNNING, StepState.CANCELLING})


class DutyKind(IntEnum):
    """What has still to be done about a stored change."""

    ACTIVATE_ROUND = 1
    FREE_PAYLOADS = 2  # of the run that `subject` names, which is gone
    REMOVE_ROUNDS = 3  # the archived ones up to this round
    REMOVE_ROUND = 4  # this archived one
    TELL_PARENT = 11  # that this child has ended
    TEND_CHILDREN = 12  # create the open children of the step that `subject` names, and count those whose end got lost
    CLOSE_CHILDREN = 13  # cancel or terminate those that `subject` names (child_state.Closing)


class Duty(Struct, frozen=True, omit_defaults=True):
    """Something outside of this document that must be done, at once and again from `due` on, until it is known to be done.

    `round` is the round that caused it, `subject` what it is about in its kind's own words (a step, a child). The three name it.
    """

    kind: DutyKind
    round: int
    due: int
    tries: int = 0
    subject: str = ""

    @property
    def name(self) -> tuple[DutyKind, int, str]:
        """What tells it from the other duties of its document."""
        return self.kind, self.round, self.subject


class PastRequest(Struct, frozen=True):
    """A start request of an earlier round, so that its repeat is recognised and is not taken for one of this round."""

    request_id: str
    round: int
    input_digest: bytes


class WorkflowKey(Struct, frozen=True, dict=True):
    """The identity that callers choose."""

    namespace: str
    workflow_type: str
    business_key: str

    @cached_property
    def workflow_id(self) -> bytes:
        """The store's `_id`: first 16 bytes of SHA-256 over the length-prefixed parts."""
        digest = hashlib.sha256()
        for part in (self.namespace, self.workflow_type, self.business_key):
            encoded = part.encode()
            digest.update(len(encoded).to_bytes(4, "big"))
            digest.update(encoded)
        return digest.digest()[:16]


def round_id(workflow_id: bytes, number: int) -> bytes:
    """The `_id` of an archived round: first 16 bytes of SHA-256 over ("round", the key's id, the round)."""
    return hashlib.sha256(b"round" + workflow_id + number.to_bytes(8, "big")).digest()[:16]


class HeldPermit(Struct, frozen=True, omit_defaults=True):
    """Units of a resource that a claim holds, and in which document of it they are: of which key, in which stripe."""

    resource: str
    units: int
    key: str = ""
    stripe: int = 0
    kept: bool = True  # False: starts of a rate only, so there is nothing to give back


class Throttle(Struct, frozen=True, omit_defaults=True):
    """A READY step lacks permits: of which resource, of which key of it, since when."""

    resource: str
    since: int
    key: str = ""


class Claim(Struct, frozen=True, omit_defaults=True):
    """The right to run one step once. `nonce` is the secret part of the claim token."""

    nonce: str
    session_id: str
    granted: int
    deadline: int
    span_id: str = ""
    connection_no: int = 0  # of the session's stream that was granted it; 0 = granted by a unary call
    acknowledged: bool = False
    worker_id: str = ""  # for people only
    permits: tuple[HeldPermit, ...] = ()  # held as long as the claim lasts


class Settled(Struct, frozen=True, omit_defaults=True):
    """What is remembered of a token that is no longer current: its outcome's digest, or why it was lost."""

    nonce: str
    digest: bytes = b""
    cause: LossCause = LossCause.UNKNOWN
    next_claims: tuple[tuple[str, int], ...] = ()  # (step, claim_no) granted in the same write


class OpenCondition(Struct, frozen=True, omit_defaults=True):
    """A condition of an open wait, with its time made absolute."""

    name: str
    signal: str = ""
    count: int = 1
    due: int | None = None


class AttemptError(Struct, frozen=True, omit_defaults=True):
    """One failed attempt, kept with the step (the last 10)."""

    attempt: int
    claim_no: int
    time: int
    failure: Failure
    worker_id: str = ""  # who had it


class Step(Struct, frozen=True, omit_defaults=True):
    """One step of one instance. `since` is when it entered its state; `attempt` counts charged executions of this generation."""

    state: StepState
    since: int
    generation: int = 0
    claim_no: int = 0
    attempt: int = 0
    started: int | None = None
    ended: int | None = None
    claim: Claim | None = None
    due: int | None = None
    wait: tuple[OpenCondition, ...] = ()
    wakes: tuple[Wake, ...] = ()
    output: Payload | None = None
    checkpoint: Payload | None = None
    checkpoint_no: int = 0
    checkpoint_claim_no: int = 0
    failure: Failure | None = None
    errors: tuple[AttemptError, ...] = ()
    lost_claims: int = 0
    idle_returns: int = 0  # undelivered or released without a new checkpoint, in a row
    waits: int = 0
    failures: int = 0  # charged attempts that failed, were lost or timed out, over its life
    releases: int = 0
    undelivered: int = 0
    settled: tuple[Settled, ...] = ()
    last_frame_seq: int | None = None
    end_seq: int = 0  # the event in which it ended: the order in which steps completed
    step_deadline: int | None = None  # of the step in all its attempts; None while a wait is not counted
    step_left: int | None = None  # what a wait left of it
    skipped_by: str = ""  # the step whose choice or failure skipped this one
    skip_spreads: bool = False  # skipped by a failure: whatever depends on it is skipped, too
    chosen: tuple[str, ...] = ()
    compensates: str = ""  # of a compensation: the step that it undoes now
    in_doubt: bool = False  # its compensation was begun by a worker, and has not completed: it may be undone
    total_attempts: int = 0  # charged before the attempts began anew: by a replay, by a person, or with a page of children
    children: Children | None = None  # of a map or child step that has begun
    throttled: Throttle | None = None  # READY, and known to lack permits
    queue_left: int | None = None  # what a throttle left of its queue time
    permit_waits: int = 0
    permit_wait_time: int = 0


class Tombstone(Struct, frozen=True, omit_defaults=True):
    """What is left of a removed key says so. `deleted`: by a person, so that the key is free; otherwise retention was over."""

    since: int
    deleted: bool = False


class Signal(Struct, frozen=True, omit_defaults=True):
    """A stored signal that nothing has consumed yet."""

    signal_id: str
    name: str
    time: int
    payload: Payload | None = None


class Event(Struct, frozen=True, array_like=True):
    """One state change, as Watch tells it. `step` empty = the workflow's own state. `seq` rises by one per run."""

    seq: int
    time: int
    step: str
    state: int
    reason: str = ""
    claim_no: int = 0
    attempt: int = 0
    last_frame_seq: int | None = None
    failure_type: str = ""
    failure_message: str = ""


class Workflow(Struct, frozen=True, omit_defaults=True):
    """One execution of one business key.

    `wake_time`, `ready` and `sessions` are derived when a change is sealed: when the sweep must look at it, the queues in which it has
    READY steps, and the sessions that hold its claims.
    """

    key: WorkflowKey
    run_id: str  # 24 hex digits
    round: int
    fence: int
    revision: int
    state: WorkflowState
    update_time: int
    start_time: int
    fingerprint: str
    steps: dict[str, Step]
    remaining: int  # steps that have not ended, BLOCKED ones included
    step_count: int
    trace: Trace
    policy_revision: int = 1
    wake_secret: str = ""  # what this run's wake tokens are made with; never leaves the document
    input: Payload | None = None
    input_digest: bytes = b""
    request_ids: tuple[str, ...] = ()  # the last start requests of the key, over its rounds
    past_requests: tuple[PastRequest, ...] = ()  # those among them that are of earlier rounds
    output: Payload | None = None
    failure: Failure | None = None
    failed_step: str = ""
    end_time: int | None = None
    deadline: int | None = None
    grace_deadline: int | None = None
    cancel_reason: str = ""
    cancel_actor: str = ""
    cancel_request_id: str = ""
    cancel_time: int | None = None
    paused: Paused | None = None
    actions: tuple[str, ...] = ()  # request ids of the last verbs that people sent, so that a repeat is one
    passed_hooks: tuple[str, ...] = ()  # hooks done or passed in this ending
    reopen: tuple[str, ...] = ()  # completed steps that a replay in preparation reopens
    replays: int = 0
    timeout: int | None = None  # the start's own, if it overrides the definition's
    past_runs: tuple[str, ...] = ()  # of the rounds before this one, the last one last
    tombstone: Tombstone | None = None  # nothing is left but identity, round, fence, digests and end
    archived: bool = False  # of an earlier round: stored under an id of its own
    inert: bool = False  # archived, but the round after it is not known to be stored: nothing happens to it
    duties: tuple[Duty, ...] = ()
    labels: dict[str, str] = {}
    priority: int = limits.PRIORITY
    queue: str = ""  # overrides the queue of every step
    step_queues: dict[str, str] = {}  # overrides per step
    step_options: dict[str, StepOptions] = {}  # what was changed of the policies of its steps, in this run only
    fairness_key: str = ""
    fairness_weight: float = 1.0
    retention: int = limits.RETENTION
    schedule_id: str = ""  # the schedule that started it
    start_at: int | None = None  # the first step was held back until then
    inbox: tuple[Signal, ...] = ()
    signal_ids: tuple[str, ...] = ()
    signals_received: int = 0
    events: tuple[Event, ...] = ()
    event_seq: int = 0
    eager_row: int = 0  # claims granted in the write of a result, in a row
    inline_bytes: int = 0
    wake_time: int | None = None
    ready: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    expire_time: int | None = None
    parent: Parent | None = None

    @property
    def workflow_id(self) -> bytes:
        """The store's `_id`."""
        return round_id(self.key.workflow_id, self.round) if self.archived else self.key.workflow_id

    @property
    def is_ended(self) -> bool:
        """Whether an end state is stored."""
        return self.state in ENDED
