"""The one table of what this server measures; docs/metrics.md is made from it.

Names and units follow OpenTelemetry, and its semantic conventions where there is one. Labels have few values: never a key, never an id.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from perdure_server.kernel.limits import DAY, HOUR, MINUTE, SECOND

SECONDS: Final = "s"

_QUICK: Final = (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND)
_LONG: Final = (
    *(5, 20, 50, 100, 200, 500, SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND, 30 * SECOND),
    *(MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 6 * HOUR, DAY, 7 * DAY),
)
_SIZES: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)


class Kind(Enum):
    """How an instrument's points are put together."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, eq=False)
class Instrument:
    """One thing that is measured. `text` is what docs/metrics.md says.

    Durations have the unit "s", but their points and `bounds` are ms, as all times in here: whoever exports them divides.
    """

    name: str
    kind: Kind
    unit: str
    text: str
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()

    @property
    def is_duration(self) -> bool:
        """Whether points are ms that are told in seconds."""
        return self.unit == SECONDS


_ALL: list[Instrument] = []


def _listed(instrument: Instrument) -> Instrument:
    _ALL.append(instrument)
    return instrument


def _counter(name: str, unit: str, labels: str, text: str) -> Instrument:
    return _listed(Instrument(name, Kind.COUNTER, unit, text, tuple(labels.split())))


def _gauge(name: str, unit: str, labels: str, text: str) -> Instrument:
    return _listed(Instrument(name, Kind.GAUGE, unit, text, tuple(labels.split())))


def _duration(name: str, labels: str, text: str, bounds: tuple[float, ...] = _LONG) -> Instrument:
    return _listed(Instrument(name, Kind.HISTOGRAM, SECONDS, text, tuple(labels.split()), bounds))


# ------------------------------------------------------------------------------------------------------- workflows and steps
STARTED = _counter("perdure.workflow.started", "{workflow}", "namespace workflow_type", "Workflows and rounds that began.")
WORKFLOW_TIME = _duration(
    "perdure.workflow.duration", "namespace workflow_type outcome", "Start to stored end; `outcome` is the end state in small letters."
)
FIRST_CLAIM = _duration(
    "perdure.workflow.time_to_first_claim",
    "namespace workflow_type",
    "Start (or `start_at`, if that came later) to the first claim of a step that depends on no other.",
)
QUEUE_TIME = _duration(
    "perdure.step.queue.duration",
    "namespace workflow_type queue",
    "Ready to granted, permit waits included; 0 where the claim was granted in the very write that made the step ready.",
)
PERMIT_TIME = _duration(
    "perdure.step.permit_wait.duration", "namespace workflow_type", "How long a claim waited for its permits, if it did."
)
STEP_TIME = _duration(
    "perdure.step.duration",
    "namespace workflow_type step outcome",
    "One attempt, granted to settled. `outcome`: completed, failed, waiting, released, cancelled, lost, timed_out, undelivered.",
)
TIMER_LATENESS = _duration(
    "perdure.timer.lateness", "", "How much later than planned a timer of a wait, a back-off or a delayed start was carried out.", _QUICK
)
CLAIMS_LOST = _counter(
    "perdure.claim.lost",
    "{claim}",
    "namespace workflow_type cause",
    "Claims taken away before their result: expired, timed_out, cancelled, superseded, closed.",
)
RESULTS_REFUSED = _counter(
    "perdure.result.refused",
    "{result}",
    "reason",
    "Results that were not taken, by error reason; CLAIM_LOST is a worker that came too late.",
)

# ------------------------------------------------------------- the survey: asked of the store every 15 s, by one server of all
_PLACE: Final = "namespace queue workflow_type step"
QUEUE_READY = _gauge("perdure.queue.ready", "{step}", _PLACE, "Steps that are ready, throttled ones left out.")
QUEUE_OLDEST = _gauge("perdure.queue.oldest.age", SECONDS, _PLACE, "For how long the oldest of them is ready.")
QUEUE_RUNNING = _gauge("perdure.queue.running", "{step}", _PLACE, "Steps that workers of this queue hold.")
QUEUE_THROTTLED = _gauge("perdure.queue.throttled", "{step}", _PLACE, "Steps that wait for permits.")
PARKED_STEPS = _gauge("perdure.parked", "{step}", f"{_PLACE} reason", "Ready steps that nobody takes: no_worker, incompatible, paused.")
PARKED_OLDEST = _gauge("perdure.parked.oldest.age", SECONDS, f"{_PLACE} reason", "For how long nobody takes them.")
HELD_STEPS = _gauge("perdure.held", "{step}", "namespace workflow_type", "Workflows with a step that waits for a person's decision.")
HELD_OLDEST = _gauge("perdure.held.oldest.age", SECONDS, "namespace workflow_type", "For how long the oldest of them waits.")
PAUSED = _gauge(
    "perdure.paused",
    "{pause}",
    "namespace workflow_type what",
    "What stands still until a person resumes it, by `what`: workflow, or definition (all workflows of it).",
)
PAUSED_OLDEST = _gauge("perdure.paused.oldest.age", SECONDS, "namespace workflow_type what", "For how long the oldest of them does.")
RESOURCE_USED = _gauge("perdure.resource.used", "{permit}", "namespace resource", "Units of a resource that claims hold.")
RESOURCE_CAPACITY = _gauge("perdure.resource.capacity", "{permit}", "namespace resource", "Its capacity; none if it counts per key.")
RESOURCE_WAITING = _gauge("perdure.resource.waiting", "{step}", "namespace resource", "Steps that wait for units of it.")
RESOURCE_OLDEST = _gauge("perdure.resource.oldest.age", SECONDS, "namespace resource", "For how long the first of them waits.")

# ----------------------------------------------------------------------------------------------------------------- the store
DATABASE_TIME = _duration(
    "db.client.operation.duration",
    "db.system.name db.operation.name error.type",
    "One command to MongoDB, or one batch of commands to Redis (`PIPELINE`), until it was answered.",
    _QUICK,
)
COMMIT_TIME = _duration("perdure.commit.duration", "", "One batch of the group commit, sent to acknowledged by the majority.", _QUICK)
COMMIT_SIZE = _listed(
    Instrument(
        "perdure.commit.batch.size", Kind.HISTOGRAM, "{write}", "Writes of workflows in one batch of the group commit.", bounds=_SIZES
    )
)
STORE_COUNTS = _counter(
    "perdure.store.operations", "{operation}", "operation", "What the store's adapter counts: loads, quarantined, and so on."
)
CONFLICTS = _counter("perdure.commit.conflicts", "{conflict}", "", "Writes that lost a race to another server and were applied again.")
DEPENDENCY_UP = _gauge("perdure.dependency.up", "1", "dependency", "1 if `store` or `coordination` (Redis) was reached lately, else 0.")

# ---------------------------------------------------------------------------------------------------------------- this server
RPC_TIME = _duration(
    "rpc.server.call.duration",
    "rpc.system.name rpc.method rpc.response.status_code",
    "One call; of a stream, its whole life.",
    (*_QUICK, 30 * SECOND, MINUTE, 20 * MINUTE),
)
SERVER_READY = _gauge("perdure.server.ready", "1", "", "1 while this server serves: store reached, not draining, every loop comes round.")
LOOP_LAG = _duration("perdure.event_loop.lag", "", "How late the event loop comes to a timer, measured four times a second.", _QUICK)
LOOP_AGE = _gauge("perdure.loop.age", SECONDS, "loop", "Since a background loop last came round; the oldest tells of one that is stuck.")
FAILURES = _counter("perdure.failures", "{failure}", "", "Unexpected errors of background work; each is in the log with its traceback.")
WORKERS = _gauge("perdure.worker.streams", "{stream}", "", "Claim streams of workers that this server serves.")
CLAIMS = _gauge("perdure.claims", "{claim}", "", "Claims that workers connected to this server hold.")
WATCHERS = _gauge("perdure.watchers", "{watcher}", "", "Who waits here for changes of one workflow: Watch, WaitForResult.")
MAILBOXES = _gauge("perdure.mailboxes", "{mailbox}", "state", "Workflows in this server's memory: `busy` with commands in hand, `idle`.")
SWEEP_FOUND = _counter("perdure.sweep.found", "{workflow}", "", "Due workflows that the sweep found, because no timer or hint came first.")
AUDIT_DROPPED = _counter("perdure.audit.dropped", "{record}", "", "Audit records that did not fit while the store was away.")
AUDIT_LOST = _counter("perdure.audit.lost", "{record}", "", "Audit records that could not be stored at all.")
OUTBOX = _counter(
    "perdure.outbox.documents",
    "{document}",
    "outcome reason",
    "Documents of outboxes by what became of them: accepted, postponed, refused.",
)
ORPHANS = _counter("perdure.payload.orphans", "{payload}", "", "Payloads that nothing referred to and that were removed.")
DOORS_REFUSED = _counter(
    "perdure.doors.refused", "{call}", "reason", "Calls that were refused at the door: no token, a wrong one, no right."
)
DOORS_RELOADS = _counter(
    "perdure.doors.reloads", "{reload}", "what outcome", "Files of the doors that were read again: certificates, access, keys."
)
SPANS_DROPPED = _counter(
    "perdure.telemetry.spans.dropped", "{span}", "", "Spans that were lost: no room, refused by the collector, cut by a stop."
)
PUSHES_FAILED = _counter(
    "perdure.telemetry.pushes.failed",
    "{push}",
    "",
    "Pushes of metrics that the collector did not take; the next one brings all.",
)
FOLDED = _counter("perdure.telemetry.folded", "{point}", "", "Points counted under `other`, since a label had too many values.")

INSTRUMENTS: Final = tuple(_ALL)
