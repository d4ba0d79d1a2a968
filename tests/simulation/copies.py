"""Redactions and copies: what was overwritten holds nothing, and a file becomes a workflow of its own that rests until it is resumed."""

from typing import TYPE_CHECKING, ClassVar

from perdure_server.engine.people import Conditions
from perdure_server.engine.redaction import RedactArguments
from perdure_server.engine.service import Engine
from perdure_server.engine.transfer import Destination
from perdure_server.engine.values import Ref, View
from perdure_server.kernel.redaction import erased
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.workflow import Workflow, WorkflowKey
from tests.engine.virtual_loop import pause
from tests.simulation.callers import Caller
from tests.simulation.ingredients import Ingredient

if TYPE_CHECKING:
    from tests.simulation.world import Simulation


class Copies(Ingredient):
    """A person who is asked to forget somebody, and takes copies of what looks odd."""

    name: ClassVar[str] = "copies and redactions"
    share = 0.2

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self._caller = Caller(simulation, "clerk")

    async def live(self, until: float) -> None:
        """One of both, now and then."""
        while self.simulation.loop.time() < until:
            await pause(0.5 + self.source.random() * 3.0)
            found = [workflow for workflow in self.simulation.oracle.workflows() if not workflow.archived and not workflow.schedule_id]
            if not found:
                continue
            workflow = self.source.choice(found)
            if self.source.random() < 0.5:
                await self._redact(workflow)
            else:
                await self._copy(workflow)

    async def _redact(self, workflow: Workflow) -> None:
        key, conditions = workflow.key, Conditions(self._caller.mint())
        mark = self.simulation.oracle.mark(key.workflow_id)
        try:
            await self._caller.call(lambda engine: engine.operations.redaction.redact(Ref(key), RedactArguments(), conditions))
        except Rejection as error:
            # An archived round that is still settling refuses it, too.
            self._refused("redactions", error, {Reason.WORKFLOW_NOT_FOUND, Reason.WORKFLOW_NOT_CLOSED})
            return
        self.count("redactions")
        check = self.simulation.promises.check
        check("redaction", key.workflow_id, mark, lambda found: found is None or erased(found) == found)

    async def _copy(self, workflow: Workflow) -> None:
        name = self.simulation.name("copy")
        key = WorkflowKey(workflow.key.namespace, workflow.key.workflow_type, name)
        destination = Destination(key.namespace, name, self._caller.mint(), "clerk")
        mark = self.simulation.oracle.mark(key.workflow_id)
        try:
            data = await self._caller.call(lambda engine: _file(engine, Ref(workflow.key)))
            view: View = await self._caller.call(lambda engine: engine.operations.transfer.take_in(data, destination))
            if self.source.random() < 0.3:
                view = await self._caller.call(lambda engine: engine.operations.transfer.take_in(data, destination))
        except Rejection as error:
            # Children are workflows of their own; and between its lines the file's workflow may have lost a payload.
            self._refused("copies", error, {Reason.WORKFLOW_NOT_FOUND, Reason.EXPORT_INVALID})
            return
        self.count("copies")
        made = view.workflow
        check = self.simulation.promises.check
        check("copy", key.workflow_id, mark, lambda found: found is not None and found.run_id == made.run_id)
        with self.simulation.oracle.judging():
            first = next(version.workflow for version in self.simulation.oracle.history[key.workflow_id] if version.workflow is not None)
            assert first.run_id == made.run_id, "one file was imported twice"
            assert first.is_ended or first.paused is not None, "a copy acts before anybody has looked at it"
            assert not first.sessions
            assert first.parent is None

    def _refused(self, what: str, error: Rejection, foreseen: set[Reason]) -> None:
        self.count(f"{what} refused: {error.reason.name}")
        if error.reason not in foreseen:
            self.simulation.oracle.breach(f"{what} were refused with {error!r}")


async def _file(engine: Engine, ref: Ref) -> bytes:
    return b"".join([line async for line in engine.operations.transfer.export(ref, False, False)])
