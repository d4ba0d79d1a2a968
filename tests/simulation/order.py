"""Priorities, fairness keys, delayed starts, and what is full: with everything that must still work there."""

from typing import TYPE_CHECKING, Any, ClassVar

from perdure_server.kernel import limits
from perdure_server.kernel.workflow import Workflow
from tests.simulation.ingredients import Ingredient

if TYPE_CHECKING:
    import random

    from tests.simulation.world import Simulation


class Order(Ingredient):
    """Starts differ in priority, fairness key and start time. None of it may lose anything."""

    name: ClassVar[str] = "order"
    share = 0.3

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        simulation.oracle.witnesses.append(self._workflow_changed)

    def start_fields(self, source: "random.Random") -> dict[str, Any]:
        """Some of each."""
        found: dict[str, Any] = {}
        if source.random() < 0.7:
            found["priority"] = source.randrange(limits.PRIORITY_MAX + 1)
        if source.random() < 0.7:
            found |= {"fairness_key": source.choice(("ann", "bob")), "fairness_weight": source.choice((1.0, 4.0))}
        if source.random() < 0.2:
            found["start_at"] = self.simulation.now() + source.choice((-1_000, 500, 5_000))
        return found

    def _workflow_changed(self, before: Workflow | None, after: Workflow) -> None:
        if before is None and not after.archived:
            self.count("starts with a fairness key", bool(after.fairness_key))
            self.count("starts with a priority", after.priority != limits.PRIORITY)


class Limits(Ingredient):
    """Inboxes of three signals, documents of a few thousand bytes."""

    name: ClassVar[str] = "limits"
    share = 0.15
    limits = {"INBOX_SIGNALS": 3, "DOCUMENT": limits.DOCUMENT_RESERVE + 2_500}  # noqa: RUF012 -- as in the base

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        simulation.script.blobs = simulation.filler = "y" * 900
        simulation.eager_to_signal = True
        simulation.oracle.witnesses.append(self._workflow_changed)

    def _workflow_changed(self, before: Workflow | None, after: Workflow) -> None:
        with self.simulation.oracle.judging():
            assert len(after.inbox) <= 3, f"{len(after.inbox)} signals are in an inbox of three"
        failure = after.failure
        if failure is not None and failure.type == "DOCUMENT_FULL" and (before is None or before.failure is None):
            self.count("results that did not fit")
