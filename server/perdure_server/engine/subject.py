"""What a line of the log is about, as its `extra`: every line that concerns a workflow says so in the same fields."""

from perdure_server.kernel.workflow import Workflow, WorkflowKey

Subject = dict[str, str | int]


def about(workflow: Workflow | None, step: str = "", claim_no: int = 0) -> Subject:
    """`workflow` (namespace/type/key), `run_id` and `trace_id`; `step` and `claim_no` if there are any. Never a payload, never a token."""
    if workflow is None:
        return {}
    found: Subject = {"workflow": name_of(workflow.key), "run_id": workflow.run_id, "trace_id": workflow.trace.trace_id}
    if step:
        found["step"] = step
    if claim_no:
        found["claim_no"] = claim_no
    return found


def name_of(key: WorkflowKey) -> str:
    """namespace/type/key."""
    return f"{key.namespace}/{key.workflow_type}/{key.business_key}"
