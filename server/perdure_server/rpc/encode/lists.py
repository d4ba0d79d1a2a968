"""Pages and counts of workflows."""

from collections.abc import MutableSequence
from typing import Final

from perdure.v1 import workflow_pb2
from perdure.v1 import workflow_service_pb2 as wire
from perdure_server.engine.listing import Detail, Listing, Page, Tally
from perdure_server.engine.selection import Selection
from perdure_server.ports.store import PageKey
from perdure_server.rpc import limits
from perdure_server.rpc.encode import workflows

_By = wire.CountWorkflowsRequest
_PREFIX: Final = "PHASE_"


def fill(target: MutableSequence[workflow_pb2.Workflow], page: Page, detail: Detail) -> PageKey | None:
    """Rows as far as one answer may carry; where the next page begins."""
    size = 0
    last: PageKey | None = None
    for view in page.views:
        message = workflow_pb2.Workflow()
        workflows.workflow(message, view, workflow_pb2.WorkflowView.ValueType(detail))
        size += message.ByteSize()
        if last is not None and size > limits.RESPONSE:
            return last
        target.append(message)
        last = PageKey(view.workflow.start_time, view.workflow.workflow_id)
    return page.after


async def count(listing: Listing, selection: Selection, group_by: int) -> wire.CountWorkflowsResponse:
    """How many match, in groups if asked for."""
    if group_by == _By.GROUP_BY_STATE:
        return _counted(await listing.count_by_state(selection, limits.COUNTED))
    if group_by == _By.GROUP_BY_WORKFLOW_TYPE:
        return _counted(await listing.count_by_type(selection, limits.COUNTED))
    if group_by == _By.GROUP_BY_PHASE:
        tally = await listing.count_by_phase(selection, limits.COUNTED)
        names = {name: workflow_pb2.Phase.Name(workflow_pb2.Phase.ValueType(int(name))).removeprefix(_PREFIX) for name in tally.groups}
        return _counted(Tally(tally.count, tally.estimate, {names[name]: count for name, count in tally.groups.items()}))
    return _counted(await listing.count(selection, limits.COUNTED))


def _counted(tally: Tally) -> wire.CountWorkflowsResponse:
    groups = [wire.CountGroup(group=name, count=count) for name, count in tally.groups.items()]
    return wire.CountWorkflowsResponse(count=tally.count, estimate=tally.estimate, groups=groups)
