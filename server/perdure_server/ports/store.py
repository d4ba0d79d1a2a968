"""The store: MongoDB is the truth. An OK of any write here means stored with majority and journal."""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Protocol

from msgspec import Struct

from perdure_server.kernel import limits
from perdure_server.kernel.definition import Definition, StepOptions
from perdure_server.kernel.values import Deletion, Paused, Payload
from perdure_server.kernel.workflow import Workflow, WorkflowState
from perdure_server.ports.audit import AuditTrail
from perdure_server.ports.batches import Batches
from perdure_server.ports.resources import Resources
from perdure_server.ports.schedules import Namespaces, Schedules


class Read(Enum):
    """How fresh a read must be."""

    LOCAL = "local"  # from the primary: the base of the next conditional write
    LINEARIZABLE = "linearizable"  # for an answer given without an own acknowledged write, and before what cannot be undone


class Due(Struct, frozen=True):
    """A workflow that the sweep must look at: `_id`, and the time in ms at which it was due."""

    workflow_id: bytes
    wake_time: int


class ReadyStep(Struct, frozen=True, omit_defaults=True):
    """A workflow that has READY steps in the named queues (the other queues of its `ready` are in it, too), and what orders them.

    `ready_times` by step, of those in the queues asked for; `paused` = since when the workflow is.
    """

    workflow_id: bytes
    queues: tuple[str, ...]
    since: int  # last change of the workflow; its steps may be ready for longer
    namespace: str = ""
    workflow_type: str = ""
    fingerprint: str = ""
    priority: int = limits.PRIORITY
    fairness_key: str = ""
    fairness_weight: float = 1.0
    step_options: Mapping[str, StepOptions] = {}
    ready_times: Mapping[str, int] = {}
    paused: int | None = None


class WorkflowQuery(Struct, frozen=True, omit_defaults=True):
    """What List and Count ask. Empty tuples mean any. Times in ms, `start_from` inclusive, `start_before` exclusive."""

    namespace: str
    workflow_types: tuple[str, ...] = ()
    states: tuple[WorkflowState, ...] = ()
    business_keys: tuple[str, ...] = ()
    labels: Mapping[str, str] = {}
    start_from: int | None = None
    start_before: int | None = None
    descending: bool = True
    include_archived: bool = False  # rounds before the current one, too
    include_inert: bool = False  # and copies of rounds whose next one is not known to be stored
    fingerprint: str = ""  # of the definition; "" = any


class PageKey(Struct, frozen=True):
    """The last row of a page: the next begins after it."""

    start_time: int
    workflow_id: bytes


class WorkflowRows(Struct, frozen=True):
    """One page of a list; `after` is None on the last page. Steps and payloads may be left out of the rows (`with_payloads`)."""

    rows: tuple[Workflow, ...]
    after: PageKey | None


class Workflows(Protocol):
    """One document per workflow."""

    async def commit(self, old: Workflow | None, new: Workflow) -> bool:
        """Store `new` if the stored document still is `old` (same run_id and revision), or, with `old` None, if the `_id` is free.

        One conditional `$set` of the changed fields, never a replace. Joined with other commits into one batch; True only when this very
        write is known stored; False = the condition did not hold and nothing was written. Two commits of one `_id` are never in one batch.
        Raises StoreUnavailable (the result is unknown: load and decide again) and DocumentTooLarge.
        """

    async def load(self, workflow_id: bytes, read: Read = Read.LOCAL, *, tombstones: bool = False) -> Workflow | None:
        """The stored instance, or None. Loads that wait together may share one query.

        A tombstone is nobody's workflow: None unless asked for. Raises StoreUnavailable, CorruptDocument.
        """

    async def due(self, until: int, limit: int) -> Sequence[Due]:
        """Ids with `wake_time` <= `until`, oldest first, at most `limit`; quarantined ones never. Raises StoreUnavailable."""

    async def ready(self, queues: Sequence[str], limit: int, skip: int = 0) -> Sequence[ReadyStep]:
        """Workflows whose `ready` names one of `queues`, at most `limit` in no promised order, the first `skip` of it left out.

        What changes meanwhile may be missed or come twice. Raises StoreUnavailable.
        """

    async def ready_queues(self) -> Sequence[str]:
        """Every queue id in which something is READY, in no promised order. Raises StoreUnavailable."""

    async def ready_count(self, queue: str, at_most: int) -> int:
        """How many workflows have a READY step in this queue; counting stops at `at_most`. Raises StoreUnavailable."""

    async def claimed_by(self, session_ids: Sequence[str], limit: int, read: Read = Read.LOCAL) -> Sequence[bytes]:
        """Ids of workflows whose `sessions` names one of these. Raises StoreUnavailable."""

    async def revisions(self, workflow_ids: Sequence[bytes], read: Read = Read.LOCAL) -> Mapping[bytes, tuple[str, int]]:
        """(run_id, revision) of each that exists; at most 1,000 ids a call. Raises StoreUnavailable."""

    async def find(self, query: WorkflowQuery, limit: int, after: PageKey | None) -> WorkflowRows:
        """One page ordered by (start_time, _id), stable with equal times. Rows carry no steps and no payloads. Raises StoreUnavailable.

        Neither here nor in `count` are there tombstones, or archived rounds that are not activated.
        """

    async def outlines(self, workflow_ids: Sequence[bytes], steps: Sequence[str]) -> Mapping[bytes, Workflow]:
        """Those that exist, as rows with their steps, which hold no payloads; `steps` are the names in their definition.

        One that does not decode is left out. Raises StoreUnavailable.
        """

    async def types(self, namespace: str) -> Sequence[str]:
        """The types of all workflows in a namespace. Raises StoreUnavailable."""

    async def count(self, query: WorkflowQuery, at_most: int, read: Read = Read.LOCAL) -> int:
        """How many match; counting stops at `at_most`. Raises StoreUnavailable."""

    def document_bytes(self, workflow: Workflow) -> int:
        """How large the document of this instance is, in bytes."""

    async def delete(self, workflow: Workflow) -> bool:
        """Remove this very revision, payloads first, of what only another removal can change. False = it did. Raises StoreUnavailable."""

    async def expired(self, until: int, limit: int) -> Sequence[bytes]:
        """Ids of ended workflows, and of tombstones, whose `expire_time` <= `until`. Raises StoreUnavailable."""


class Payloads(Protocol):
    """Large payloads in documents of their own, id = content digest + run_id."""

    async def put(self, run_id: str, payloads: Sequence[Payload], now: int, owner: bytes = b"") -> Sequence[Payload]:
        """Store each and return, in order, payloads of the same kind and metadata that carry a ref instead. Acknowledged before it returns.

        `owner` is the `_id` of the workflow that will refer to them, so that orphans can be told. Raises StoreUnavailable; may be repeated.
        """

    async def get(self, run_id: str, payload_ids: Sequence[str]) -> Mapping[str, Payload]:
        """The payloads of this run by id, as they were put; missing ids are absent. Raises StoreUnavailable."""

    async def delete(self, run_id: str) -> None:
        """Remove all payloads of this run, which nothing refers to any more. Raises StoreUnavailable; repeating it is harmless."""

    async def remove(self, run_id: str, payload_ids: Sequence[str], put_until: int | None = None) -> None:
        """Remove these, if they were put last at <= `put_until` (None = whenever). Raises StoreUnavailable."""

    async def retain(self, run_id: str, payload_ids: Sequence[str], put_until: int) -> None:
        """Remove all others of this run that were put last at <= `put_until`. Raises StoreUnavailable."""

    async def old(self, after: str, put_until: int, limit: int) -> "OldPayloads":
        """Those that have an owner and were put last at <= `put_until`, out of the next `limit` of all. Raises StoreUnavailable."""


class OldPayloads(Struct, frozen=True):
    """A page of old payloads: ids by (owner, run id). `after` "" = it was the last page."""

    by_run: Mapping[tuple[bytes, str], Sequence[str]]
    after: str


class Subscription(Struct, frozen=True):
    """One pool of a session: which contract of each step of a type it serves, from which queue."""

    pool: str
    queue: str
    workflow_type: str
    step_contracts: dict[str, str]
    slots: int


class Session(Struct, frozen=True, omit_defaults=True):
    """One connected worker. `lease_until` in ms; `held` and `refused` are nonces of claim tokens.

    `emptied`: when (ms) a look at the dead session last found no claims; 0 = it was not looked at, or had some.
    """

    session_id: str
    namespace: str
    worker_id: str
    secret: str
    lease: int
    lease_until: int
    connection_no: int = 1
    alive: bool = True
    client: str = ""
    pools: tuple[Subscription, ...] = ()
    held: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    created: int = 0
    emptied: int = 0
    server_id: str = ""  # where it connected last; like what follows, for people only
    peer: str = ""
    labels: dict[str, str] = {}
    capabilities: tuple[str, ...] = ()
    draining: bool = False


class Sessions(Protocol):
    """Small documents; one renewal write per worker and interval. Every method may raise StoreUnavailable."""

    async def open(self, session: Session) -> None:
        """Insert it (its id is fresh)."""

    async def get(self, session_id: str) -> Session | None:
        """The stored session, linearizable."""

    async def reconnect(self, known: Session, lease_until: int, server_id: str, peer: str) -> Session | None:
        """Raise `connection_no` from that of `known` to the next, if the session is alive and has its secret; None = no longer so.

        It drains no more, and is connected to this server.
        """

    async def renew(self, session_id: str, connection_no: int, lease_until: int, held: Sequence[str]) -> bool:
        """Extend the lease and replace `held` (minus what is `refused`, which stays), if alive and of this connection; False otherwise.

        One whose lease is no later than the stored one has perhaps been overtaken: it only adds to `held`.
        connection_no 0 renews a session of unary calls.
        """

    async def hold(self, session_id: str, nonces: Sequence[str]) -> Sequence[str]:
        """Add to `held` those not in `refused`, if alive; returns those that are now held."""

    async def refuse(self, session_id: str, nonce: str) -> bool:
        """Add to `refused` unless in `held`, of a dead session too. True = refused now or before, or no session; False = held."""

    async def expired(self, until: int, emptied_until: int, limit: int) -> Sequence[Session]:
        """Alive sessions with lease_until <= `until`, and dead ones, but for those with `emptied` > `emptied_until`; oldest first."""

    async def mark_dead(self, session_id: str, lease_until: int) -> Session | None:
        """Set alive = False if the lease is still the judged one; returns the dead session, or None if it was renewed meanwhile."""

    async def end(self, session_id: str, connection_no: int) -> bool:
        """Its worker has gone for good: set alive = False, unless a later connection goes on with it. True = it is dead."""

    async def note_draining(self, session_id: str) -> None:
        """Note that it takes no more claims on this connection."""

    async def note_empty(self, session_id: str, now: int) -> None:
        """Note in a dead session that a look at `now` found no claims of it."""

    async def delete(self, session_id: str) -> None:
        """Remove a dead session whose claims have all been judged."""

    async def list(self, namespace: str, limit: int) -> Sequence[Session]:
        """Alive sessions of a namespace, at most `limit`."""


class ActiveDefinition(Struct, frozen=True):
    """Which fingerprint serves new starts of a type; `revision` for compare-and-set."""

    namespace: str
    workflow_type: str
    fingerprint: str
    revision: int


class Definitions(Protocol):
    """Registered definitions, immutable by fingerprint but for their policies. Every method may raise StoreUnavailable."""

    async def put(self, definition: Definition) -> Definition:
        """Store it if new; if the fingerprint exists with other policies, store those with policy_revision + 1; if equal, change nothing;
        a pause stays, a deletion ends.

        Returns what is stored. Safe to race: one document per (namespace, type, fingerprint).
        """

    async def change(self, definition: Definition, over: int) -> Definition | None:
        """Store its policies as those after policy_revision `over`; a pause stays. None = others are stored by now, or it is deleted."""

    async def get(self, namespace: str, workflow_type: str, fingerprint: str) -> Definition | None:
        """One definition, linearizable; deleted ones, too."""

    async def pause(self, namespace: str, workflow_type: str, fingerprint: str, paused: Paused | None) -> Definition | None:
        """Pause it, or, with None, end its pause; one that is paused stays as it is. Returns what is stored, None = there is none."""

    async def versions(self, namespace: str, workflow_type: str) -> Sequence[Definition]:
        """All fingerprints of one type, newest first; deleted ones, too."""

    async def paused(self) -> Sequence[Definition]:
        """Paused ones of all namespaces, some of them if they are very many."""

    async def list(self, namespace: str) -> Sequence[ActiveDefinition]:
        """The active one of every type, by type name."""

    async def active(self, namespace: str, workflow_type: str) -> ActiveDefinition | None:
        """The active fingerprint of a type."""

    async def activate(self, namespace: str, workflow_type: str, fingerprint: str, only_if_none: bool) -> ActiveDefinition:
        """Make it the active one (or keep an existing one, with `only_if_none`); returns what is active now."""

    async def mark(self, known: Definition, deletion: Deletion) -> bool:
        """Note that it is deleted. False = the stored one is not `known` any more: other policies, another pause, deleted, or gone."""

    async def unmark(self, marked: Definition) -> bool:
        """It is deleted no more. False = it is not, or by another deletion, or gone."""

    async def marked(self) -> Sequence[Definition]:
        """Deleted ones of all namespaces whose documents are still there, some of them if they are very many."""

    async def delete(self, marked: Definition) -> bool:
        """Remove the document of a deleted one. False = it is not deleted, or by another deletion, or gone."""


class Store(Protocol):
    """The whole store. `open` probes features with a write, ensures indexes and refuses a deployment that contradicts the promises."""

    workflows: Workflows
    payloads: Payloads
    sessions: Sessions
    definitions: Definitions
    resources: Resources
    audit: AuditTrail
    batches: Batches
    schedules: Schedules
    namespaces: Namespaces

    async def open(self) -> None:
        """Connect, probe, ensure indexes, migrate. Raises StoreUnavailable, or StoreError with what is wrong and how to put it right."""

    async def close(self) -> None:
        """Flush what is in flight and disconnect."""

    async def time(self) -> tuple[int, int]:
        """(store time in ms, round trip in ms) from `hello.localTime`. Raises StoreUnavailable."""

    def counters(self) -> Mapping[str, int]:
        """What was counted since `open`, for metrics: batches and writes of the group commit, queries and loads, quarantined documents."""

    def description(self) -> Mapping[str, str]:
        """Kind, version, durability and which roads are in use, for GetServerInfo and `doctor`. No host, no credentials."""
