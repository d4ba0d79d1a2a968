"""The changes of one command to one instance: nothing is visible until `finish`, and nothing else makes a changed instance."""

from collections.abc import Mapping
from typing import TypeVar

from msgspec.structs import replace

from perdure_server.kernel import limits
from perdure_server.kernel.child_state import Children, Closing, ParentClose
from perdure_server.kernel.definition import Definition, StepDefinition
from perdure_server.kernel.effects import AttemptEnded, DutyTaken, Effect, PermitsFreed, TimerSet
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.transitions import IllegalTransition, StepEvent, WorkflowEvent, check_step, check_workflow
from perdure_server.kernel.values import Failure, LossCause
from perdure_server.kernel.workflow import (
    STEP_ENDS,
    Claim,
    Duty,
    DutyKind,
    Event,
    Paused,
    Settled,
    Step,
    StepState,
    Workflow,
    WorkflowState,
)

T = TypeVar("T")
_BLOCKED = Step(state=StepState.BLOCKED, since=0)
_AT_REST = STEP_ENDS | {StepState.BLOCKED}
_UNTIMED = STEP_ENDS | {StepState.HELD}


class Draft:
    """A copy-on-write view of one workflow while one command is applied at `now`."""

    def __init__(self, definition: Definition, workflow: Workflow, now: int, judging: bool = True) -> None:
        self.definition = definition
        self.judging = judging  # False = attempt deadlines and graces wait: the store was away, and so were the workers' results
        self.workflow = workflow
        self.now = max(now, workflow.update_time)  # an instance never sees time go back, whichever server speaks
        self.effects: list[Effect] = []
        self._steps = dict(workflow.steps)
        self._events: list[Event] = []
        self._fields: dict[str, object] = {}
        self._touched = False
        self.state = workflow.state
        self.remaining = workflow.remaining
        self.completed: list[str] = []  # ended in this draft in a way that the plan goes on from, dependants not yet looked at

    def step(self, name: str) -> Step:
        """The step as it stands in this draft; BLOCKED ones are made up."""
        return self._steps.get(name, _BLOCKED)

    def claim(self, name: str) -> Claim:
        """The claim of a step that is claimed. Raises IllegalTransition if it is not."""
        claim = self.step(name).claim
        if claim is None:
            raise IllegalTransition(f"step {name} has no claim")
        return claim

    @property
    def paused(self) -> Paused | None:
        """The pause as it stands in this draft."""
        return self.get("paused", self.workflow.paused)

    @property
    def plan_time(self) -> int:
        """`now`, but in a pause its beginning: timeouts that begin or stop in it are moved by all of it when it ends."""
        return self.now if self.paused is None else self.paused.since

    def plan(self, name: str) -> StepDefinition:
        """The step's definition."""
        return self.definition.by_name[name]

    @property
    def events(self) -> tuple[Event, ...]:
        """What was noted for watchers in this draft; the ring keeps only the last of it."""
        return tuple(self._events)

    def active(self) -> list[tuple[str, Step]]:
        """The steps that are neither BLOCKED nor ended."""
        return [(name, step) for name, step in self._steps.items() if step.state not in _AT_REST]

    def get(self, field: str, default: T) -> T:
        """A workflow field as changed in this draft, else `default` (pass the stored value)."""
        return self._fields.get(field, default)  # type: ignore[return-value]  # `set` is given every field under its own type

    def set(self, **fields: object) -> None:
        """Change fields of the workflow."""
        self._fields.update(fields)

    def touch(self) -> None:
        """Make the draft count as changed, so that the derived fields are written again."""
        self._touched = True

    def amend(self, name: str, **fields: object) -> Step:
        """Change fields of a step that stays in its state."""
        step = replace(self.step(name), **fields)
        self._steps[name] = step
        self._touched = True
        return step

    def move(self, name: str, event: StepEvent, target: StepState, **fields: object) -> Step:
        """Bring a step into another state by the table, change its `fields`, and note the event for watchers.

        What belongs to the state that it leaves (due time, open wait), and to a step that can still run (its own time), goes by itself.
        """
        before = self.step(name)
        check_step(before.state, event, target)
        self._count(name, before.state, target)
        if target in STEP_ENDS:
            fields["ended"] = self.now
            fields.setdefault("end_seq", before.end_seq if before.state in STEP_ENDS else self._next_seq())
        if before.due is not None:
            fields.setdefault("due", None)
        if before.wait:
            fields.setdefault("wait", ())
        if before.children is not None and target in STEP_ENDS:
            fields["children"] = self.close_children(name)
        if target in _UNTIMED:
            fields |= {"step_deadline": None, "step_left": None}
        if before.throttled is not None:
            waited = before.permit_wait_time + self.now - before.throttled.since
            fields |= {"throttled": None, "queue_left": None, "permit_wait_time": waited}
        step = replace(before, state=target, since=self.now, **fields)
        self._steps[name] = step
        self._touched = True
        if before.claim is not None and before.claim.permits and step.claim is None:
            self.effects.append(PermitsFreed(before.claim))
        if target in (StepState.WAITING, StepState.BACKOFF) and step.due is not None:
            self.effects.append(TimerSet(step.due))
        self._note(name, event.name, step, step.failure if "failure" in fields else None)
        return step

    def close_children(self, name: str) -> Children | None:
        """The step goes no further with its open children: nobody tends them, and its policy, as a duty, says what becomes of them."""
        step, plan = self.step(name), self.plan(name)
        children = step.children
        if children is None or plan.child is None:
            return children
        known = self.get("duties", self.workflow.duties)
        duties = tuple(duty for duty in known if duty.kind is not DutyKind.TEND_CHILDREN or duty.subject != name)
        children = replace(children, page=None, page_cursor=None)
        if children.open and plan.parent_close is not ParentClose.ABANDON:
            closing = Closing(name, step.generation, self.workflow.run_id, plan.child.workflow_type, plan.parent_close, children.open)
            due = self.now + limits.DUTY_RETRY_FIRST
            duty = Duty(DutyKind.CLOSE_CHILDREN, self.workflow.round, due, subject=closing.subject())
            duties = (*duties, duty)
            self.effects.append(DutyTaken(duty))
            children = replace(children, open=(), cancelled=children.cancelled + len(children.open))
        if duties != known:
            self.set(duties=duties)
        return children

    def _count(self, name: str, before: StepState, after: StepState) -> None:
        if (before in STEP_ENDS) != (after in STEP_ENDS) and name not in self.definition.hook_steps:
            self.remaining += -1 if after in STEP_ENDS else 1

    def _next_seq(self) -> int:
        return self.workflow.event_seq + len(self._events) + 1

    def turn(self, event: WorkflowEvent, target: WorkflowState) -> None:
        """Bring the workflow into another state by the table, and note the event for watchers."""
        check_workflow(self.state, event, target)
        self.state = target
        self._fields["state"] = target
        self.note_workflow(target, event.name)

    def note_workflow(self, state: WorkflowState, reason: str) -> None:
        """Note a state of the workflow itself for watchers."""
        seq = self._next_seq()
        failure = self.get("failure", self.workflow.failure)
        self._events.append(
            Event(
                seq,
                self.now,
                "",
                int(state),
                reason,
                failure_type=failure.type if failure else "",
                failure_message=failure.message if failure else "",
            )
        )

    def settle(self, name: str, outcome: str, settled: Settled, failure: Failure | None = None) -> tuple[Settled, ...]:
        """Take the step's claim away and remember its token; returns the step's new memory (the caller puts it into its `move`)."""
        step = self.step(name)
        self.effects.append(AttemptEnded(name, self.claim(name), step.claim_no, step.attempt, outcome, failure))
        return (*step.settled[-(limits.SETTLED_TOKENS - 1) :], settled)

    def transplant(self, definition: Definition, names: Mapping[str, str]) -> None:
        """Go on by another definition: the steps in `names` under their new names, no others."""
        self._steps = {names[name]: step for name, step in self._steps.items() if name in names}
        self.definition = definition.with_options(self.get("step_options", self.workflow.step_options))
        self.remaining = sum(self.step(name).state not in STEP_ENDS for name in definition.ordinary)
        self._touched = True
        self.set(fingerprint=definition.fingerprint, step_count=len(definition.steps), policy_revision=definition.policy_revision)

    def finish(self) -> Workflow:
        """The changed instance (the same object if nothing changed). `revision` and the derived fields are set when it is sealed."""
        if self._events:
            events = (*self.workflow.events, *self._events)[-limits.EVENT_RING :]
            self._fields["events"] = events
            self._fields["event_seq"] = self.workflow.event_seq + len(self._events)
        if self.remaining != self.workflow.remaining:
            self._fields["remaining"] = self.remaining
        else:
            self._fields.pop("remaining", None)  # of an earlier look at what the draft had made
        if self._touched:
            self._fields["steps"] = self._steps
        if not self._fields:
            return self.workflow
        stays_ended = self.workflow.is_ended and self.state == self.workflow.state
        if self.definition.policy_revision > self.workflow.policy_revision and not stays_ended:
            self._fields.setdefault("policy_revision", self.definition.policy_revision)
        self._fields["update_time"] = self.now
        return replace(self.workflow, **self._fields)

    def note_step(self, name: str, reason: str) -> None:
        """Note for watchers something about a step that stays in its state."""
        self._note(name, reason, self.step(name), None)

    def _note(self, name: str, reason: str, step: Step, failure: Failure | None) -> None:
        seq = self._next_seq()
        self._events.append(
            Event(
                seq,
                self.now,
                name,
                int(step.state),
                reason,
                step.claim_no,
                step.attempt,
                step.last_frame_seq,
                failure.type if failure else "",
                failure.message if failure else "",
            )
        )


def require_claim(draft: Draft, name: str, nonce: str) -> tuple[Step, Claim]:
    """The step and its claim if `nonce` is its current token; otherwise CLAIM_LOST with the cause."""
    if name not in draft.definition.by_name:
        raise claim_lost(LossCause.UNKNOWN)
    step = draft.step(name)
    if step.claim is not None and step.claim.nonce == nonce:
        return step, step.claim
    raise claim_lost(loss_cause(draft.workflow, step, nonce))


def loss_cause(workflow: Workflow, step: Step, nonce: str) -> LossCause:
    """Why this token is not current, as far as it is remembered."""
    for settled in step.settled:
        if settled.nonce == nonce and settled.cause is not LossCause.UNKNOWN:
            return settled.cause
    return LossCause.CLOSED if workflow.is_ended else LossCause.UNKNOWN


def claim_lost(cause: LossCause) -> Rejection:
    """The refusal of a token that is not current."""
    return Rejection(Reason.CLAIM_LOST, "This claim is no longer yours: drop the work, do not retry.", cause=cause.name)
