"""Payloads in documents of their own: what a state refers to is there, always; what nothing refers to goes in the end."""

from typing import TYPE_CHECKING, Any, cast

from perdure_server.kernel.redaction import refs_in
from perdure_server.kernel.workflow import Workflow
from perdure_server.store.memory_records import MemoryPayloads
from tests.simulation.ingredients import Ingredient

if TYPE_CHECKING:
    from tests.simulation.world import Simulation


class LargePayloads(Ingredient):
    """Most payloads are large, since here 40 bytes are."""

    name = "large payloads"
    share = 0.2
    limits = {"INLINE_PAYLOAD": 40, "CLAIM_INLINE": 400}  # noqa: RUF012 -- as in the base

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self._payloads = payloads = cast("MemoryPayloads", simulation.store.payloads)
        self._owners: dict[str, bytes] = {}  # by run
        remove = payloads._remove

        def told(run_id: str, *rest: Any) -> None:
            before = len(payloads._stored.get(run_id, {}))
            remove(run_id, *rest)
            gone = before - len(payloads._stored.get(run_id, {}))
            if gone:
                self.count("payloads removed", gone)
                simulation.loop.call_soon(self._check_run, run_id)  # a removal of the workflow is one operation with it

        payloads._remove = told  # type: ignore[method-assign, assignment]  # every removal goes through it
        simulation.oracle.witnesses.append(self._workflow_changed)
        simulation.script.blobs = simulation.filler = "x" * 60

    def _workflow_changed(self, _before: Workflow | None, after: Workflow) -> None:
        self._owners[after.run_id] = after.workflow_id
        refs = self._check(after)
        self.count("changes with large payloads", bool(refs))

    def _check_run(self, run_id: str) -> None:
        owner = self._owners.get(run_id)
        workflow = self.simulation.oracle.latest(owner) if owner is not None else None
        if workflow is not None and workflow.run_id == run_id:
            with self.simulation.oracle.judging():
                self._check(workflow)

    def _check(self, workflow: Workflow) -> set[str]:
        refs = refs_in(workflow)
        missing = refs - self._payloads._stored.get(workflow.run_id, {}).keys()
        assert not missing, f"{workflow.key.business_key}: {len(missing)} payloads are referred to, and are not stored"
        return refs

    async def at_the_end(self) -> None:
        """Every state can still be read whole."""
        for workflow in self.simulation.oracle.workflows():
            with self.simulation.oracle.judging():
                self._check(workflow)

    def unreferenced(self) -> int:
        """Payloads that nothing refers to."""
        kept = {(workflow.run_id, each) for workflow in self.simulation.oracle.workflows() for each in refs_in(workflow)}
        return sum((run_id, each) not in kept for run_id, found in self._payloads._stored.items() for each in found)
