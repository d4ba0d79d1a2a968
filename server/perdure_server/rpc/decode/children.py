"""Map and child steps from the wire: their definitions, pages, and what is asked about children."""

from typing import Final

from perdure.v1 import claim_pb2, definition_pb2, workflow_pb2
from perdure.v1 import workflow_service_pb2 as wire
from perdure.v1.definition_pb2 import MapStep, StepDefinition, StepPolicy
from perdure_server.engine.child_list import ChildQuery
from perdure_server.kernel import limits
from perdure_server.kernel.child_state import ParentClose
from perdure_server.kernel.children import pack
from perdure_server.kernel.definition import ChildPlan, Join
from perdure_server.kernel.outcomes import Page
from perdure_server.kernel.validation import STEP_NAME
from perdure_server.kernel.values import Payload, RetryPolicy
from perdure_server.kernel.workflow import WorkflowState
from perdure_server.rpc.decode import values
from perdure_server.rpc.decode.workflows import known_view, page_size
from perdure_server.rpc.faults import Faults

_JOINS: Final = {
    MapStep.JOIN_UNSPECIFIED: Join.ALL,
    MapStep.JOIN_ALL: Join.ALL,
    MapStep.JOIN_ANY: Join.ANY,
    MapStep.JOIN_N_OF_M: Join.N_OF_M,
    MapStep.JOIN_BEST_EFFORT: Join.BEST_EFFORT,
}
_CLOSES: Final = {
    StepPolicy.PARENT_CLOSE_POLICY_UNSPECIFIED: ParentClose.CANCEL,
    StepPolicy.PARENT_CLOSE_POLICY_CANCEL: ParentClose.CANCEL,
    StepPolicy.PARENT_CLOSE_POLICY_TERMINATE: ParentClose.TERMINATE,
    StepPolicy.PARENT_CLOSE_POLICY_ABANDON: ParentClose.ABANDON,
}


def source(message: StepDefinition) -> str:
    """What a map or child step takes its children's inputs from, if that is one thing that it needs; else ""."""
    return message.map.items_from or message.child.input_from


def plan(message: StepDefinition, field: str, faults: Faults) -> ChildPlan | None:
    """The children of a map or child step; None for other kinds."""
    kind = message.WhichOneof("kind")
    if kind == "child":
        return ChildPlan(message.child.child_workflow_type, message.child.input_from)
    if kind != "map":
        return None
    found = message.map
    join = _JOINS.get(found.join)
    if join is None:
        faults.add(f"{field}.map.join", "is not known")
    return ChildPlan(
        workflow_type=found.child_workflow_type,
        source=found.items_from,
        paged=found.HasField("paged"),
        join=join or Join.ALL,
        required=found.required_count if join is Join.N_OF_M else 0,
    )


def default_retry(message: StepDefinition) -> RetryPolicy:
    """The retry policy of a step that names none: one that starts its children by itself is tried once, since a retry starts all anew."""
    kind = message.WhichOneof("kind")
    starts_all = kind == "child" or (kind == "map" and not message.map.HasField("paged"))
    return RetryPolicy(max_attempts=1) if starts_all else RetryPolicy()


def parent_close(policy: definition_pb2.StepPolicy, path: str, faults: Faults) -> ParentClose:
    """What the step's end does to open children."""
    found = _CLOSES.get(policy.parent_close)
    if found is None:
        faults.add(f"{path}.parent_close", "is not known")
    return found or ParentClose.CANCEL


def page(message: claim_pb2.MapPage, field: str, faults: Faults) -> Page:
    """A page of children, and the cursor after them."""
    if len(message.children) > limits.MAP_PAGE:
        faults.add(f"{field}.children", f"has more than {limits.MAP_PAGE} entries")
    listed = message.children[: limits.MAP_PAGE]
    found = [values.payload(child, f"{field}.children[{index}]", faults) or Payload() for index, child in enumerate(listed)]
    cursor = values.payload(message.cursor, f"{field}.cursor", faults) if message.HasField("cursor") else None
    return Page(len(found), pack(found) if found else None, cursor)


def list_query(message: wire.ListChildrenRequest) -> tuple[ChildQuery, int]:
    """Whose children, and how many a page. Raises FieldViolation with all faults."""
    faults = Faults()
    found = values.ref(message.workflow, "workflow", faults)
    if message.step:
        values.name(message.step, "step", STEP_NAME, faults)
    known = {int(state) for state in WorkflowState}
    if not known.issuperset(message.states):
        faults.add("states", "names a state that is not known")
    size = page_size(message.page_size, faults)
    known_view(message.view, faults)
    faults.check()
    states = frozenset(WorkflowState(state) for state in message.states)
    return ChildQuery(found, message.step, states, message.view == workflow_pb2.WORKFLOW_VIEW_FULL), size
