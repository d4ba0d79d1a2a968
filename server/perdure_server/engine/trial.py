"""TestDefinition: a definition runs by the kernel's rules alone, with scripted attempts and a clock of its own. Nothing is stored.

Every step that is READY is granted at once and ends as its script says; then time jumps to what is due next.
"""

import heapq
import itertools
import random
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from perdure_server.engine.commands import outcome_digest
from perdure_server.engine.scripts import NeverSettled, Playbook, Script, WorkerVanishes
from perdure_server.engine.trial_children import TrialChildren
from perdure_server.kernel import limits
from perdure_server.kernel.cancel import cancel
from perdure_server.kernel.claims import Ticket, grant, lose, may_grant
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.outcomes import Completed, Page, Report, report
from perdure_server.kernel.rejection import FieldViolation, Reason, Rejection
from perdure_server.kernel.seal import seal
from perdure_server.kernel.signals import receive
from perdure_server.kernel.start import Start, blank, populate
from perdure_server.kernel.timing import earliest_due, fire_due
from perdure_server.kernel.values import Payload, Trace
from perdure_server.kernel.workflow import CLAIMED, Event, Signal, StepState, Workflow, WorkflowKey
from perdure_server.ports.clock import Clock

_CHANGES = 10_000
_COMMANDS = 20_000
_AT_A_TIME = 20  # commands, before others get their turn
_UNSHIFTED = 5 * limits.SECOND
_MIDDLE = 0.5  # of the jitter band: no jitter
_BUSINESS_KEY = "test"
_DONE = Script(Completed())
_LAST_PAGE = Script(Page())


class TrialSignal(Struct, frozen=True):
    """A signal, `after` ms from the start."""

    after: int
    name: str
    payload: Payload | None = None


class TrialCancel(Struct, frozen=True):
    """A cancel, `after` ms from the start."""

    after: int
    reason: str


class TrialPlan(Struct, frozen=True):
    """What happens. `duration` in ms, None = until nothing can move any more; `seed` 0 = no jitter."""

    definition: Definition
    input: Payload | None = None
    scripts: tuple[Script, ...] = ()
    events: tuple[TrialSignal | TrialCancel, ...] = ()
    duration: int | None = None
    seed: int = 0


class TrialResult(Struct, frozen=True):
    """The instance at the end, everything that happened, and the times of the trial's clock in ms."""

    workflow: Workflow
    changes: tuple[Event, ...]
    begun: int
    ended: int


async def run_trial(plan: TrialPlan, clock: Clock) -> TrialResult:
    """Run it, in pieces, so that others get their turn. Raises FieldViolation for a script that no attempt could end by.

    Stops after 10,000 changes or 5 s of work; what moves then would move for ever.
    """
    trial = _Trial(plan, clock.now())
    until = clock.unshifted() + _UNSHIFTED
    while trial.step() and clock.unshifted() < until:
        if trial.commands % _AT_A_TIME == 0:
            await clock.sleep(0)
    return trial.result()


class _Trial:
    def __init__(self, plan: TrialPlan, now: int) -> None:
        self._definition = _with_all_permits(plan.definition)
        self._begun = self._now = now
        self._end = None if plan.duration is None else now + plan.duration
        self._playbook = Playbook(plan.scripts)
        self._children = TrialChildren(self._definition, self._playbook, _BUSINESS_KEY)
        self._random = random.Random(plan.seed) if plan.seed else None  # noqa: S311 -- repeatable on purpose
        self._numbers = itertools.count(1)
        self._changes: list[Event] = []
        self._agenda: list[tuple[int, int, Callable[[Draft], object]]] = []
        self.commands = 0
        for event in plan.events:
            self._put(event.after, _happening(event, next(self._numbers)))
        key = WorkflowKey(plan.definition.namespace, plan.definition.workflow_type, _BUSINESS_KEY)
        start = Start(key, f"{1:024x}", Trace(f"{1:032x}", f"{1:016x}"), input=plan.input)
        self._workflow = blank(plan.definition, start, now)
        self._apply(lambda draft: populate(draft, start))

    def step(self) -> bool:
        """Do the next thing. False = nothing can move any more, or it is over."""
        if self.commands >= _COMMANDS or len(self._changes) >= _CHANGES:
            return False
        ready = self._next_ready()
        if ready is not None:
            self._begin(ready)
            return True
        for duration, end in self._children.begin(self._workflow):
            self._put(self._now - self._begun + duration, end)
        act = self._children.next_act(self._workflow)
        if act is not None:
            self._apply(act)
            return True
        times = [due for due in (earliest_due(self._workflow), self._agenda[0][0] if self._agenda else None) if due is not None]
        if not times or (self._workflow.is_ended and not self._agenda):
            return False
        if self._end is not None and min(times) > self._end:
            self._now = self._end
            return False
        self._now = max(self._now, min(times))
        due = earliest_due(self._workflow)
        if due is not None and due <= self._now:
            self._apply(lambda draft: fire_due(draft, self._dice()))
        else:
            self._apply(heapq.heappop(self._agenda)[2])
        return True

    def result(self) -> TrialResult:
        """What came out."""
        return TrialResult(self._workflow, tuple(self._changes[:_CHANGES]), self._begun, self._now)

    def _next_ready(self) -> str | None:
        draft = self._draft()
        return next((name for name, step in draft.active() if step.state is StepState.READY and may_grant(draft, name)), None)

    def _begin(self, name: str) -> None:
        number = next(self._numbers)
        ticket = Ticket(f"{number:028x}", f"{number:016x}", "trial", acknowledged=True, worker_id="trial")
        self._apply(lambda draft: grant(draft, name, ticket))
        plan = self._definition.by_name[name]
        done = _DONE if plan.child is None else _LAST_PAGE
        if plan.branches:
            done = Script(Completed(choose=(plan.branches[0].name,)))
        script = self._playbook.take(name, self._workflow.steps[name].attempt, _BUSINESS_KEY) or done
        outcome = script.outcome
        if isinstance(outcome, WorkerVanishes):
            self._put(
                self._now - self._begun + script.duration, _of_claim(name, ticket.nonce, lambda draft: lose(draft, name, ticket.nonce))
            )
        elif not isinstance(outcome, NeverSettled):
            command = Report(name, ticket.nonce, outcome, outcome_digest(outcome), self._dice())
            self._put(self._now - self._begun + script.duration, _of_claim(name, ticket.nonce, _reporting(command, script.field)))

    def _put(self, after: int, act: Callable[[Draft], object]) -> None:
        heapq.heappush(self._agenda, (self._begun + after, next(self._numbers), act))

    def _draft(self) -> Draft:
        return Draft(self._definition, self._workflow, self._now)

    def _dice(self) -> float:
        return self._random.random() if self._random is not None else _MIDDLE

    def _apply(self, act: Callable[[Draft], object]) -> None:
        self.commands += 1
        draft = self._draft()
        try:
            act(draft)
        except Rejection:
            return  # too late, or not now: as a caller would be told
        changed = draft.finish()
        if changed is not self._workflow:
            self._changes += draft.events
            self._workflow = seal(self._definition, self._workflow if self._workflow.revision else None, changed, self._now)


def _with_all_permits(definition: Definition) -> Definition:
    # A trial shares its resources with nobody.
    if not any(step.permits for step in definition.steps):
        return definition
    return replace(definition, steps=tuple(replace(step, permits=()) for step in definition.steps))


def _happening(event: TrialSignal | TrialCancel, number: int) -> Callable[[Draft], object]:
    if isinstance(event, TrialCancel):
        return lambda draft: cancel(draft, event.reason, "")
    return lambda draft: receive(draft, Signal(f"signal-{number}", event.name, draft.now, event.payload))


def _reporting(command: Report, field: str) -> Callable[[Draft], object]:
    def act(draft: Draft) -> None:
        try:
            report(draft, command)
        except FieldViolation as error:
            prefix = f"{field}." if field else ""
            raise FieldViolation([(prefix + path, text) for path, text in error.violations], error.reason) from error
        except Rejection as error:
            if error.reason is Reason.OUTCOME_NOT_ALLOWED:
                raise FieldViolation([(field or "outcomes", str(error))], error.reason) from error
            raise

    return act


def _losing(name: str, nonce: str) -> Callable[[Draft], object]:
    return lambda draft: lose(draft, name, nonce)


def _of_claim(name: str, nonce: str, act: Callable[[Draft], object]) -> Callable[[Draft], object]:
    def still(draft: Draft) -> None:
        step = draft.step(name)
        if step.state in CLAIMED and step.claim is not None and step.claim.nonce == nonce:
            act(draft)

    return still
