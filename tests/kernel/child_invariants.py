"""What is true of the children that a step stores, whatever happened."""

from perdure_server.kernel import limits
from perdure_server.kernel.child_state import ParentClose
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.workflow import STEP_ENDS, DutyKind, StepState, Workflow


def check_children(definition: Definition, workflow: Workflow) -> None:
    """Fail unless every step's children add up, are bounded, and somebody looks after the open ones."""
    tended = {duty.subject for duty in workflow.duties if duty.kind is DutyKind.TEND_CHILDREN and duty.round == workflow.round}
    for name, step in workflow.steps.items():
        plan, children = definition.by_name[name], step.children
        assert children is None or plan.child is not None, name
        if children is None:
            assert name not in tended, f"{name} has no children, and yet somebody tends them"
            continue
        assert list(children.open) == sorted(set(children.open)), name
        assert len(children.open) <= plan.max_in_flight, name
        assert len(children.errors) <= limits.CHILD_ERRORS, name
        assert children.cursor <= children.total, name
        assert children.ended + len(children.open) == children.cursor, f"{name}: a child is counted twice, or not at all"
        is_over = step.state in STEP_ENDS or children.over
        if is_over:
            assert not children.open or plan.parent_close is ParentClose.ABANDON, f"{name} left open children behind"
            assert name not in tended, f"{name}: its children are tended after its end"
        elif children.open:
            assert name in tended, f"{name}: nobody looks after its open children"
        elif step.state is StepState.WAITING and not step.wait:
            assert not children.known or workflow.paused is not None, f"{name} waits for no child"
            assert name in tended, f"{name}: nobody counts its children"
