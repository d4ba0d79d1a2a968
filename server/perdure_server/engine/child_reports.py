"""How the end of a child comes to its parent: a duty of the child. Ends of many children travel in one write of the parent."""

import asyncio
from typing import Any

from perdure_server.engine.child_commands import ChildrenEndedCommand, Place
from perdure_server.engine.child_inputs import ChildInputs
from perdure_server.engine.mailbox import Mailboxes
from perdure_server.engine.spill import Spill
from perdure_server.kernel.child_state import ChildEnd, Parent
from perdure_server.kernel.children import SourceInvalid
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.values import Failure
from perdure_server.kernel.workflow import Duty, Workflow, WorkflowKey, WorkflowState, round_id
from perdure_server.ports.store import Read, Workflows


class ChildReports:
    """Performs the duty TELL_PARENT, and counts what an audit found."""

    def __init__(self, workflows: Workflows, mailboxes: Mailboxes, inputs: ChildInputs, spill: Spill) -> None:
        self._workflows = workflows
        self._mailboxes = mailboxes
        self._inputs = inputs
        self._spill = spill
        self._gathering: dict[tuple[bytes, Place], tuple[ChildrenEndedCommand, asyncio.Future[Any]]] = {}

    async def tell_parent(self, workflow: Workflow, duty: Duty) -> bool:
        """The performer. A parent that is gone, or has gone on, needs no telling. Raises StoreUnavailable, Rejection."""
        if workflow.round != duty.round:
            found = await self._workflows.load(round_id(workflow.key.workflow_id, duty.round), Read.LINEARIZABLE)
            if found is None:
                return True
            workflow = found
        if workflow.parent is not None and workflow.is_ended:
            await self.report(workflow, workflow.parent)
        return True

    async def report(self, child: Workflow, parent: Parent) -> None:
        """Count the end of this child. Raises StoreUnavailable, Rejection."""
        key = WorkflowKey(child.key.namespace, parent.workflow_type, parent.business_key)
        failure = child.failure
        end = ChildEnd(parent.index, int(child.state), Failure(failure.type, failure.message) if failure is not None else None)
        if parent.single and child.state is WorkflowState.COMPLETED:
            end = await self._with_output(child, parent, key.workflow_id, end)
        await self.count(key.workflow_id, (parent.run_id, parent.step, parent.generation), end)

    async def count(self, parent_id: bytes, place: Place, end: ChildEnd) -> None:
        """Bring one end to the parent, together with those that wait for its mailbox. Raises StoreUnavailable, Rejection."""
        where = parent_id, place
        gathered = self._gathering.get(where)
        if gathered is None or gathered[0].taken:
            command = ChildrenEndedCommand(place)
            command.ends.append(end)
            future: asyncio.Future[Any] = self._mailboxes.submit(parent_id, command)
            gathered = self._gathering[where] = command, future
            future.add_done_callback(lambda _: self._forget(where, command))
        else:
            gathered[0].ends.append(end)
        try:
            await asyncio.shield(gathered[1])
        except Rejection as error:
            if error.reason is not Reason.WORKFLOW_NOT_FOUND:
                raise

    def _forget(self, where: tuple[bytes, Place], command: ChildrenEndedCommand) -> None:
        known = self._gathering.get(where)
        if known is not None and known[0] is command:
            del self._gathering[where]

    async def _with_output(self, child: Workflow, parent: Parent, parent_id: bytes, end: ChildEnd) -> ChildEnd:
        if child.tombstone is not None:
            return _without_output(end.index)
        # What lies in a document of the child's run is stored again for the parent's, which may outlive it.
        try:
            output = await self._inputs.resolved(child.run_id, child.output)
        except SourceInvalid:
            return _without_output(end.index)
        return ChildEnd(end.index, end.state, output=await self._spill.spill(parent_id, parent.run_id, output))


def _without_output(index: int) -> ChildEnd:
    failure = Failure("CHILD_OUTPUT_GONE", "The child's output is not stored any more.")
    return ChildEnd(index, int(WorkflowState.FAILED), failure)
