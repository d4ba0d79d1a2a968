"""Which workflows: the one typed filter, and what lists, counts and watches of many ask beside it."""

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from perdure.v1 import filter_pb2, workflow_pb2
from perdure.v1 import workflow_service_pb2 as wire
from perdure_server.engine.listing import Detail
from perdure_server.engine.selection import OPEN, Selection
from perdure_server.kernel import limits
from perdure_server.kernel.policy_validation import QUEUE_NAME
from perdure_server.kernel.validation import STEP_NAME, TYPE_NAME
from perdure_server.kernel.workflow import WorkflowKey, WorkflowState
from perdure_server.ports.store import WorkflowQuery
from perdure_server.rpc import limits as rpc_limits
from perdure_server.rpc.decode import values
from perdure_server.rpc.decode.operations import time_range
from perdure_server.rpc.decode.workflows import known_view, page_size
from perdure_server.rpc.faults import Faults

_List = wire.ListWorkflowsRequest
_ORDERS: Final = {_List.ORDER_UNSPECIFIED: True, _List.ORDER_START_TIME_DESC: True, _List.ORDER_START_TIME_ASC: False}
_LISTS: Final = {
    "filter.workflow_types": rpc_limits.FILTER_TYPES,
    "filter.queues": rpc_limits.FILTER_QUEUES,
    "filter.business_keys": rpc_limits.FILTER_KEYS,
    "filter.definition_fingerprints": rpc_limits.FILTER_FINGERPRINTS,
    "filter.failure_types": rpc_limits.FILTER_FAILURES,
}


def list_query(message: wire.ListWorkflowsRequest) -> tuple[Selection, int, Detail]:
    """What a page of a list asks for, how many rows, and how much of each. Raises FieldViolation with all faults."""
    faults = Faults()
    descending = _ORDERS.get(message.order_by)
    if descending is None:
        faults.add("order_by", "is not known")
    detail = view(message.view, faults)
    size = page_size(message.page_size, faults)
    found = selection(message.namespace, message.filter, faults, descending is not False)
    faults.check()
    return found, size, detail


def count_query(message: wire.CountWorkflowsRequest) -> Selection:
    """What a count asks for. Raises FieldViolation with all faults."""
    faults = Faults()
    if message.group_by not in wire.CountWorkflowsRequest.GroupBy.values():
        faults.add("group_by", "is not known")
    found = selection(message.namespace, message.filter, faults)
    faults.check()
    return found


def watched(message: wire.WatchWorkflowsRequest) -> tuple[Selection, Detail]:
    """What a watch of many asks for; without a filter all open ones. Raises FieldViolation with all faults."""
    faults = Faults()
    detail = view(message.view, faults)
    if detail is Detail.FULL:
        faults.add("view", "must be BASIC or STEPS: a watch of many carries no payloads")
    found = selection(message.namespace, message.filter, faults, descending=False)
    faults.check()
    return found if message.HasField("filter") else replace(found, query=replace(found.query, states=OPEN)), detail


def rounds(message: wire.ListRoundsRequest) -> tuple[WorkflowKey, int, Detail]:
    """Whose rounds, how many a page, and how much of each. Raises FieldViolation with all faults."""
    faults = Faults()
    found = values.ref(message.workflow, "workflow", faults)
    detail = view(message.view, faults)
    size = page_size(message.page_size, faults)
    faults.check()
    return found.key, size, detail


def view(asked: int, faults: Faults) -> Detail:
    """How much of each; BASIC unless asked."""
    return Detail(asked or Detail.BASIC) if known_view(asked, faults) else Detail.BASIC


def selection(namespace: str, message: filter_pb2.WorkflowFilter, faults: Faults, descending: bool = True) -> Selection:
    """The filter of a namespace, with its faults noted."""
    _check_lists(message, faults)
    known = {int(state) for state in WorkflowState}
    if not known.issuperset(message.states):
        faults.add("filter.states", "names a state that is not known")
    check_phases(message.phases, "filter.phases", faults)
    start_from, start_before = time_range(message.start_time, "filter.start_time", faults)
    end_from, end_before = time_range(message.end_time, "filter.end_time", faults)
    query = WorkflowQuery(
        namespace=values.namespace(namespace, "namespace", faults),
        workflow_types=tuple(message.workflow_types),
        states=tuple(WorkflowState(state) for state in message.states if state in known),
        business_keys=tuple(message.business_keys),
        labels=values.labels(message.labels, "filter.labels", faults, rpc_limits.FILTER_LABELS),
        start_from=start_from,
        start_before=start_before,
        descending=descending,
        include_archived=message.include_archived,
    )
    parent = _parent(message, query.namespace, faults)
    return Selection(
        query,
        phases=tuple(message.phases),
        queues=tuple(message.queues),
        end_from=end_from,
        end_before=end_before,
        fingerprints=tuple(message.definition_fingerprints),
        paused=message.paused if message.HasField("paused") else None,
        failure_types=tuple(message.failure_types),
        schedule_id=values.identifier(message.schedule_id, "filter.schedule_id", faults),
        parent=parent,
        parent_step=message.parent_step,
    )


def check_phases(asked: Iterable[int], field: str, faults: Faults) -> None:
    """Note phases that the server does not know."""
    if not set(workflow_pb2.Phase.values()[1:]).issuperset(asked):
        faults.add(field, "names a phase that is not known")


def _parent(message: filter_pb2.WorkflowFilter, namespace: str, faults: Faults) -> tuple[str, str, int | None] | None:
    if message.parent_step:
        values.name(message.parent_step, "filter.parent_step", STEP_NAME, faults)
        if not message.HasField("parent"):
            faults.add("filter.parent_step", "needs `parent`")
    if not message.HasField("parent"):
        return None
    ref = values.ref(message.parent, "filter.parent", faults)
    if message.parent.namespace and ref.key.namespace != namespace:
        faults.add("filter.parent.namespace", "is not that of the request: children live in their parent's")
    return ref.key.workflow_type, ref.key.business_key, ref.round


def _check_lists(message: filter_pb2.WorkflowFilter, faults: Faults) -> None:
    for path, most in _LISTS.items():
        if len(getattr(message, path.removeprefix("filter."))) > most:
            faults.add(path, f"has more than {most} entries")
    for index, workflow_type in enumerate(message.workflow_types):
        values.name(workflow_type, f"filter.workflow_types[{index}]", TYPE_NAME, faults)
    for index, queue in enumerate(message.queues):
        values.name(queue, f"filter.queues[{index}]", QUEUE_NAME, faults)
    for index, key in enumerate(message.business_keys):
        if not key or len(key.encode()) > limits.KEY_LENGTH:
            faults.add(f"filter.business_keys[{index}]", f"must have 1 to {limits.KEY_LENGTH} bytes")
