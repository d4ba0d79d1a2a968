"""A bench for the rules: plans in a line, commands with minted tokens, a clock that moves by hand, every change sealed and checked.

`run = Run(plan("a", "b: a"))`, then `run.grant("a")`, `run.complete("a", 1)`, and `run.state("b")` is READY.
"""

import itertools
import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from perdure_server.kernel import cancel as cancelling
from perdure_server.kernel import claims, outcomes, people, signals, timing
from perdure_server.kernel.canonical import payload_digest
from perdure_server.kernel.claims import Ticket
from perdure_server.kernel.contracts import with_contracts
from perdure_server.kernel.definition import INPUT, Definition, StepDefinition, StepKind
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.effects import Effect, PermitsFreed, StepReady
from perdure_server.kernel.outcomes import Cancelled, Completed, Failed, Outcome, Released, Report, Waiting
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.resolving import Resolution, resolve
from perdure_server.kernel.seal import seal
from perdure_server.kernel.start import Start, begin
from perdure_server.kernel.validation import validate
from perdure_server.kernel.values import Condition, Failure, Payload, Trace, Wait
from perdure_server.kernel.workflow import Claim, HeldPermit, Paused, Signal, Step, StepState, Workflow, WorkflowKey, WorkflowState
from tests.kernel.invariants import check_change, state_of

R = TypeVar("R")

T0 = 1_800_000_000_000  # some time in 2027
RENEWAL = 10_000
KEY = WorkflowKey("default", "note", "note-1")
TRACE = Trace("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331")
_count = itertools.count(1)


# ------------------------------------------------------------------------------------------------------------------ plans


def activity(text: str, **fields: Any) -> StepDefinition:
    """`"name"` or `"name: dependency dependency"`; it needs what it depends on, or the input."""
    name, _, after = text.partition(":")
    depends_on = tuple(after.replace(",", " ").split())
    return StepDefinition(name.strip(), **({"depends_on": depends_on, "needs": depends_on or (INPUT,)} | fields))


def waiting(text: str, *any_of: Condition, **fields: Any) -> StepDefinition:
    """A wait step."""
    return activity(text, kind=StepKind.WAIT, wait=Wait(any_of), **fields)


def plan(*steps: str | StepDefinition, **fields: Any) -> Definition:
    """A valid definition with its contracts. Fields of Definition by name."""
    built = tuple(step if isinstance(step, StepDefinition) else activity(step) for step in steps)
    definition = Definition(**({"namespace": KEY.namespace, "workflow_type": KEY.workflow_type, "steps": built} | fields))
    validate(definition, RENEWAL)
    return with_contracts(definition)


def chain(length: int, make: Callable[[str], StepDefinition] = activity) -> Definition:
    """Steps s0 .. sN, each after the one before."""
    return plan(*(make(f"s{number}: s{number - 1}" if number else "s0") for number in range(length)))


def on_signal(name: str, count: int = 1, as_name: str = "") -> Condition:
    """A condition on signals, named after them."""
    return Condition(as_name or name, signal=name, count=count)


def after(duration: int, name: str = "timer") -> Condition:
    """A condition on a duration in ms."""
    return Condition(name, after=duration)


def at(time: int, name: str = "timer") -> Condition:
    """A condition on a time in ms."""
    return Condition(name, at=time)


def payload(value: object) -> Payload:
    """A JSON payload."""
    return Payload(json=json.dumps(value))


def start(**fields: Any) -> Start:
    """A start command; `input` may be a plain value."""
    given = fields.pop("input", None)
    content = given if given is None or isinstance(given, Payload) else payload(given)
    digest = payload_digest("input", content)
    made = Start(KEY, f"{next(_count):024x}", TRACE, wake_secret="f" * 32, input=content, input_digest=digest)
    return replace(made, **fields)


def signal(name: str, signal_id: str = "", value: object = None, time: int = T0) -> Signal:
    """A signal; its id is minted if none is given."""
    return Signal(signal_id or f"signal-{next(_count)}", name, time, None if value is None else payload(value))


def refused(reason: Reason, act: Callable[[], object]) -> Mapping[str, str]:
    """The facts of the rejection that `act` must raise."""
    with pytest.raises(Rejection) as caught:
        act()
    assert caught.value.reason is reason, caught.value
    return caught.value.facts


# -------------------------------------------------------------------------------------------------------------------- runs


class Run:
    """One workflow on the bench. `effects` are those of the last command; `tally` counts per step what happened to its claims."""

    def __init__(self, definition: Definition, now: int = T0, **start_fields: Any) -> None:
        self.definition = definition
        self.now = now
        self.tally: dict[str, Counter[str]] = {step.name: Counter() for step in definition.steps}
        self.anew: Counter[str] = Counter()  # how often a step's attempts began anew
        begun, effects = begin(definition, start(**start_fields), now)
        self.holders: dict[str, tuple[HeldPermit, ...]] = {}  # permits out at claims, by nonce, as the effects say
        self.effects: list[Effect] = list(effects)
        self.workflow: Workflow = seal(definition, None, begun, now)
        check_change(definition, None, self.workflow)

    def do(self, rule: Callable[[Draft], R]) -> R:
        """Apply one rule; a changed instance is sealed and checked, a refused one is left as it was."""
        draft = Draft(self.definition, self.workflow, self.now)
        answer = rule(draft)
        changed = draft.finish()
        self.effects = draft.effects
        for effect in draft.effects:
            if isinstance(effect, PermitsFreed):
                del self.holders[effect.claim.nonce]
        self.definition = draft.definition
        self.tally = {step.name: self.tally.get(step.name, Counter()) for step in self.definition.steps}  # a migration changes them
        if changed is not self.workflow:
            sealed = seal(self.definition, self.workflow, changed, self.now)
            check_change(self.definition, self.workflow, sealed)
            for name, step in sealed.steps.items():
                self.anew[name] += step.total_attempts > self.step(name).total_attempts
            self.workflow = sealed
        self._check_formula()
        self._check_holders()
        return answer

    def _check_holders(self) -> None:
        claims = [step.claim for step in self.workflow.steps.values() if step.claim is not None]
        current = {claim.nonce: claim.permits for claim in claims if claim.permits}
        self.holders.update({nonce: permits for nonce, permits in current.items() if nonce not in self.holders})
        assert self.holders == current, "permits are out at claims that are gone"

    def _check_formula(self) -> None:
        # executions <= max_attempts + releases + waits + undelivered, as published
        for name, counts in self.tally.items():
            most = self.definition.by_name[name].retry.max_attempts
            refunds = counts["released"] + counts["waiting"] + counts["undelivered"]
            if most is not None and not self.definition.is_required(name):
                assert self.step(name).claim_no <= most * (1 + self.anew[name]) + refunds, name

    # ------------------------------------------------------------------------------------------------------------ looking

    def step(self, name: str) -> Step:
        """The stored step (a made-up one if it is BLOCKED)."""
        return self.workflow.steps.get(name, Step(StepState.BLOCKED, 0))

    def state(self, name: str) -> StepState:
        """The state of a step."""
        return state_of(self.workflow, name)

    def states(self) -> dict[str, str]:
        """All steps' states by name."""
        return {step.name: self.state(step.name).name for step in self.definition.steps}

    def is_(self) -> WorkflowState:
        """The workflow's state. A method, so that mypy does not believe that it stays what an assertion found."""
        return self.workflow.state

    def claim(self, name: str) -> Claim:
        """The current claim of a step."""
        claim = self.step(name).claim
        assert claim is not None, f"{name} is {self.state(name).name}"
        return claim

    def announced(self) -> list[str]:
        """The steps that the last command announced as READY."""
        return [effect.step for effect in self.effects if isinstance(effect, StepReady)]

    def count(self, kind: type[Effect]) -> int:
        """How many effects of a kind the last command had."""
        return sum(isinstance(effect, kind) for effect in self.effects)

    def events_of(self, name: str) -> list[str]:
        """What happened to a step, as watchers are told (the last 64 events)."""
        return [f"{event.reason}>{StepState(event.state).name}" for event in self.workflow.events if event.step == name]

    # ------------------------------------------------------------------------------------------------------------- claims

    def grant(self, name: str, session: str = "worker-1", acknowledged: bool = True, nonce: str = "", **ticket_fields: Any) -> str:
        """Grant the step, with the permits that it needs; returns the token's nonce."""
        ticket = Ticket(nonce or f"{next(_count):028x}", f"{next(_count):016x}", session, 1, acknowledged)
        known = self.definition.by_name.get(name)
        needed = tuple(HeldPermit(permit.resource, permit.units) for permit in known.permits) if known is not None else ()
        ticket = replace(ticket, **({"permits": needed, "permits_for": (self.workflow.run_id, self.workflow.revision)} | ticket_fields))
        before = self.step(name).claim_no
        claim = self.do(lambda draft: claims.grant(draft, name, ticket))
        self.tally[name]["granted"] += self.step(name).claim_no - before
        return claim.nonce

    def acknowledge(self, name: str, nonce: str = "") -> None:
        """The worker is known to have the claim."""
        token = nonce or self.claim(name).nonce
        self.do(lambda draft: claims.acknowledge(draft, name, token))

    def checkpoint(self, name: str, number: int, value: object, nonce: str = "") -> bool:
        """Store a checkpoint."""
        token = nonce or self.claim(name).nonce
        return self.do(lambda draft: claims.checkpoint(draft, name, token, number, None if value is None else payload(value)))

    def report(self, name: str, outcome: Outcome, nonce: str = "", digest: bytes = b"", **fields: Any) -> bool:
        """Report an outcome; its digest is made from it."""
        token = nonce or self.claim(name).nonce
        command = Report(name, token, outcome, digest or repr(outcome).encode(), **fields)
        applied = self.do(lambda draft: outcomes.report(draft, command))
        if applied:
            self.tally[name][type(outcome).__name__.lower()] += 1
        return applied

    def complete(self, name: str, value: object = None, nonce: str = "") -> bool:
        """Report completed."""
        return self.report(name, Completed(None if value is None else payload(value)), nonce)

    def fail(self, name: str, type_: str = "boom", nonce: str = "", dice: float = 0.5, **failure: Any) -> bool:
        """Report failed."""
        return self.report(name, Failed(Failure(type_, **failure)), nonce, dice=dice)

    def wait(self, name: str, *any_of: Condition, nonce: str = "", **fields: Any) -> bool:
        """Report waiting."""
        return self.report(name, Waiting(Wait(any_of), **fields), nonce)

    def release(self, name: str, nonce: str = "", **fields: Any) -> bool:
        """Report released."""
        return self.report(name, Released(**fields), nonce)

    def confirm(self, name: str, nonce: str = "") -> bool:
        """Report cancelled."""
        return self.report(name, Cancelled(), nonce)

    def undelivered(self, name: str, nonce: str = "") -> None:
        """The claim never arrived."""
        token = nonce or self.claim(name).nonce
        self.do(lambda draft: claims.undelivered(draft, name, token))
        self.tally[name]["undelivered"] += 1

    def lose(self, name: str, nonce: str = "") -> None:
        """The worker no longer knows the claim."""
        token = nonce or self.claim(name).nonce
        self.do(lambda draft: claims.lose(draft, name, token))

    def lose_session(self, session: str = "worker-1", held: frozenset[str] = frozenset()) -> None:
        """The worker is dead."""
        for name, step in self.workflow.steps.items():
            if step.claim is not None and step.claim.session_id == session and not step.claim.acknowledged and step.claim.nonce not in held:
                self.tally[name]["undelivered"] += 1
        self.do(lambda draft: claims.lose_session(draft, session, held))

    def silence(self, name: str, dice: float = 0.5) -> None:
        """The activity shows no life."""
        token = self.claim(name).nonce
        self.do(lambda draft: claims.silence(draft, name, token, dice))

    # ------------------------------------------------------------------------------------------------- signals, time, cancel

    def signal(self, name: str, signal_id: str = "", value: object = None) -> bool:
        """Send a signal. True = stored now."""
        sent = signal(name, signal_id, value, self.now)
        return self.do(lambda draft: signals.receive(draft, sent))

    def cancel(self, reason: str = "", request_id: str = "") -> bool:
        """Ask to cancel. True = accepted now."""
        return self.do(lambda draft: cancelling.cancel(draft, reason, request_id))

    # -------------------------------------------------------------------------------------------------------------- people

    def pause(self, request_id: str = "") -> bool:
        """No grants."""
        return self.do(lambda draft: people.pause(draft, Paused(0, "kim", "look"), request_id))

    def resume(self, request_id: str = "") -> bool:
        """Grants again."""
        return self.do(lambda draft: people.resume(draft, request_id))

    def terminate(self, reason: str = "", request_id: str = "") -> bool:
        """End it at once."""
        return self.do(lambda draft: people.terminate(draft, reason, request_id))

    def replay(self, *reopen: str, request_id: str = "") -> bool:
        """Open it again."""
        return self.do(lambda draft: people.replay(draft, reopen, request_id))

    def resolve(self, name: str, resolution: Resolution, request_id: str = "") -> bool:
        """Settle a step by a person's word."""
        return self.do(lambda draft: resolve(draft, name, resolution, request_id))

    def tick(self, dice: float = 0.5) -> None:
        """Do what is due."""
        self.do(lambda draft: timing.fire_due(draft, dice))

    def pass_time(self, duration: int, dice: float = 0.5) -> None:
        """Move the clock by `duration` ms, and do what is due."""
        self.now += duration
        self.tick(dice)

    def run_through(self, *names: str) -> None:
        """Grant and complete steps, one after the other."""
        for name in names:
            self.grant(name)
            self.complete(name, name)
