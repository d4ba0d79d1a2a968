"""The commands about children: those that a parent's document gets, and those that a child's gets."""

from collections.abc import Sequence
from enum import Enum
from typing import Final

from perdure_server.engine.commands import DOCUMENT_FULL, _Plain
from perdure_server.engine.turn import Turn
from perdure_server.kernel.cancel import cancel
from perdure_server.kernel.child_state import ChildEnd, ParentClose
from perdure_server.kernel.children import child_plan, count_ends, is_child_of, is_counting, is_met, tell_progress, tended
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.effects import DutyTaken
from perdure_server.kernel.people import terminate
from perdure_server.kernel.progress import expand, join, settle_down, stop_all
from perdure_server.kernel.start import Start, blank, populate
from perdure_server.kernel.transitions import WorkflowEvent
from perdure_server.kernel.values import Failure
from perdure_server.kernel.workflow import Workflow, WorkflowState

DOCUMENT_IS_FULL: Final = "What its children brought does not fit into the workflow's document."
PARENT_ENDED = "the step that started it has ended"
Place = tuple[str, str, int]
"""Where children belong: the parent's run, its step, and the step's generation."""


class ChildFound(Enum):
    """What a start of a child met."""

    CREATED = "created"
    THERE = "there"
    TAKEN = "taken"  # another workflow has its key


class _OfChild(_Plain):
    """A command for a child, which may not exist yet."""

    def __init__(self, command: Start, definition: Definition, now: int) -> None:
        self._command = command
        self._begun = (definition, blank(definition, command, now))

    def begin(self) -> tuple[Definition, Workflow] | None:
        """The blank first round."""
        return self._begun

    def _is_new(self, workflow: Workflow) -> bool:
        return workflow.run_id == self._command.run_id and not workflow.events

    def _is_it(self, workflow: Workflow) -> bool:
        parent = self._command.parent
        return parent is not None and is_child_of(workflow, parent)


class StartChildCommand(_OfChild):
    """Create a child, or find that it is there."""

    def apply(self, turn: Turn) -> ChildFound:
        """Start it, once."""
        workflow = turn.draft.workflow
        if not self._is_new(workflow):
            return ChildFound.THERE if self._is_it(workflow) else ChildFound.TAKEN
        populate(turn.draft, self._command)
        turn.grant_ready(None, returned=False)
        return ChildFound.CREATED


class CloseChildCommand(_OfChild):
    """End a child by its parent's policy. One that does not exist yet is stored as CANCELLED, so that a late start finds it so."""

    def __init__(self, command: Start, definition: Definition, now: int, policy: ParentClose) -> None:
        super().__init__(command, definition, now)
        self._policy = policy

    def apply(self, turn: Turn) -> None:
        """Close it, unless it is closing, or is not the child that was meant."""
        draft = turn.draft
        if self._is_new(draft.workflow):
            _stub(draft)
        elif self._is_it(draft.workflow) and not draft.workflow.is_ended:
            if self._policy is ParentClose.TERMINATE:
                terminate(draft, PARENT_ENDED, "")
            elif draft.state in (WorkflowState.RUNNING, WorkflowState.PREPARING_REPLAY):
                cancel(draft, PARENT_ENDED, "")


def _stub(draft: Draft) -> None:
    # No step of it ever ran: there is nothing to settle, and nobody to tell.
    finalizer = draft.definition.hooks.cancel_finalizer
    draft.note_workflow(WorkflowState.RUNNING, "START")
    draft.set(cancel_reason=PARENT_ENDED, cancel_time=draft.now, passed_hooks=(finalizer.step,) if finalizer is not None else ())
    draft.turn(WorkflowEvent.CANCEL, WorkflowState.CANCELLING)
    stop_all(draft)
    settle_down(draft)
    draft.set(duties=())
    draft.effects = [effect for effect in draft.effects if not isinstance(effect, DutyTaken)]


class _OfParent(_Plain):
    """A command for the step that has the children. Nothing happens if it is over, or is another generation's."""

    def __init__(self, place: Place) -> None:
        self._run_id, self._step, self._generation = place
        self._is_full = False

    def shrink(self) -> bool:
        """An outcome of the step that cannot be stored becomes a failure, as a result does; ends of children are never refused."""
        shrunk, self._is_full = not self._is_full, True
        return shrunk

    def _join(self, draft: Draft, counted: Sequence[ChildEnd] = ()) -> None:
        children = draft.step(self._step).children
        if self._is_full and children is not None and is_met(child_plan(draft, self._step), children) is not None:
            expand(draft, self._step, Failure(DOCUMENT_FULL, DOCUMENT_IS_FULL, non_retryable=True))
        else:
            join(draft, self._step, counted)

    def _counts(self, draft: Draft) -> bool:
        return draft.workflow.run_id == self._run_id and is_counting(draft, self._step, self._generation)


class ExpandCommand(_OfParent):
    """How many children the step has, or why it can have none."""

    def __init__(self, place: Place, found: int | Failure) -> None:
        super().__init__(place)
        self._found = found

    def apply(self, turn: Turn) -> None:
        """Note it, once. A failure counts even later: the source cannot be read any more."""
        draft = turn.draft
        if self._counts(draft):
            children = draft.step(self._step).children
            if children is not None and (not children.known or isinstance(self._found, Failure)):
                expand(draft, self._step, self._found)
                turn.grant_ready(None, returned=False)


class TendedCommand(_OfParent):
    """The children below `upto` exist; with `audited`, all open ones were looked at."""

    def __init__(self, place: Place, upto: int, audited: bool) -> None:
        super().__init__(place)
        self._upto = upto
        self._audited = audited

    def apply(self, turn: Turn) -> None:
        """Note it; a paging step may go on."""
        if self._counts(turn.draft):
            tended(turn.draft, self._step, self._upto, self._audited)
            self._join(turn.draft)
            turn.grant_ready(None, returned=False)


class ChildrenEndedCommand(_OfParent):
    """Ends of children. More may be added until it is applied for the first time: one write counts them all."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.ends: list[ChildEnd] = []
        self.taken = False  # applied once: what comes now needs another command

    def apply(self, turn: Turn) -> None:
        """Count them; a repeat finds them gone from `open`."""
        self.taken = True
        draft = turn.draft
        if self._counts(draft):
            counted = count_ends(draft, self._step, self.ends)
            if counted:
                self._join(draft, counted)
                tell_progress(draft, self._step)
                turn.grant_ready(None, returned=False)
