"""One command's turn at one workflow: its draft, and the slots that it reserved on the way."""

from msgspec import Struct

from perdure_server.engine.desk import Desk, Pool, Slot
from perdure_server.engine.entropy import Entropy
from perdure_server.kernel import limits
from perdure_server.kernel.claims import grant, may_grant
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.effects import StepReady
from perdure_server.kernel.seal import queue_id
from perdure_server.kernel.workflow import Workflow


class Grant(Struct, frozen=True):
    """A claim made in this turn: which step went to which slot. `returned` = it travels in the answer, not over the pool."""

    step: str
    slot: Slot
    returned: bool = False

    def stands(self, workflow: Workflow) -> bool:
        """Whether the instance has this very claim."""
        step = workflow.steps.get(self.step)
        return step is not None and step.claim is not None and step.claim.nonce == self.slot.ticket.nonce


class Turn:
    """Given to a command while it is applied."""

    def __init__(self, draft: Draft, desk: Desk, entropy: Entropy) -> None:
        self.draft = draft
        self.desk = desk
        self.dice = entropy.dice
        self.grants: list[Grant] = []
        self.found: list[Grant] = []  # made by a write of the same command that came late
        self.reserved: list[Slot] = []  # by this turn itself
        self.is_first = True  # False: other commands of the same write have changed the instance already

    def grant_ready(self, prefer: Pool | None, returned: bool) -> tuple[tuple[str, int], ...]:
        """Grant what this turn made READY, in the same write, while slots are free and the chain is not too long."""
        draft = self.draft
        ready = [effect for effect in draft.effects if isinstance(effect, StepReady)]
        if not ready:
            return ()
        row = draft.workflow.eager_row
        made: list[tuple[str, int]] = []
        for effect in ready:
            if row >= limits.EAGER_IN_A_ROW or not may_grant(draft, effect.step) or draft.plan(effect.step).permits:
                continue
            slot = self.desk.reserve_eager(queue_id(draft.definition, draft.workflow, effect.step), prefer)
            if slot is None:
                continue
            draft.effects.remove(effect)
            self.reserved.append(slot)
            grant(draft, effect.step, slot.ticket)
            self.grants.append(Grant(effect.step, slot, returned and slot.pool is prefer))
            made.append((effect.step, draft.step(effect.step).claim_no))
        if made:
            draft.set(eager_row=row + 1)
        elif row:
            draft.set(eager_row=0)
        return tuple(made)

    def undo(self) -> None:
        """The write did not happen: give the slots back that this turn reserved."""
        for slot in self.reserved:
            self.desk.release(slot)
        self.reserved.clear()
        self.grants.clear()
