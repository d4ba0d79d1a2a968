"""What callers and workers were told, held against what is stored: an OK stands, and a refusal was true when it was given."""

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING

from perdure_server.engine.addresses import address_of
from perdure_server.engine.values import GrantedClaim, SettledOut
from perdure_server.kernel.definition import StepKind
from perdure_server.kernel.rejection import FieldViolation, Reason, Rejection
from perdure_server.kernel.workflow import StepState, Workflow

if TYPE_CHECKING:
    from tests.simulation.world import Simulation

# What a worker may hear of a result. All else is a lie or a fault.
LATE = frozenset({Reason.CLAIM_LOST, Reason.CLAIM_ALREADY_SETTLED, Reason.WORKFLOW_NOT_FOUND})


class Promises:
    """The log of one seed."""

    def __init__(self, simulation: "Simulation") -> None:
        self._simulation = simulation
        self._oracle = simulation.oracle
        self._deliveries: dict[str, str] = {}
        self._begun: Counter[str] = Counter()
        self._begun_of: dict[tuple[str, str], int] = defaultdict(int)  # (run, step)
        self._fresh: Counter[str] = Counter()  # OKs that were no repeats, by nonce
        self.counts: Counter[str] = Counter()

    # -------------------------------------------------------------------------------------------------------------- workers

    def delivered(self, claim: GrantedClaim, worker: str, namespace: str) -> None:
        """A worker of this namespace has a claim that it had not."""
        address = address_of(claim.token)
        if claim.key.namespace != namespace:
            self._oracle.breach(f"{worker} of {namespace} was given a claim of {claim.key.namespace}")
        self.counts["delivered"] += 1
        if address.nonce not in self._oracle.tokens:
            self._oracle.breach(f"{worker} was given a claim of {claim.plan.name} that was never stored")
        if self._deliveries.setdefault(address.nonce, worker) != worker:
            self._oracle.breach(f"one claim went to {self._deliveries[address.nonce]} and to {worker}")

    def begun(self, claim: GrantedClaim) -> None:
        """Its activity begins."""
        address = address_of(claim.token)
        self.counts["begun"] += 1
        self._begun[address.nonce] += 1
        self._begun_of[address.run_id, address.step] += 1
        if self._begun[address.nonce] > 1:
            self._oracle.breach(f"a claim of {claim.plan.name} was begun twice")
        if claim.plan.retry.max_attempts == 1 and claim.hook is None and address.run_id not in self._oracle.migrated:
            happened = self._oracle.happened[address.run_id, address.step]
            most = 1 + sum(happened[event] for event in ("RELEASED", "WAITING", "REOPEN", "RESOLVED"))
            if self._begun_of[address.run_id, address.step] > most:
                self._oracle.breach(f"{claim.key.business_key}/{claim.plan.name}: one attempt, begun more than {most} times")

    def answered(self, claim: GrantedClaim, digest: bytes, item: SettledOut) -> None:
        """A result of it was answered, other than by UNAVAILABLE."""
        address = address_of(claim.token)
        where = f"{claim.key.business_key}/{claim.plan.name}"
        self.counts["answered"] += 1
        error = item.error
        if error is None:
            # After an unknown result of the repeat's write the same state, made in the same millisecond, cannot be told from its own.
            self._fresh[address.nonce] += not item.duplicate and not self._simulation.weather.failures
            if self._oracle.accepted.get(address.nonce) != digest:
                self._oracle.breach(f"{where}: a result was answered OK and is not stored")
            if self._fresh[address.nonce] > 1:
                self._oracle.breach(f"{where}: a result counted twice")
        elif isinstance(error, FieldViolation) or not isinstance(error, Rejection) or error.reason not in LATE:
            self._oracle.breach(f"{where}: a result was refused with {error!r}")
        elif address.nonce in self._oracle.current:
            self._oracle.breach(f"{where}: {error.reason} for a claim that is current")
        elif self._oracle.accepted.get(address.nonce) == digest and error.reason is Reason.CLAIM_ALREADY_SETTLED:
            self._oracle.breach(f"{where}: another outcome is said to be stored, yet it is this one")

    # -------------------------------------------------------------------------------------------------------------- callers

    def check(self, what: str, workflow_id: bytes, mark: int, holds: Callable[[Workflow | None], bool]) -> None:
        """Some state that was stored since the mark must be as the answer says."""
        self.counts[what] += 1
        states = self._oracle.since(workflow_id, mark)
        gone = any(state is not None and state.tombstone is not None for state in states) and holds(None)
        if not gone and not any(holds(state) for state in states):
            seen = [f"{state.state.name} revision {state.revision}" if state is not None else "nothing" for state in states]
            self._oracle.breach(f"{what} was answered, and is true of none of {seen}")

    # ------------------------------------------------------------------------------------------------------------ at the end

    def at_the_end(self) -> None:
        """Everything has healed and had its time."""
        for workflow in self._oracle.workflows():
            with self._oracle.judging():
                self._check_end(workflow)
        for tombstone in self._oracle.tombstones():
            if tombstone.duties:
                self._oracle.breach(f"a tombstone of {tombstone.key.business_key} has still to do {tombstone.duties}")

    def _check_end(self, workflow: Workflow) -> None:
        key = workflow.key.business_key
        if workflow.inert:
            current = self._oracle.latest(workflow.key.workflow_id)
            assert current is None or current.round == workflow.round, f"round {workflow.round} of {key} was archived and never went on"
            return
        states = {name: step.state.name for name, step in workflow.steps.items()}
        assert workflow.is_ended, f"{key} is still {workflow.state.name}: {states}, wakes at {workflow.wake_time}"
        assert not workflow.duties, f"{key} has ended and has still to do {workflow.duties}"
        assert not workflow.sessions, f"{key} has ended and is held by {workflow.sessions}"
        definition = self._simulation.definition_of(workflow)
        for name, step in workflow.steps.items():
            by_person = self._oracle.happened[workflow.run_id, name]["RESOLVED"]
            if workflow.run_id in self._oracle.migrated:
                continue  # what was a wait when it completed may be an activity now
            if step.state is StepState.COMPLETED and definition.by_name[name].kind is StepKind.ACTIVITY and not by_person:
                assert self._begun_of[workflow.run_id, name], f"{key}/{name} is COMPLETED and was never begun"
