"""What hooks and branches may name."""

from perdure_server.kernel import limits
from perdure_server.kernel.definition import Definition, StepDefinition, StepKind
from perdure_server.kernel.policy_validation import Report


def check_hooks(definition: Definition, names: set[str], report: Report) -> None:
    """A hook names a step that is in no dependency and has no other use."""
    users = _users(definition)
    for name, places in users.items():
        kinds = {"compensation" if place.endswith("compensate_with") else place for place in places}
        for place in places:
            if name not in names:
                report(place, f"names no step: {name!r}")
            elif len(kinds) > 1:
                report(place, f"{name!r} has another use, too: a hook step has one use")
    depended_on = {name for step in definition.steps for name in step.depends_on}
    for index, step in enumerate(definition.steps):
        if step.name in users:
            _check_hook_step(f"definition.steps[{index}]", step, step.name in depended_on, report)
    if definition.output_step in users:
        report("definition.output_step", f"{definition.output_step!r} is a hook: the output is an ordinary step's")
    if definition.steps and not definition.ordinary:
        report("definition.steps", "has hooks only: a definition has at least one step of its own")


def _users(definition: Definition) -> dict[str, list[str]]:
    hooks = definition.hooks
    fields = {
        "on_success": hooks.on_success,
        "failure_finalizer": hooks.failure_finalizer,
        "cancel_finalizer": hooks.cancel_finalizer,
        "prepare_replay": hooks.prepare_replay,
    }
    users: dict[str, list[str]] = {}
    for field, hook in fields.items():
        if hook is not None:
            users.setdefault(hook.step, []).append(f"definition.hooks.{field}.step")
    for index, step in enumerate(definition.steps):
        if step.compensate_with:
            users.setdefault(step.compensate_with, []).append(f"definition.steps[{index}].compensate_with")
    return users


def _check_hook_step(where: str, step: StepDefinition, is_needed: bool, report: Report) -> None:
    if step.depends_on or is_needed:
        report(f"{where}.depends_on", f"{step.name!r} is a hook: it is in no dependency")
    if step.kind is not StepKind.ACTIVITY or step.compensate_with or step.branches:
        report(where, f"{step.name!r} is a hook: it is a plain activity without compensation and branches")


def check_branches(definition: Definition, names: set[str], report: Report) -> None:
    """A branch has targets that depend on the step that chooses; a condition of a wait chooses among its step's branches."""
    for index, step in enumerate(definition.steps):
        where = f"definition.steps[{index}]"
        known = [branch.name for branch in step.branches]
        if len(set(known)) != len(known):
            report(f"{where}.branches", "names a branch twice")
        for position, branch in enumerate(step.branches):
            field = f"{where}.branches[{position}]"
            if not branch.name or len(branch.name) > limits.ID_LENGTH:
                report(f"{field}.name", f"must have 1 to {limits.ID_LENGTH} characters")
            if not branch.steps:
                report(f"{field}.steps", f"branch {branch.name!r} has no target")
            unknown = [name for name in branch.steps if name not in names]
            _check_targets(f"{field}.steps", step.name, [name for name in branch.steps if name in names], definition, report)
            for name in unknown:
                report(f"{field}.steps", f"names no step: {name!r}")
        _check_choices(f"{where}.wait", step, set(known), report)


def _check_choices(field: str, step: StepDefinition, known: set[str], report: Report) -> None:
    for condition in step.wait.any_of if step.wait is not None else ():
        for name in sorted(set(condition.choose) - known):
            report(field, f"condition {condition.name!r} chooses an unknown branch: {name!r}")


def _check_targets(field: str, chooser: str, targets: list[str], definition: Definition, report: Report) -> None:
    for name in targets:
        if chooser not in definition.by_name[name].depends_on:
            report(field, f"{name!r} does not depend on {chooser!r}")
