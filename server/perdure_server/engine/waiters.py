"""Who waits for permits."""

from typing import TYPE_CHECKING

from perdure_server.engine.desk import Slot
from perdure_server.kernel.resources import Holder
from perdure_server.kernel.workflow import Workflow

if TYPE_CHECKING:
    from perdure_server.engine.lines import Line


class Waiter:
    """One READY step that needs permits; `since` is when it became READY: its place in every line."""

    def __init__(self, workflow: Workflow, name: str, queue: str, entered: tuple[int, int]) -> None:
        self.workflow = workflow
        self.taken_for = workflow  # as it was when the permits of this try were asked for
        self.name = name
        self.queue = queue
        self.since = workflow.steps[name].since
        self.entered, self.number = entered  # when, in unshifted time, and which one of this server's it is
        self.needs: tuple[tuple[str, str, int], ...] = ()  # (resource, key, units), in the one order
        self.line: Line | None = None
        self.slot: Slot | None = None
        self.trying = False
        self.again_at = 0  # it got nothing a moment ago, though there seemed to be room

    @property
    def place(self) -> tuple[int, int]:
        """Its place in a line."""
        return self.since, self.number

    @property
    def is_stored(self) -> bool:
        """Whether the instance says, as it is known, that the step waits in this line."""
        throttled = self.workflow.steps[self.name].throttled
        return throttled is not None and self.line is not None and (throttled.resource, throttled.key) == (self.line.name, self.line.key)

    def begin(self) -> None:
        """Try: from now on its permits are asked for, all of them for the workflow as it is known now."""
        self.trying = True
        self.taken_for = self.workflow

    def holder(self, slot: Slot, units: int, now: int) -> Holder:
        """Who is to hold the units."""
        workflow, key = self.taken_for, self.workflow.key
        claim_no = workflow.steps[self.name].claim_no + 1
        numbers = (key.workflow_type, key.business_key, workflow.round, self.name, claim_no)
        return Holder(slot.ticket.nonce, workflow.run_id, workflow.revision, units, now, *numbers)
