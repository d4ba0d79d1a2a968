"""Schedules: the loop that fires them, and what people do to them.

Of each firing the decision is stored before its effect (`starting`), and the effect is a start whose key and request id follow from the
schedule and the planned time. So two servers, or one that died in between, start the same workflow; the store lets one of them go on.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from perdure_server.engine.calendar import Calendar, key_of
from perdure_server.engine.clock import happened
from perdure_server.engine.locks import KeyedLocks
from perdure_server.engine.people import Conditions
from perdure_server.engine.subject import about
from perdure_server.engine.values import Ref
from perdure_server.kernel import firing as rules
from perdure_server.kernel import limits
from perdure_server.kernel.canonical import payload_digest
from perdure_server.kernel.rejection import FieldViolation, Reason, Rejection
from perdure_server.kernel.requests import is_known, with_request
from perdure_server.kernel.schedule import Fired, Firing, Overlap, Run, Schedule, ScheduleSettings
from perdure_server.kernel.start import Start
from perdure_server.kernel.workflow import Workflow, WorkflowKey, WorkflowState
from perdure_server.ports.errors import DocumentTooLarge, StoreUnavailable
from perdure_server.ports.store import Read

if TYPE_CHECKING:
    from perdure_server.engine.service import Engine

logger = logging.getLogger(__name__)

LATER: Final = frozenset({Reason.OVERLOADED, Reason.QUOTA_EXCEEDED, Reason.DRAINING, Reason.NOT_READY, Reason.STORE_UNAVAILABLE})
"""Refusals of a start that say nothing about it: nothing has happened, and another time it may be done."""

_PUT = "put"
_WINDOW = 100
_WINDOWS = 10
_AHEAD = 2 * limits.SECOND  # nothing is due so soon: then the next look is as late
_AT_ONCE = 16
_LOST_RACES = 50
_RACE_PAUSE = 20
_DELETED_FOR = limits.HOUR
_SHOWN = 10
_SHOWN_IN_ALL = 200  # next firings in one list: each takes a tenth of a millisecond to compute

Change = Callable[[Schedule | None], ScheduleSettings]


class Schedules:
    """All methods raise Rejection, FieldViolation and StoreUnavailable."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self._store = engine.store.schedules
        self._workflows = engine.store.workflows
        self._clock = engine.clock
        self._interval = engine.settings.sweep_interval
        self._rest = self._interval
        self._locks = KeyedLocks()
        self._news = asyncio.Event()  # one was put here, and may be due before that

    # -------------------------------------------------------------------------------------------------------- by the clock

    async def due_step(self) -> None:
        """Fire what is due: this server's share at once, the others' after 3 s."""
        await happened(self._news, self._clock.together(self._rest))
        self._news.clear()
        if not self._engine.draining:  # it could start nothing
            await self.fire_due()

    async def fire_due(self) -> None:
        """What `due_step` does, now. Raises StoreUnavailable."""
        for _ in range(_WINDOWS):
            now = self._clock.now()
            rows = await self._store.due(now + _AHEAD, _WINDOW)
            self._rest = self._interval if rows else max(self._interval, _AHEAD)
            due = [row for row in rows if (row.due or now) <= now]
            mine = [row for row in due if self._engine.sweep.takes(_identity(row), row.due or now, now)]
            await self._advance_all(mine)
            if len(due) < _WINDOW or not mine:
                return

    async def _advance_all(self, schedules: Sequence[Schedule]) -> None:
        gate = asyncio.Semaphore(_AT_ONCE)

        async def one(schedule: Schedule) -> None:
            async with gate:
                await self._advance(schedule)

        results = await asyncio.gather(*(one(schedule) for schedule in schedules), return_exceptions=True)
        for result in results:
            if isinstance(result, StoreUnavailable):
                raise result
            if isinstance(result, BaseException):
                self._engine.supervisor.failures += 1
                logger.error("a schedule cannot go on", exc_info=result)

    async def _advance(self, schedule: Schedule) -> bool:
        """Store and do what is due, step by step. True = nothing is left to do now; False = somebody else is at it, or it is enough."""
        read = schedule
        for _ in range(limits.FIRING_STEPS):
            if schedule.deleted:
                return await self._store.delete(schedule)
            if schedule.starting is not None:
                new, again = await self._start(schedule, is_first=schedule is not read)
            else:
                new, again = await self._decide(schedule)
            if not again and replace(new, due=schedule.due) == schedule and schedule.due == new.due:
                return True
            stored = await self._put(schedule, new)
            if stored is None or not again:
                return stored is not None
            schedule = stored
        return False

    async def _decide(self, schedule: Schedule) -> tuple[Schedule, bool]:
        """What the calendar and the last workflow say. True = there may be more to do at once."""
        now = self._clock.now()
        following = Calendar(schedule.settings).following
        planned = rules.plan(schedule, now, following)
        last = await self._open_one(planned.last) if rules.asks_for_last(planned) else None
        decision = rules.decide(planned, now, last is not None)
        if decision.end_last is not None and last is not None:
            await self._end(last, decision.end_last)
        again = decision.schedule is not schedule or decision.end_last is Overlap.TERMINATE_OTHER
        return rules.with_due(decision.schedule, now, following), again

    async def _start(self, schedule: Schedule, *, is_first: bool) -> tuple[Schedule, bool]:
        """Start what was decided. A result that nobody knows leaves it decided, so that it is repeated. Raises StoreUnavailable.

        `is_first`: it was decided here, just now. A refusal for now lets it wait again then; after an earlier try, of which nobody may know
        what became, it stays decided.
        """
        firing = schedule.starting
        assert firing is not None, "decided before"
        now = self._clock.now()
        try:
            started = await self._engine.start(self._command(schedule, firing))
            fired = rules.started(firing, now, _run_of(started.workflow))
        except Rejection as error:
            patience = max(schedule.settings.catch_up_window, limits.MINUTE)
            if error.reason in LATER and now < firing.since + patience:
                later = rules.put_back(schedule) if is_first and now < (schedule.due or 0) else schedule
                return replace(later, due=now + limits.FIRING_RETRY), False
            fired = rules.refused(firing, now, error.reason.name, error.message, dict(error.facts))
        except FieldViolation as error:
            fired = rules.refused(firing, now, error.reason.name, str(error), {})
        except DocumentTooLarge:
            fired = rules.refused(firing, now, Reason.PAYLOAD_TOO_LARGE.name, "The workflow does not fit into a document.", {})
        following = Calendar(schedule.settings).following
        return rules.with_due(rules.settled(schedule, fired), now, following), True

    def _command(self, schedule: Schedule, firing: Firing) -> Start:
        plan = schedule.settings.start
        return Start(
            key=WorkflowKey(schedule.namespace, plan.workflow_type, key_of(schedule, firing.planned)),
            run_id=self._engine.entropy.hex(12),
            trace=self._engine.entropy.trace(self._engine.settings.trace_sample_ratio),
            input=plan.input,
            input_digest=payload_digest("input", plan.input),
            request_id=rules.start_id(schedule, firing),
            labels=plan.labels,
            priority=plan.priority,
            queue=plan.queue,
            fairness_key=plan.fairness_key,
            workflow_timeout=plan.workflow_timeout,
            retention=plan.retention,
            schedule_id=schedule.schedule_id,
        )

    async def _open_one(self, run: Run | None) -> Workflow | None:
        """The workflow of this run, if it is open."""
        workflow = await self._workflows.load(run.key.workflow_id, Read.LINEARIZABLE) if run is not None else None
        if workflow is None or run is None or workflow.run_id != run.run_id or workflow.is_ended:
            return None
        return workflow

    async def _end(self, last: Workflow, how: Overlap) -> None:
        ref = Ref(last.key, expected_fence=last.fence)
        reason = "The schedule that started it fires again."
        try:
            if how is Overlap.TERMINATE_OTHER:
                await self._engine.people.terminate(ref, reason, Conditions())
            elif last.state is WorkflowState.RUNNING:
                await self._engine.cancel(ref, reason, "")
        except Rejection as error:
            logger.info(
                "the workflow before a firing was not ended: %s", error.reason.name, extra=about(last)
            )  # it ends by itself, or has ended

    # ---------------------------------------------------------------------------------------------------------- by people

    async def put(self, namespace: str, schedule_id: str, change: Change, conditions: Conditions) -> tuple[Schedule, bool]:
        """Make it, or change its settings to what `change` makes of the stored schedule. True = it is new.

        Rejection REVISION_CONFLICT if the etag is not that of the settings, REQUEST_ID_REUSED.
        """
        async with self._locks.of((namespace, schedule_id)):
            return await self._change(namespace, schedule_id, change, conditions)

    async def _change(self, namespace: str, schedule_id: str, change: Change, conditions: Conditions) -> tuple[Schedule, bool]:
        for _ in range(_LOST_RACES):
            stored = await self._store.get(namespace, schedule_id)
            known = stored if stored is not None and not stored.deleted else None
            if known is not None and is_known(known.requests, _PUT, conditions.request_id, conditions.content):
                return known, known.first_request == conditions.request_id
            _require_etag(known, conditions.etag)
            now = self._clock.now()
            settings = change(known)
            if known is not None and not conditions.validate_only and (known.starting is not None or (known.due or now + 1) <= now):
                # By the old settings what is due is done, and what is under way comes to its end.
                await self._advance(known)
                known = await self._store.get(namespace, schedule_id)
                if known is None or known.starting is not None or known.deleted:
                    continue
                stored = known
                settings = change(known)
            fresh = Schedule(namespace, schedule_id, settings, now, now, first_request=conditions.request_id)
            changed = rules.change(known, settings, now) if known is not None else fresh
            changed = replace(changed, requests=with_request(changed.requests, _PUT, conditions.request_id, conditions.content))
            changed = rules.with_due(changed, now, Calendar(settings).following)
            if conditions.validate_only:
                return changed, known is None
            new = await self._put(stored, changed)
            if new is not None:
                self._news.set()
                return new, known is None
        raise StoreUnavailable("the schedule is being changed by too many at once")

    async def trigger(self, namespace: str, schedule_id: str, firing: Firing) -> Fired:
        """Fire it now, beside its calendar; a repeat of the request answers the same firing.

        Rejection SCHEDULE_NOT_FOUND, REQUEST_ID_REUSED.
        """
        async with self._locks.of((namespace, schedule_id)):
            return await self._trigger(namespace, schedule_id, firing)

    async def _trigger(self, namespace: str, schedule_id: str, firing: Firing) -> Fired:
        for _ in range(_LOST_RACES):
            stored = await self._known(namespace, schedule_id)
            answer = rules.answer_to(stored, firing)
            if answer is None:
                asked = await self._put(stored, replace(rules.ask(stored, firing), due=self._clock.now()))
            elif rules.waits(stored, firing.request_id):
                asked = stored
            else:
                return answer
            if asked is not None and await self._advance(asked):
                answer = rules.answer_to(await self._known(namespace, schedule_id), firing)
                if answer is not None:
                    return answer
            await self._clock.sleep(_RACE_PAUSE)  # somebody else is at it
        raise StoreUnavailable("the schedule is being changed by too many at once")

    async def delete(self, namespace: str, schedule_id: str, conditions: Conditions) -> None:
        """Remove it; what it has started goes on. Rejection SCHEDULE_NOT_FOUND, REVISION_CONFLICT."""
        for _ in range(_LOST_RACES):
            stored = await self._store.get(namespace, schedule_id)
            if stored is not None and stored.deleted and stored.deleted == conditions.request_id:
                return
            if stored is None or stored.deleted:
                raise _not_found(schedule_id)
            _require_etag(stored, conditions.etag)
            if conditions.validate_only:
                return
            if not conditions.request_id:
                if await self._store.delete(stored):
                    return
                continue
            forgotten = replace(stored, deleted=conditions.request_id, due=self._clock.now() + _DELETED_FOR, starting=None, waiting=())
            if await self._put(stored, forgotten) is not None:
                return
        raise StoreUnavailable("the schedule is being changed by too many at once")

    async def get(self, namespace: str, schedule_id: str) -> Schedule | None:
        """One schedule, if it exists."""
        found = await self._store.get(namespace, schedule_id)
        return found if found is not None and not found.deleted else None

    def next_times(self, schedule: Schedule, among: int) -> list[int]:
        """Its next planned times: fewer, the more schedules are shown."""
        count = min(_SHOWN, max(1, _SHOWN_IN_ALL // max(1, among)))
        return rules.next_times(schedule, count, Calendar(schedule.settings).following)

    async def _known(self, namespace: str, schedule_id: str) -> Schedule:
        found = await self.get(namespace, schedule_id)
        if found is None:
            raise _not_found(schedule_id)
        return found

    async def _put(self, old: Schedule | None, new: Schedule) -> Schedule | None:
        new = replace(new, revision=old.revision + 1 if old is not None else 1)
        return new if await self._store.put(old, new) else None

    async def list(self, namespace: str, workflow_type: str, after: str, limit: int) -> Sequence[Schedule]:
        """Schedules by id."""
        return await self._store.list(namespace, workflow_type, after, limit)


def _identity(schedule: Schedule) -> bytes:
    return f"{schedule.namespace}\0{schedule.schedule_id}".encode()


def _run_of(workflow: Workflow) -> Run:
    return Run(workflow.key, workflow.run_id, workflow.round)


def _require_etag(schedule: Schedule | None, etag: str) -> None:
    if etag and (schedule is None or schedule.etag != etag):
        raise Rejection(Reason.REVISION_CONFLICT, "The schedule has changed since it was read: read it again.")


def _not_found(schedule_id: str) -> Rejection:
    return Rejection(Reason.SCHEDULE_NOT_FOUND, "There is no such schedule.", schedule_id=schedule_id)
