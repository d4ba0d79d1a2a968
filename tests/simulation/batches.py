"""Batches: each workflow is taken in hand once and counted once, whoever takes them over."""

from collections import defaultdict
from typing import TYPE_CHECKING, Final, cast

from perdure_server.engine.batch_verbs import ReplayArguments, SignalArguments, packed
from perdure_server.engine.batches import Plan, Work
from perdure_server.engine.selection import Selection
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.ports.batches import Batch, BatchState
from perdure_server.ports.store import WorkflowQuery
from perdure_server.store.batches import Document, MemoryBatches, _decode
from tests.engine.virtual_loop import pause
from tests.kernel.harness import payload
from tests.simulation.callers import TRUE_WHEN, Caller
from tests.simulation.ingredients import Ingredient
from tests.simulation.oracle import LATE
from tests.simulation.plans import SIGNALS
from tests.simulation.schedules import Told

if TYPE_CHECKING:
    from tests.simulation.world import Simulation

VERBS: Final = ("signal", "signal", "pause", "resume", "cancel", "terminate", "replay", "delete")
QUERY: Final = WorkflowQuery("default", workflow_types=("note",))


class Batches(Ingredient):
    """A person who does something to all of them, now and then."""

    name = "batches"
    share = 0.15
    limits = {"BATCH_ITEMS": 2}  # noqa: RUF012 -- as in the base

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self._store = cast("MemoryBatches", simulation.store.batches)
        self._store.stored = Told(self._changed)
        self._caller = Caller(simulation, "operator")
        self._taken: dict[str, set[str]] = defaultdict(set)
        self._begun: dict[str, set[bytes]] = {}  # the workflows that were there, by batch

    async def live(self, until: float) -> None:
        """Begin one, or two; perhaps think better of it."""
        loop = self.simulation.loop
        while loop.time() < until:
            await pause(0.5 + self.source.random() * 3.0)
            work = self._work(self.source.choice(VERBS))
            there, batch_id = self._there(), ""
            for _ in range(self.source.choice((1, 1, 2))):
                batch = await self._caller.call(lambda engine: engine.operations.batches.start(work))  # noqa: B023 -- awaited in its round
                assert batch is not None
                batch_id = batch.batch_id
                self._begun.setdefault(batch_id, there)
                if len(self._begun) > 3:
                    return
            self.count(f"batches of {work.verb}")
            if self.source.random() < 0.2:
                await pause(self.source.random())
                await self._stop(batch_id)

    def _work(self, verb: str) -> Work:
        arguments = packed(SignalArguments(self.source.choice(SIGNALS), payload("batch"))) if verb == "signal" else b""
        if verb == "replay":
            arguments = packed(ReplayArguments(()))
        pace = self.source.choice((0.0, 0.0, 1.0))
        plan = Plan(Selection(QUERY), arguments)
        return Work("default", verb, plan, reason="tidy", actor="kim", request_id=self._caller.mint(), max_per_second=pace)

    async def _stop(self, batch_id: str) -> None:
        request_id = self._caller.mint()
        try:
            await self._caller.call(lambda engine: engine.operations.batches.stop("default", batch_id, request_id))
            self.count("batches stopped")
        except Rejection as error:
            if error.reason is not Reason.BATCH_CLOSED:
                raise

    def _there(self) -> set[bytes]:
        oracle, now = self.simulation.oracle, self.simulation.now()
        return {
            workflow.workflow_id
            for workflow in oracle.workflows()
            if (workflow.key.namespace, workflow.key.workflow_type) == ("default", "note")
            and not workflow.archived
            and oracle.history[workflow.workflow_id][0].time < now - LATE  # a list may be as old
        }

    # -------------------------------------------------------------------------------------------------------------- what must be true

    def _changed(self, before: Document | None, after: Document | None) -> None:
        if before is None or after is None:
            return
        old, new = _decode(before), _decode(after)
        with self.simulation.oracle.judging():
            done = new.succeeded + new.failed - old.succeeded - old.failed
            if new.in_hand != old.in_hand and new.in_hand:
                assert not old.in_hand, "what was in hand was dropped"
                again = self._taken[new.batch_id] & set(new.in_hand)
                assert not again, f"{again} were taken in hand twice"
                self._taken[new.batch_id] |= set(new.in_hand)
            assert done == (len(old.in_hand) if not new.in_hand else 0), f"{done} were counted of {len(old.in_hand)} in hand"
            self.count("workflows done by batches", done)
            self.count("batches taken over", bool(old.owner and new.owner and old.owner != new.owner))
            self._check_refusals(old, new)

    def _check_refusals(self, old: Batch, new: Batch) -> None:
        for refusal in new.refusals[len(old.refusals) :]:
            self.count(f"refused in a batch: {refusal.reason}")
            assert Reason[refusal.reason] in TRUE_WHEN, refusal

    @property
    def quiet(self) -> bool:
        """None runs."""
        return all(_decode(document).state is not BatchState.RUNNING for document in self._store.stored.values())

    async def at_the_end(self) -> None:
        """What was there, and is still the same, was done."""
        current = {workflow.workflow_id: workflow for workflow in self.simulation.oracle.workflows() if not workflow.archived}
        for document in self._store.stored.values():
            batch = _decode(document)
            there = self._begun.get(batch.batch_id, set())
            taken = {bytes.fromhex(found) for found in self._taken[batch.batch_id]}
            kept = {each for each in there & current.keys() if current[each].start_time < batch.start_time and current[each].round == 1}
            with self.simulation.oracle.judging():
                assert batch.succeeded + batch.failed == len(taken) or batch.state is BatchState.STOPPED, batch
                assert batch.state is BatchState.STOPPED or kept <= taken, f"{len(kept - taken)} workflows were passed by"
