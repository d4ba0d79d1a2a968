"""Children, as readers see them."""

from collections.abc import Callable
from typing import Final

from perdure.v1 import definition_pb2, workflow_pb2
from perdure.v1 import workflow_service_pb2 as wire
from perdure_server.engine.child_list import ChildPage, Place
from perdure_server.kernel.child_state import ParentClose
from perdure_server.kernel.definition import Join, StepDefinition, StepKind
from perdure_server.rpc import limits
from perdure_server.rpc.encode import workflows

_JOINS: Final = {join: definition_pb2.MapStep.Join.Value(f"JOIN_{join.name}") for join in Join}
_CLOSES: Final = {close: definition_pb2.StepPolicy.ParentClosePolicy.Value(f"PARENT_CLOSE_POLICY_{close.name}") for close in ParentClose}


def plan(target: definition_pb2.StepDefinition, source: StepDefinition) -> None:
    """What a map or child step says of its children; nothing for other kinds."""
    child = source.child
    if child is None:
        return
    if source.kind is StepKind.CHILD:
        target.child.child_workflow_type = child.workflow_type
        target.child.input_from = child.source
        return
    target.map.child_workflow_type = child.workflow_type
    if child.paged:
        target.map.paged.SetInParent()
    else:
        target.map.items_from = child.source
    target.map.join = _JOINS[child.join]
    target.map.required_count = child.required


def policy(target: definition_pb2.StepPolicy, source: StepDefinition) -> None:
    """What its policy says of them."""
    if source.child is not None:
        target.parent_close = _CLOSES[source.parent_close]
    if source.kind is StepKind.MAP:
        target.max_in_flight = source.max_in_flight


def page(found: ChildPage, detail: workflow_pb2.WorkflowView.ValueType, token: Callable[[Place], str]) -> wire.ListChildrenResponse:
    """One page, as far as one answer may carry; `token` makes the next page's."""
    answer = wire.ListChildrenResponse()
    size = 0
    for row in found.children:
        message = workflow_pb2.Workflow()
        workflows.workflow(message, row.view, detail)
        size += message.ByteSize()
        if answer.children and size > limits.RESPONSE:
            answer.next_page_token = token(row.place)
            return answer
        answer.children.append(message)
    if found.after is not None:
        answer.next_page_token = token(found.after)
    return answer
