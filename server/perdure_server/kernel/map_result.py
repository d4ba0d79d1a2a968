"""The output of a map step, in the JSON form of the wire's MapResult; the details of a failed join have the same form."""

import json

from perdure_server.kernel.child_state import ChildError, Children, Parent, child_key
from perdure_server.kernel.definition import ChildPlan
from perdure_server.kernel.values import Payload
from perdure_server.kernel.workflow import Workflow

CONTENT_TYPE = "application/vnd.perdure.map-result+json"


def map_result(workflow: Workflow, parent: Parent, plan: ChildPlan, children: Children) -> Payload:
    """MapResult as canonical protobuf JSON: 64-bit integers are strings, defaults are left out. `parent` is that of any of the children."""
    key = workflow.key
    body: dict[str, object] = {
        "workflow": _ref(key.namespace, key.workflow_type, key.business_key, workflow.round),
        "step": parent.step,
        "progress": _progress(children),
    }
    if children.errors:
        body["errors"] = [_error(key.namespace, parent, plan, error) for error in children.errors]
    return Payload(json=json.dumps(body, ensure_ascii=False, separators=(",", ":")), content_type=CONTENT_TYPE)


def _progress(children: Children) -> dict[str, object]:
    counts = {
        "totalCount": children.total,
        "openCount": len(children.open),
        "completedCount": children.completed,
        "failedCount": children.failed,
        "cancelledCount": children.cancelled,
    }
    found: dict[str, object] = {name: str(count) for name, count in counts.items() if count}
    if children.known:
        found["totalKnown"] = True
    return found


def _error(namespace: str, parent: Parent, plan: ChildPlan, error: ChildError) -> dict[str, object]:
    of_child = Parent(parent.workflow_type, parent.business_key, parent.round, parent.run_id, parent.step, parent.generation, error.index)
    found: dict[str, object] = {"workflow": _ref(namespace, plan.workflow_type, child_key(of_child), 0)}
    found["failure"] = {"type": error.type} | ({"message": error.message} if error.message else {})
    return ({"index": str(error.index)} if error.index else {}) | found


def _ref(namespace: str, workflow_type: str, business_key: str, number: int) -> dict[str, object]:
    found: dict[str, object] = {"namespace": namespace, "workflowType": workflow_type, "businessKey": business_key}
    return found | ({"round": str(number)} if number else {})
