"""What map and child steps may say."""

from perdure_server.kernel import limits
from perdure_server.kernel.definition import Join, StepDefinition, StepKind
from perdure_server.kernel.policy_validation import Report


def check_children(field: str, step: StepDefinition, is_type: bool, report: Report) -> None:
    """Report what is wrong with a map or child step. `is_type`: whether the children's type can be the name of one."""
    kind = step.kind.name.lower()
    if step.kind not in {StepKind.MAP, StepKind.CHILD}:
        if step.child is not None:
            report(f"{field}.map", f"does not belong to a step of kind {kind}")
        return
    where = f"{field}.{kind}"
    if step.child is None:
        report(where, "is missing: the step says which children it has")
        return
    if not is_type:
        report(f"{where}.child_workflow_type", f"{step.child.workflow_type!r} cannot be the name of a type")
    _check_source(where, step, report)
    _check_join(where, step, report)
    if step.branches:
        report(f"{field}.branches", f"do not belong to a step of kind {kind}: nothing chooses among them")
    if step.permits and not step.child.paged:
        report(f"{field}.permits", f"do not belong to a step of kind {kind}: no worker runs it; its children may hold some")


def _check_source(where: str, step: StepDefinition, report: Report) -> None:
    child = step.child
    if child is None:
        return
    source = "items_from" if step.kind is StepKind.MAP else "input_from"
    if step.kind is StepKind.MAP and bool(child.source) == child.paged:
        report(where, "must say one source: items_from or paged")
    if child.source and child.source not in step.needs:
        report(f"{where}.{source}", f"{child.source!r} must be one of the step's needs")


def _check_join(where: str, step: StepDefinition, report: Report) -> None:
    child = step.child
    if child is None:
        return
    if child.join is Join.N_OF_M and not 1 <= child.required <= limits.MAP_CHILDREN:
        report(f"{where}.required_count", f"must be from 1 to {limits.MAP_CHILDREN}")
