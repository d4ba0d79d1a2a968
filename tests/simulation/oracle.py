"""What is stored, change by change, and the promises that every single change must keep."""

import hashlib
import json
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from perdure_server.kernel.definition import Definition
from perdure_server.kernel.workflow import Event, Step, StepState, Workflow
from tests.kernel.invariants import check_change

LATE = 3_000  # ms that a local read may lie back


class Version(NamedTuple):
    """One stored state; `workflow` None = deleted."""

    time: int
    workflow: Workflow | None


class Token(NamedTuple):
    """A claim token: whose it is."""

    workflow_id: bytes
    run_id: str
    step: str


class Oracle:
    """Told of every stored change. A breach is collected, not raised: the engine would take it for a failed write."""

    def __init__(self, now: Callable[[], int], definition_of: Callable[[Workflow], Definition]) -> None:
        self._now = now
        self._definition_of = definition_of
        self.history: dict[bytes, list[Version]] = defaultdict(list)
        self.breaches: list[str] = []
        self.tokens: dict[str, Token] = {}
        self.current: dict[str, Token] = {}  # tokens that are claims now
        self.accepted: dict[str, bytes] = {}  # nonce -> digest of the outcome that was stored for it
        self.happened: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)  # (run, step) -> what, by event
        self.consumed: dict[str, set[str]] = defaultdict(set)  # by run
        self.watched: Callable[[], None] = lambda: None  # looks at every change, too
        self.witnesses: list[Callable[[Workflow | None, Workflow], None]] = []  # told of every change: before, and after
        self.migrated: set[str] = set()  # runs that went on by another definition
        self.fences: dict[bytes, int] = {}  # the highest of each key
        self.digest = hashlib.sha256()
        self.changes = 0

    # ------------------------------------------------------------------------------------------------------------ breaches

    def breach(self, text: str) -> None:
        """A promise is broken."""
        self.breaches.append(f"at {self._now() % 10**9} ms: {text}")

    @contextmanager
    def judging(self) -> Iterator[None]:
        """A failed assertion inside is a breach."""
        try:
            yield
        except AssertionError:
            self.breach(traceback.format_exc(limit=-4))

    def failures(self, server: str, count: int) -> None:
        """A server says how many of its works failed in a way that nobody foresaw."""
        if count:
            self.breach(f"{server}: {count} works failed, see its log")

    # -------------------------------------------------------------------------------------------------------------- reading

    def latest(self, workflow_id: bytes) -> Workflow | None:
        """What is stored now."""
        versions = self.history.get(workflow_id)
        return versions[-1].workflow if versions else None

    def stale(self, workflow_id: bytes) -> Workflow | None:
        """What was stored before the last change, if that is not long ago."""
        versions = self.history.get(workflow_id, [])
        if len(versions) > 1 and self._now() - versions[-1].time <= LATE:
            return versions[-2].workflow
        return self.latest(workflow_id)

    def workflows(self) -> list[Workflow]:
        """All that is stored now, rounds and children too; no tombstones."""
        found = [self.latest(workflow_id) for workflow_id in self.history]
        return [workflow for workflow in found if workflow is not None and workflow.tombstone is None]

    def tombstones(self) -> list[Workflow]:
        """What is left of removed keys."""
        found = [self.latest(workflow_id) for workflow_id in self.history]
        return [workflow for workflow in found if workflow is not None and workflow.tombstone is not None]

    def mark(self, workflow_id: bytes) -> int:
        """A place in a workflow's history; see `since`."""
        return max(0, len(self.history[workflow_id]) - 1)

    def since(self, workflow_id: bytes, mark: int) -> list[Workflow | None]:
        """Every state that was the stored one at some time since the mark."""
        found = [version.workflow for version in self.history[workflow_id][mark:]]
        return found if mark or found else [None]

    # ------------------------------------------------------------------------------------------------------------- changes

    def deleted(self, workflow_id: bytes) -> None:
        """It is no longer stored."""
        before = self.latest(workflow_id)
        assert before is not None
        if not before.is_ended and not before.inert:
            self.breach(f"{before.key.business_key} was removed as {before.state.name}")
        self.history[workflow_id].append(Version(self._now(), None))
        self._note("deleted", before)

    def stored(self, old: Workflow | None, new: Workflow) -> None:
        """This change is stored."""
        workflow_id = new.workflow_id
        before = self.latest(workflow_id)
        self.history[workflow_id].append(Version(self._now(), new))
        self._note("stored", new)
        self.watched()
        for witness in self.witnesses:
            with self.judging():
                witness(before, new)
        with self.judging():
            if old is not None and old is not before:
                assert old == before, "the writer believed in another state than the one of this revision"
            if before is not None and before.run_id == new.run_id and before.fingerprint != new.fingerprint:
                self.migrated.add(new.run_id)
            if (before is None or before.run_id != new.run_id) and any(action.startswith("import.") for action in new.actions):
                self.migrated.add(new.run_id)  # what it did before it was copied happened elsewhere
            definition = self._definition_for(new)
            if not self._is_of_another_kind(definition, new):
                check_change(definition, before, new)
            if new.inert or new.tombstone is not None:
                return  # a copy of a round that is to be archived; what is left of a removed key
            self._end_round(before, new)
            self._check_fence(before, new)
            self._check_signals(before, new)
            for event in _events_between(before, new):
                self.happened[new.run_id, event.step][event.reason] += 1
            for name, step in new.steps.items():
                earlier = before.steps.get(name) if before is not None and before.run_id == new.run_id else None
                if step is not earlier:
                    self._check_step(new, name, earlier, step)
                if before is not None and earlier is not None and before.fingerprint == new.fingerprint:  # a migration may begin it anew
                    self._check_times(f"{new.key.business_key}/{name}", earlier, step, new.update_time)

    def _end_round(self, before: Workflow | None, new: Workflow) -> None:
        if before is not None and before.run_id != new.run_id:
            for step in before.steps.values():
                if step.claim is not None:
                    del self.current[step.claim.nonce]

    def _check_fence(self, before: Workflow | None, new: Workflow) -> None:
        highest = self.fences.get(new.workflow_id, 0)
        if (before is None or before.run_id != new.run_id) and not new.archived:
            assert new.fence > highest, f"{new.key.business_key}: the fence of a new run is {new.fence}, an earlier one had {highest}"
        self.fences[new.workflow_id] = max(highest, new.fence)

    def _note(self, what: str, workflow: Workflow) -> None:
        self.changes += 1
        events = workflow.events[-1].seq if workflow.events else 0
        steps = [(name, int(step.state), step.claim_no) for name, step in workflow.steps.items()]
        facts = (what, self._now(), workflow.workflow_id, workflow.run_id, workflow.revision, events, workflow.wake_time, steps)
        self.digest.update(msgspec.msgpack.encode(facts))

    def _check_step(self, new: Workflow, name: str, before: Step | None, after: Step) -> None:
        where = f"{new.key.business_key}/{name}"
        claim = after.claim
        had = before.claim if before is not None else None
        if claim is not None and (had is None or had.nonce != claim.nonce):
            assert claim.nonce not in self.tokens, f"{where}: a token was granted twice"
            token = Token(new.workflow_id, new.run_id, name)
            self.tokens[claim.nonce] = self.current[claim.nonce] = token
        if had is not None and (claim is None or claim.nonce != had.nonce):
            del self.current[had.nonce]
        known = {settled.nonce: settled.digest for settled in before.settled} if before is not None else {}
        for settled in after.settled:
            if settled.nonce not in known and settled.digest:
                assert settled.nonce not in self.accepted, f"{where}: two results of one claim were accepted"
                assert had is not None, where
                assert settled.nonce == had.nonce, f"{where}: a result of a token that was not current was accepted"
                self.accepted[settled.nonce] = settled.digest
        self._check_executions(new, name, after)

    def _check_times(self, where: str, before: Step, after: Step, now: int) -> None:
        if before.state is StepState.BACKOFF and after.state in {StepState.READY, StepState.WAITING} and before.due is not None:
            assert now >= before.due, f"{where}: its back-off ended {before.due - now} ms too early"
        if before.state is StepState.WAITING and after.state in {StepState.READY, StepState.COMPLETED}:
            for name in _fired(after):
                due = next((condition.due for condition in before.wait if condition.name == name), None)
                assert due is None or now >= due, f"{where}: its timer fired {(due or 0) - now} ms too early"

    def _is_of_another_kind(self, definition: Definition, workflow: Workflow) -> bool:
        """Whether a step had children once, and in this definition it is a step that has none."""
        if workflow.run_id not in self.migrated:
            return False
        return any(step.children is not None and definition.by_name[name].child is None for name, step in workflow.steps.items())

    def _definition_for(self, workflow: Workflow) -> Definition:
        definition = self._definition_of(workflow)
        if workflow.run_id not in self.migrated:
            return definition
        # What it used up under another definition counts, and may be more than this one allows.
        steps = [replace(step, retry=replace(step.retry, max_attempts=None)) for step in definition.steps]
        return replace(definition, steps=tuple(steps), max_lost_claims=definition.max_lost_claims + 1_000)

    def _check_executions(self, new: Workflow, name: str, step: Step) -> None:
        definition = self._definition_for(new)
        most = definition.by_name[name].retry.max_attempts
        if most is None or definition.is_required(name):
            return
        happened = self.happened[new.run_id, name]
        refunds = happened["RELEASED"] + happened["WAITING"] + happened["UNDELIVERED"]
        anew = happened["REOPEN"] + happened["RESOLVED"] + happened["HOOK"]
        assert step.claim_no <= most * (1 + anew) + refunds, f"{new.key.business_key}/{name}: {step.claim_no} claims of at most {most}"

    def _check_signals(self, before: Workflow | None, new: Workflow) -> None:
        same = before is not None and before.run_id == new.run_id
        known = before.signal_ids if before is not None and same else ()
        waiting = {signal.signal_id: signal.name for signal in (before.inbox if before is not None and same else ())}
        kept = {signal.signal_id for signal in new.inbox}
        came = [signal_id for signal_id in new.signal_ids if signal_id not in known]
        gone = [signal_id for signal_id in [*waiting, *came] if signal_id not in kept]
        again = self.consumed[new.run_id] & (kept | set(came))
        assert not again, f"{new.key.business_key}: {again} came back"
        self.consumed[new.run_id].update(gone)
        for name in {signal.name for signal in new.inbox}:
            oldest = next(signal.signal_id for signal in new.inbox if signal.name == name)
            order = [signal_id for signal_id in waiting if waiting[signal_id] == name]
            if oldest in order:
                skipped = [signal_id for signal_id in order[order.index(oldest) + 1 :] if signal_id in gone]
                assert not skipped, f"{new.key.business_key}: {skipped} overtook {oldest}"
            else:
                assert all(signal_id in gone for signal_id in order), f"{new.key.business_key}: the inbox was reordered"


def _events_between(before: Workflow | None, new: Workflow) -> list[Event]:
    last = before.event_seq if before is not None and before.run_id == new.run_id else 0
    return [event for event in new.events if event.seq > last]


def _fired(step: Step) -> list[str]:
    """The conditions that won the step's last wait by a time."""
    if step.state is StepState.READY:
        return [wake.condition for wake in step.wakes if not wake.signal_id]
    try:
        found = json.loads(step.output.json or "") if step.output is not None else {}
    except ValueError:
        return []
    wakes = found.get("wakes", []) if isinstance(found, dict) else []
    return [wake["condition"] for wake in wakes if "signalId" not in wake and "condition" in wake]
