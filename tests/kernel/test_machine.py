"""Random plans, random commands in random order: the invariants hold after every one, and nothing but a typed refusal is ever raised."""

import json
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from perdure_server.kernel import limits
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.outcomes import Completed, Failed, Outcome, Released
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.resolving import PassedOver, Resolution, Retried
from perdure_server.kernel.values import Failure
from perdure_server.kernel.workflow import CLAIMED, Settled, StepState
from tests.kernel.harness import Run, payload, refused, signal
from tests.kernel.invariants import next_due
from tests.kernel.memory import Memory
from tests.kernel.plans import DICE, OUTCOMES, REQUESTS, RIDING, SIGNALS, STARTS, VALUES, WORKERS, definitions


class Workflows(RuleBasedStateMachine):
    """One workflow under every command there is. `Run.do` checks the invariants of tests/kernel/invariants.py after each change."""

    @initialize(definition=definitions(), start_at=STARTS, riding=RIDING)
    def begin(self, definition: Definition, start_at: int | None, riding: list[str]) -> None:
        """Start it."""
        signals = tuple(signal(name, f"riding-{number}") for number, name in enumerate(riding))
        self.run_ = Run(definition, start_at=start_at, signals=signals)
        self.consumed: set[str] = set()
        self.received = {sent.signal_id for sent in signals}
        self.reports: list[tuple[str, str, Outcome]] = []
        self.memory = Memory()
        self.commands = 0

    @precondition(lambda self: self.run_.workflow.is_ended)
    @rule(definition=definitions(), start_at=STARTS, riding=RIDING)
    def begin_another(self, definition: Definition, start_at: int | None, riding: list[str]) -> None:
        """Go on with a new one, as little can happen to one that has ended."""
        self.begin(definition, start_at, riding)

    # --------------------------------------------------------------------------------------------------------------- choosing

    def in_state(self, *states: StepState) -> list[str]:
        """The steps in one of these states; nothing is READY for a grant in a pause."""
        if self.run_.workflow.paused is not None and states == (StepState.READY,):
            return []
        return [name for name, step in self.run_.workflow.steps.items() if step.state in states]

    def choose(self, data: st.DataObject, *states: StepState) -> str:
        """One of the steps in these states."""
        return data.draw(st.sampled_from(self.in_state(*states)))

    def try_(self, act: Callable[[], Any], *reasons: Reason) -> Any:
        """Do it; only these refusals are allowed, and they change nothing."""
        before = self.run_.workflow
        try:
            return act()
        except Rejection as rejection:
            if rejection.reason not in reasons:
                raise
        assert self.run_.workflow is before
        return None

    def settle(self, name: str, outcome: Outcome, dice: float) -> None:
        """Report on a step's claim, and remember what, for a repeat."""
        nonce = self.run_.claim(name).nonce
        if isinstance(outcome, Completed):
            outcome = replace(outcome, choose=self.branches_of(name)[: int(dice * 3)])
        assert self.run_.report(name, outcome, nonce, dice=dice) is True
        self.reports.append((name, nonce, outcome))

    def branches_of(self, name: str) -> tuple[str, ...]:
        """The branches that a step may choose."""
        return tuple(branch.name for branch in self.run_.definition.by_name[name].branches)

    # ------------------------------------------------------------------------------------------------------------------- claims

    @precondition(lambda self: self.in_state(StepState.READY))
    @rule(data=st.data(), worker=st.sampled_from(WORKERS), acknowledged=st.booleans(), many=st.integers(1, 4))
    def grant(self, data: st.DataObject, worker: str, acknowledged: bool, many: int) -> None:
        """A worker takes some steps."""
        for _ in range(many):
            if self.in_state(StepState.READY):
                self.run_.grant(self.choose(data, StepState.READY), worker, acknowledged)

    @rule(number=st.integers(0, 5))
    def grant_anything(self, number: int) -> None:
        """A grant of whatever step."""
        name = f"s{number}"
        if self.run_.state(name) is StepState.READY and self.run_.workflow.paused is None:
            return
        self.try_(lambda: self.run_.grant(name), Reason.STEP_STATE_INVALID)

    @precondition(lambda self: self.in_state(*CLAIMED))
    @rule(data=st.data())
    def acknowledge(self, data: st.DataObject) -> None:
        """A worker is seen to have a claim."""
        self.run_.acknowledge(self.choose(data, *CLAIMED))

    @precondition(lambda self: self.in_state(*CLAIMED))
    @rule(data=st.data(), number=st.integers(0, 4), value=VALUES)
    def checkpoint(self, data: st.DataObject, number: int, value: object) -> None:
        """A worker stores a checkpoint, perhaps an old one."""
        self.run_.checkpoint(self.choose(data, *CLAIMED), number, value)

    @precondition(lambda self: self.in_state(*CLAIMED))
    @rule(data=st.data())
    def undelivered(self, data: st.DataObject) -> None:
        """A claim never arrived."""
        self.run_.undelivered(self.choose(data, *CLAIMED))

    @precondition(lambda self: self.in_state(*CLAIMED))
    @rule(data=st.data())
    def lose(self, data: st.DataObject) -> None:
        """A worker forgot a claim."""
        self.run_.lose(self.choose(data, *CLAIMED))

    @rule(worker=st.sampled_from(WORKERS))
    def lose_session(self, worker: str) -> None:
        """A worker dies."""
        self.run_.lose_session(worker)
        assert worker not in self.run_.workflow.sessions

    @precondition(lambda self: self.in_state(*CLAIMED))
    @rule(data=st.data(), dice=DICE)
    def silence(self, data: st.DataObject, dice: float) -> None:
        """An activity is silent."""
        self.run_.silence(self.choose(data, *CLAIMED), dice)

    # ------------------------------------------------------------------------------------------------------------------ results

    @precondition(lambda self: self.in_state(*CLAIMED))
    @rule(data=st.data(), outcome=OUTCOMES, dice=DICE)
    def report(self, data: st.DataObject, outcome: Outcome, dice: float) -> None:
        """A worker reports on a claim."""
        self.settle(self.choose(data, *CLAIMED), outcome, dice)

    @precondition(lambda self: self.in_state(StepState.READY))
    @rule(data=st.data(), outcomes=st.lists(OUTCOMES, min_size=1, max_size=8))
    def work(self, data: st.DataObject, outcomes: list[Outcome]) -> None:
        """Workers take what is ready, one after the other, and report at once."""
        for outcome in outcomes:
            if not self.in_state(StepState.READY):
                return
            name = self.choose(data, StepState.READY)
            self.run_.grant(name)
            self.settle(name, outcome, 0.5)

    @precondition(lambda self: self.in_state(StepState.CANCELLING))
    @rule(data=st.data(), outcome=OUTCOMES)
    def wind_down(self, data: st.DataObject, outcome: Outcome) -> None:
        """A worker answers a request to stop, in whatever way."""
        self.settle(self.choose(data, StepState.CANCELLING), outcome, 0.5)

    @precondition(lambda self: self.in_state(StepState.READY))
    @rule(data=st.data(), times=st.sampled_from([2, 5, 20]), arrives=st.booleans())
    def return_often(self, data: st.DataObject, times: int, arrives: bool) -> None:
        """Claims of one step come back unused, many in a row."""
        name = self.choose(data, StepState.READY)
        for _ in range(times):
            if self.run_.state(name) is StepState.BACKOFF:
                self.run_.pass_time(limits.MINUTE)
            if self.run_.state(name) is not StepState.READY:
                return
            self.run_.grant(name, acknowledged=False)
            if arrives:
                self.settle(name, Released(), 0.5)
            else:
                self.run_.undelivered(name)

    @precondition(lambda self: self.reports)
    @rule(data=st.data())
    def repeat(self, data: st.DataObject) -> None:
        """The same result again: no effect while it is remembered, and a clear refusal later."""
        name, nonce, outcome = data.draw(st.sampled_from(self.reports))
        before = self.run_.workflow
        remembered = nonce in {settled.nonce for settled in self.run_.step(name).settled}
        if remembered:
            assert self.run_.report(name, outcome, nonce) is False
        else:
            refused(Reason.CLAIM_LOST, lambda: self.run_.report(name, outcome, nonce))
        assert self.run_.workflow is before

    @precondition(lambda self: self.settled())
    @rule(data=st.data())
    def late(self, data: st.DataObject) -> None:
        """An old token with another outcome changes nothing."""
        name, memory = data.draw(st.sampled_from(self.settled()))
        reason = Reason.CLAIM_ALREADY_SETTLED if memory.digest else Reason.CLAIM_LOST
        before = self.run_.workflow
        refused(reason, lambda: self.run_.complete(name, "another outcome", nonce=memory.nonce))
        refused(Reason.CLAIM_LOST, lambda: self.run_.checkpoint(name, 99, "late", nonce=memory.nonce))
        assert self.run_.workflow is before

    def settled(self) -> list[tuple[str, Settled]]:
        """All remembered tokens."""
        return [(name, memory) for name, step in self.run_.workflow.steps.items() for memory in step.settled]

    # -------------------------------------------------------------------------------------------------- signals, cancel and time

    @rule(name=st.sampled_from(SIGNALS), number=st.integers(0, 30))
    def signal(self, name: str, number: int) -> None:
        """A signal arrives, perhaps for the second time."""
        signal_id = f"sent-{number}"
        stored = self.try_(lambda: self.run_.signal(name, signal_id, number), Reason.WORKFLOW_CLOSED)
        if stored is not None:
            assert stored == (signal_id not in self.received)
            self.received.add(signal_id)

    @precondition(lambda self: self.commands > 10 or len(self.in_state(*CLAIMED)) > 1)
    @rule(request_id=st.sampled_from(["", "r1", "r2"]))
    def cancel(self, request_id: str) -> None:
        """Someone asks to cancel."""
        self.try_(lambda: self.run_.cancel("because", request_id), Reason.WORKFLOW_CLOSED, Reason.WORKFLOW_FAILING)

    # ------------------------------------------------------------------------------------------------------------------- people

    @precondition(lambda self: self.commands > 5)
    @rule(request_id=REQUESTS)
    def pause(self, request_id: str) -> None:
        """Someone pauses it."""
        self.try_(lambda: self.run_.pause(request_id), Reason.WORKFLOW_CLOSED, Reason.WORKFLOW_STATE_INVALID)

    @rule(request_id=REQUESTS)
    def resume(self, request_id: str) -> None:
        """Someone resumes it."""
        self.try_(lambda: self.run_.resume(request_id), Reason.WORKFLOW_CLOSED)

    @precondition(lambda self: self.commands > 15)
    @rule(request_id=REQUESTS)
    def terminate(self, request_id: str) -> None:
        """Someone ends it."""
        if self.try_(lambda: self.run_.terminate("enough", request_id), Reason.WORKFLOW_CLOSED):
            assert not self.in_state(*CLAIMED)

    @precondition(lambda self: self.run_.workflow.is_ended)
    @rule(data=st.data(), request_id=REQUESTS)
    def replay(self, data: st.DataObject, request_id: str) -> None:
        """Someone opens it again, perhaps with completed steps."""
        done = [name for name in self.run_.definition.ordinary if self.run_.state(name) is StepState.COMPLETED]
        named = data.draw(st.sets(st.sampled_from(done), max_size=2)) if done else set()
        self.try_(lambda: self.run_.replay(*sorted(named), request_id=request_id), Reason.WORKFLOW_STATE_INVALID)

    @rule(data=st.data(), request_id=REQUESTS, kind=st.sampled_from(["complete", "fail", "retry", "clear", "pass"]))
    def resolve(self, data: st.DataObject, request_id: str, kind: str) -> None:
        """Someone settles a step."""
        name = data.draw(st.sampled_from([step.name for step in self.run_.definition.steps]))
        resolutions: dict[str, Resolution] = {
            "complete": Completed(payload(1), self.branches_of(name)[:1]),
            "fail": Failed(Failure("by.hand")),
            "retry": Retried(),
            "clear": Retried(clear_checkpoint=True),
            "pass": PassedOver(),
        }
        self.try_(lambda: self.run_.resolve(name, resolutions[kind], request_id), Reason.STEP_STATE_INVALID)

    # --------------------------------------------------------------------------------------------------------------------- time

    @rule(duration=st.sampled_from([1, 49, 50, 999, 5_000, 60_000, limits.DAY]), dice=DICE)
    def pass_time(self, duration: int, dice: float) -> None:
        """Time passes, and the sweep looks."""
        self.run_.pass_time(duration, dice)
        self.nothing_is_due()

    @precondition(lambda self: self.run_.workflow.wake_time is not None)
    @rule(dice=DICE)
    def sweep(self, dice: float) -> None:
        """The sweep comes exactly when it was told to."""
        wake = self.run_.workflow.wake_time
        assert wake is not None
        self.run_.now = max(self.run_.now, wake)
        self.run_.tick(dice)
        self.nothing_is_due()
        self.run_.do(lambda draft: draft.touch() if not draft.workflow.is_ended else None)

    def nothing_is_due(self) -> None:
        """What time does by itself is done (whether a claim was delivered is for the engine to judge)."""
        due = next_due(self.run_.workflow, delivered=True)
        assert due is None or due > self.run_.now

    @rule(duration=st.integers(1, 5_000))
    def clock_of_another_server(self, duration: int) -> None:
        """A server that is behind has the next word."""
        self.run_.now -= duration

    # --------------------------------------------------------------------------------------------------------------- invariants

    @invariant()
    def note_consumed(self) -> None:
        """Each signal is consumed once at most, and none is lost."""
        self.commands += 1
        inbox = {kept.signal_id for kept in self.run_.workflow.inbox}
        gone = self.received - inbox
        assert inbox <= self.received
        assert self.consumed <= gone, "a consumed signal came back"
        self.consumed = gone
        named = [signal_id for name in self.run_.workflow.steps for signal_id in self.signals_of(name)]
        assert len(set(named)) == len(named), "one signal woke two steps"
        assert set(named) <= gone

    def signals_of(self, name: str) -> list[str]:
        """The ids of the signals that a step now holds or gave out."""
        step = self.run_.step(name)
        if self.run_.definition.by_name[name].wait is not None and step.output is not None and step.output.json is not None:
            result = json.loads(step.output.json)  # a number if a person completed it
            return [wake["signalId"] for wake in result["wakes"] if "signalId" in wake] if isinstance(result, dict) else []
        return [wake.signal_id for wake in step.wakes if wake.signal_id]

    @invariant()
    def keep_what_was_promised(self) -> None:
        """Tokens and outputs stay what they were; somebody looks at every step."""
        self.memory.check(self.run_.workflow)

    @invariant()
    def the_sweep_is_never_late(self) -> None:
        """wake_time <= what falls due next."""
        workflow = self.run_.workflow
        due = None if workflow.is_ended else next_due(workflow)
        assert due is None or (workflow.wake_time is not None and workflow.wake_time <= due)


Workflows.TestCase.settings = settings(
    max_examples=500 if settings.get_current_profile_name() == "long" else 60,
    stateful_step_count=40,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
TestWorkflows = Workflows.TestCase
