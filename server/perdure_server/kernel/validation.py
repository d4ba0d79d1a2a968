"""Registration names every fault of a definition at once, each with its field path.

Paths follow these values; rpc turns them into paths of the wire, which keeps policies in messages of their own.
"""

import re
from collections.abc import Iterator
from itertools import chain
from typing import Final

from perdure_server.kernel import limits
from perdure_server.kernel.child_validation import check_children
from perdure_server.kernel.definition import INPUT, Definition, StepDefinition, StepKind
from perdure_server.kernel.graph import find_cycles, unreachable
from perdure_server.kernel.hook_validation import check_branches, check_hooks
from perdure_server.kernel.policy_validation import Report, check_duration, check_policy, wait_violations
from perdure_server.kernel.rejection import FieldViolation, Reason

STEP_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,62}\Z")
TYPE_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.\-]{0,127}\Z")

Violations = list[tuple[str, str]]


def validate(definition: Definition, renewal_interval: int) -> None:
    """Raise FieldViolation with all faults: DEFINITION_CYCLE if a cycle is among them, else DEFINITION_INVALID.

    `renewal_interval` in ms.
    """
    violations: Violations = []

    def report(field: str, text: str) -> None:
        violations.append((field, text))

    _check_head(definition, report)
    names = _check_names(definition, report)
    for index, step in enumerate(definition.steps):
        _check_step(f"definition.steps[{index}]", step, names, report, is_hook=step.name in definition.hook_steps)
        check_policy(f"definition.steps[{index}]", step, renewal_interval, report)
    check_hooks(definition, names, report)
    check_branches(definition, names, report)
    cycles = find_cycles(definition)
    for cycle in cycles:
        report("definition.steps", "has a cycle: " + " -> ".join(cycle))
    _check_reachable(definition, cycles, report)
    if violations:
        raise FieldViolation(violations, Reason.DEFINITION_CYCLE if cycles else Reason.DEFINITION_INVALID)


def _check_head(definition: Definition, report: Report) -> None:
    if not TYPE_NAME.match(definition.workflow_type):
        report("definition.workflow_type", f"must match {TYPE_NAME.pattern[:-2]}")
    if len(definition.version) > limits.ID_LENGTH:
        report("definition.version", f"is longer than {limits.ID_LENGTH} characters")
    if not definition.steps:
        report("definition.steps", "is empty: a definition has at least one step")
    if len(definition.steps) > limits.STEPS:
        report("definition.steps", f"has more than {limits.STEPS} steps")
    if sum(len(step.depends_on) for step in definition.steps) > limits.DEPENDENCIES:
        report("definition.steps", f"have more than {limits.DEPENDENCIES} dependencies in all")
    if (size := text_size(definition)) > limits.DEFINITION:
        report("definition.steps", f"have names and descriptions of {size} bytes in all, more than {limits.DEFINITION}")
    if definition.output_step and definition.output_step not in {step.name for step in definition.steps}:
        report("definition.output_step", f"names no step: {definition.output_step!r}")
    check_duration("definition.workflow_timeout", definition.workflow_timeout, report)
    check_duration("definition.cancel_grace", definition.cancel_grace, report, zero_allowed=True)
    check_duration("definition.retention", definition.retention, report, zero_allowed=True)
    if definition.max_lost_claims < 1:
        report("definition.max_lost_claims", "must be at least 1")


def text_size(definition: Definition) -> int:
    """Bytes of all names and texts of a definition, about what it takes in an answer."""
    texts = chain([definition.description], *(_texts(step) for step in definition.steps))
    return sum(len(text.encode()) + limits.TEXT_LENGTH_BYTES for text in texts)


def _texts(step: StepDefinition) -> Iterator[str]:
    yield from (step.name, step.version, step.description, step.queue, step.compensate_with)
    yield from (*step.depends_on, *step.needs, *step.retry.non_retryable_types)
    yield from (permit.resource for permit in step.permits)
    for branch in step.branches:
        yield from (branch.name, *branch.steps)
    for condition in step.wait.any_of if step.wait is not None else ():
        yield from (condition.name, condition.signal, *condition.choose)


def _check_names(definition: Definition, report: Report) -> set[str]:
    names: set[str] = set()
    for index, step in enumerate(definition.steps):
        field = f"definition.steps[{index}].name"
        if not STEP_NAME.match(step.name):
            report(field, f"{step.name!r} must match {STEP_NAME.pattern[:-2]}")
        elif step.name == INPUT:
            report(field, "'input' is reserved for the workflow's input")
        if step.name in names:
            report(field, f"{step.name!r} is used twice")
        names.add(step.name)
    return names


def _check_step(field: str, step: StepDefinition, names: set[str], report: Report, *, is_hook: bool = False) -> None:
    if len(step.version) > limits.ID_LENGTH:
        report(f"{field}.version", f"is longer than {limits.ID_LENGTH} characters")
    dependencies = set(step.depends_on)
    for position, name in enumerate(step.depends_on):
        if name not in names:
            report(f"{field}.depends_on[{position}]", f"names no step: {name!r}")
    if len(dependencies) != len(step.depends_on):
        report(f"{field}.depends_on", "names a step twice")
    for position, name in enumerate(step.needs):
        if name != INPUT and name not in dependencies and not (is_hook and name in names):
            report(f"{field}.needs[{position}]", f"{name!r} must be 'input' or one of depends_on")
    if len(set(step.needs)) != len(step.needs):
        report(f"{field}.needs", "names an input twice")
    _check_kind(field, step, report)


def _check_kind(field: str, step: StepDefinition, report: Report) -> None:
    check_children(field, step, step.child is not None and TYPE_NAME.match(step.child.workflow_type) is not None, report)
    if step.kind is StepKind.WAIT and step.wait is None:
        report(f"{field}.wait", "is missing: a wait step says what it waits for")
    elif step.kind is not StepKind.WAIT and step.wait is not None:
        report(f"{field}.wait", f"does not belong to a step of kind {step.kind.name.lower()}")
    if step.wait is not None:
        wait_violations(f"{field}.wait", step.wait, report)


def _check_reachable(definition: Definition, cycles: list[list[str]], report: Report) -> None:
    in_cycle = {name for cycle in cycles for name in cycle}
    behind = unreachable(definition) - in_cycle if cycles else set()
    for index, step in enumerate(definition.steps):
        if step.name in behind:
            report(f"definition.steps[{index}]", f"{step.name!r} is unreachable: it depends on a cycle")
