"""An outbox that a team writes into: what is in it is started once, and goes only when that is stored."""

import copy
from typing import TYPE_CHECKING, ClassVar

import bson

from perdure_server.kernel.workflow import WorkflowKey
from perdure_server.store.memory_records import Around
from perdure_server.store.outbox import MemoryOutbox
from tests.engine.virtual_loop import pause
from tests.simulation.ingredients import Ingredient

if TYPE_CHECKING:
    from tests.simulation.world import Simulation


class _Documents(dict[bytes, bytes]):
    """What waits; what goes is looked at."""

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__()
        self._oracle = simulation.oracle

    def pop(self, key: bytes, default: bytes | None = None) -> bytes | None:  # type: ignore[override]  # as it is used
        raw = super().pop(key, default)
        if raw is not None:
            document = bson.decode(raw)
            found = self._oracle.history[WorkflowKey("default", "note", document["business_key"]).workflow_id]
            known = [version.workflow for version in found if version.workflow is not None]
            if not any(document["_id"] in workflow.request_ids for workflow in known):
                self._oracle.breach(f"{document['_id']} left the outbox, and was not started by it")
        return raw


class Outboxes(Ingredient):
    """The team."""

    name: ClassVar[str] = "an outbox"
    share = 0.12

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self._box = MemoryOutbox(simulation.store._around)
        self._box.documents = _Documents(simulation)
        self._written: list[WorkflowKey] = []

    def of_server(self, around: Around) -> MemoryOutbox:
        """The outbox as one server reaches it."""
        mine = copy.copy(self._box)
        mine._around = around
        return mine

    async def live(self, until: float) -> None:
        """It writes."""
        while self.simulation.loop.time() < until and len(self._written) < 3:
            await pause(self.source.random() * 4.0)
            key = f"o{len(self._written)}"
            self._box.add({"_id": f"id-{key}", "workflow_type": "note", "business_key": key, "input": [0]})
            self._written.append(WorkflowKey("default", "note", key))
            self.count("outbox documents")

    @property
    def quiet(self) -> bool:
        """Nothing waits."""
        return not self._box.documents

    async def at_the_end(self) -> None:
        """Each was started once."""
        for key in self._written:
            runs = {
                version.workflow.run_id
                for version in self.simulation.oracle.history[key.workflow_id]
                if version.workflow is not None and version.workflow.round == 1
            }
            if len(runs) != 1:
                self.simulation.oracle.breach(f"{key.business_key} of the outbox was started {len(runs)} times")
