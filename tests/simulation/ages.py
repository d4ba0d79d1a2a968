"""What only much time brings: hours without a server, retention, tombstones, orphans, keys that begin again."""

from typing import TYPE_CHECKING, Any, ClassVar

from perdure_server.engine.people import Conditions
from perdure_server.engine.values import Ref
from perdure_server.kernel import limits
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.start import OnClosed
from perdure_server.kernel.workflow import Workflow, WorkflowKey, WorkflowState
from tests.engine.virtual_loop import pause
from tests.simulation.callers import Caller
from tests.simulation.ingredients import Ingredient
from tests.simulation.large import LargePayloads

if TYPE_CHECKING:
    import random

    from tests.simulation.world import Simulation

PATIENCE = 120  # s of virtual time for what a loop does now and then
LONG = 60 * limits.MINUTE


class Downtime(Ingredient):
    """All servers are gone for minutes, hours or days, in the middle of it."""

    name = "downtime"
    share = 0.15

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        simulation.oracle.witnesses.append(self._workflow_changed)
        self._ended = 0

    def start_fields(self, source: "random.Random") -> dict[str, Any]:
        """Some begin while nobody is there."""
        return {"start_at": self.simulation.now() + source.choice((1_000, 5_000))} if source.random() < 0.3 else {}

    async def live(self, until: float) -> None:
        """Once, or twice."""
        for _ in range(self.source.choice((1, 1, 2))):
            await pause(self.source.random() * max(0.0, until - self.simulation.loop.time()))
            await self.simulation.black_out(self.source.choice((5 * limits.MINUTE, 3 * limits.HOUR, 49 * limits.HOUR)))
            self.count("downtimes of all servers")

    def _workflow_changed(self, before: Workflow | None, after: Workflow) -> None:
        if before is None or before.run_id != after.run_id:
            return
        for name, step in before.steps.items():
            now = after.steps.get(name)
            if now is not None and now is not step and step.due is not None and now.due != step.due:
                self.count("due times hours late", after.update_time - step.due > LONG)


class Ages(Ingredient):
    """Retention is short for some workflows, people delete; at the end a month goes by, and another."""

    name: ClassVar[str] = "ages"
    share = 0.12

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self._caller = Caller(simulation, "heir")
        simulation.oracle.witnesses.append(self._workflow_changed)

    def start_fields(self, source: "random.Random") -> dict[str, Any]:
        """Some are forgotten within seconds."""
        retention = source.choice((None, None, 500, 4_000))
        return {} if retention is None else {"retention": retention}

    async def live(self, until: float) -> None:
        """A person deletes."""
        while self.simulation.loop.time() < until:
            await pause(1.0 + self.source.random() * 3.0)
            ended = [workflow for workflow in self.simulation.oracle.workflows() if workflow.is_ended and not workflow.archived]
            if ended:
                await self._caller.delete(self.source.choice(ended).key)

    def _workflow_changed(self, before: Workflow | None, after: Workflow) -> None:
        if after.tombstone is not None and (before is None or before.tombstone is None):
            self.count("tombstones")
        if before is not None and before.tombstone is not None and after.tombstone is None:
            self.count("keys begun again")

    async def at_the_end(self) -> None:
        """A day later no orphan is left, a month later all are tombstones, and two months later there is nothing."""
        keys = sorted({workflow.key for workflow in self._roots() if workflow.parent is None}, key=lambda key: key.business_key)
        await self.simulation.black_out(26 * limits.HOUR)
        large = next((each for each in self.simulation.ingredients if isinstance(each, LargePayloads)), None)
        if large is not None:
            await self._until(lambda: not large.unreferenced(), "payloads that nothing refers to are left after a day")
            self.count("ends without an orphan")
        await self.simulation.black_out(31 * limits.DAY)
        await self._until(lambda: not self.simulation.oracle.workflows(), "workflows are left after their retention")
        self.count("ends with tombstones only")
        if keys and self.source.random() < 0.7:
            await self._begin_again(self.source.choice(keys))
        await self.simulation.black_out(62 * limits.DAY)
        await self._until(lambda: not self.simulation.oracle.workflows(), "workflows are left after their retention")
        await self.simulation.black_out(31 * limits.DAY)
        await self._until(lambda: not self._left(), "tombstones are left after their window")
        self.count("ends with nothing")
        if large is not None:  # what was put for a start that lost goes with the next round of housekeeping
            await self._until(lambda: not large.unreferenced(), "payloads of nobody are left")
        if keys:
            later = self.simulation.now() + limits.DAY
            await self._caller.start(keys[0], 0, start_at=later, request_id=self._caller.mint())

    async def _begin_again(self, key: WorkflowKey) -> None:
        before = self._stored(key)
        if before is None:
            return
        await self._caller.start(key, 0, on_closed=OnClosed.NEW_ROUND, request_id=self._caller.mint())
        after = self._stored(key)
        with self.simulation.oracle.judging():
            assert after is not None
            assert after.tombstone is None
            assert (after.round, after.fence > before.fence) == (before.round + 1, True), "round and fence go on"
        await self._end(key)
        oracle = self.simulation.oracle
        await self._until(lambda: all(found.is_ended and not found.duties for found in oracle.workflows()), "a key that ended goes on")

    async def _end(self, key: WorkflowKey) -> None:
        conditions = Conditions(self._caller.mint())
        mark = self.simulation.oracle.mark(key.workflow_id)
        try:
            await self._caller.call(lambda engine: engine.people.terminate(Ref(key), "enough", conditions))
        except Rejection as error:
            if error.reason is not Reason.WORKFLOW_CLOSED:
                raise
            # A worker may have been quicker. What this call itself has ended must answer its repeat, and nobody else terminates here.
            self.simulation.promises.check("terminate: ended before", key.workflow_id, mark, _has_ended_by_itself)

    async def _until(self, holds: Any, text: str) -> None:
        for _ in range(PATIENCE):
            if holds():
                return
            await pause(1.0)
        self.simulation.oracle.breach(text)

    def _roots(self) -> list[Workflow]:
        return [workflow for workflow in self.simulation.oracle.workflows() if not workflow.archived and not workflow.schedule_id]

    def _stored(self, key: WorkflowKey) -> Workflow | None:
        return self.simulation.oracle.latest(key.workflow_id)

    def _left(self) -> int:
        return sum(self.simulation.oracle.latest(each) is not None for each in list(self.simulation.oracle.history))


def _has_ended_by_itself(found: Workflow | None) -> bool:
    return found is not None and found.is_ended and found.state is not WorkflowState.TERMINATED
