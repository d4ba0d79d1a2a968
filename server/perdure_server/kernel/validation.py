"""Registration names every fault of a definition at once, each with its field path.

Paths follow these values; rpc turns them into paths of the wire, which keeps policies in messages of their own.
"""

import math
import re
from collections.abc import Callable
from typing import Final

from perdure_server.kernel import limits
from perdure_server.kernel.definition import INPUT, Definition, StepDefinition, StepKind
from perdure_server.kernel.graph import find_cycles, unreachable
from perdure_server.kernel.rejection import FieldViolation, Reason
from perdure_server.kernel.values import Condition, RetryPolicy, Wait

STEP_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,62}\Z")
TYPE_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.\-]{0,127}\Z")
QUEUE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,127}\Z")

Violations = list[tuple[str, str]]
Report = Callable[[str, str], None]


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
        _check_policy(f"definition.steps[{index}]", step, renewal_interval, report)
    _check_hooks(definition, names, report)
    _check_branches(definition, names, report)
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
    if definition.output_step and definition.output_step not in {step.name for step in definition.steps}:
        report("definition.output_step", f"names no step: {definition.output_step!r}")
    _check_duration("definition.workflow_timeout", definition.workflow_timeout, report)
    _check_duration("definition.cancel_grace", definition.cancel_grace, report, zero_allowed=True)
    _check_duration("definition.retention", definition.retention, report, zero_allowed=True)
    if definition.max_lost_claims < 1:
        report("definition.max_lost_claims", "must be at least 1")


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
    if step.kind in {StepKind.MAP, StepKind.CHILD}:
        report(f"{field}.{step.kind.name.lower()}", "is not supported yet by this server")
    if step.kind is StepKind.WAIT and step.wait is None:
        report(f"{field}.wait", "is missing: a wait step says what it waits for")
    elif step.kind is not StepKind.WAIT and step.wait is not None:
        report(f"{field}.wait", f"does not belong to a step of kind {step.kind.name.lower()}")
    if step.wait is not None:
        wait_violations(f"{field}.wait", step.wait, report)


def _check_hooks(definition: Definition, names: set[str], report: Report) -> None:
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
    for name, places in users.items():
        kinds = {"compensation" if place.endswith("compensate_with") else place for place in places}
        for place in places:
            if name not in names:
                report(place, f"names no step: {name!r}")
            elif len(kinds) > 1:
                report(place, f"{name!r} has another use, too: a hook step has one use")
    dependants = definition.dependants if all(dep in names for step in definition.steps for dep in step.depends_on) else {}
    for index, step in enumerate(definition.steps):
        if step.name not in users:
            continue
        where = f"definition.steps[{index}]"
        if step.depends_on or dependants.get(step.name):
            report(f"{where}.depends_on", f"{step.name!r} is a hook: it is in no dependency")
        if step.kind is not StepKind.ACTIVITY or step.compensate_with or step.branches:
            report(where, f"{step.name!r} is a hook: it is a plain activity without compensation and branches")
    if definition.steps and not definition.ordinary:
        report("definition.steps", "has hooks only: a definition has at least one step of its own")


def _check_branches(definition: Definition, names: set[str], report: Report) -> None:
    for index, step in enumerate(definition.steps):
        where = f"definition.steps[{index}]"
        known = [branch.name for branch in step.branches]
        if len(set(known)) != len(known):
            report(f"{where}.branches", "names a branch twice")
        for position, branch in enumerate(step.branches):
            field = f"{where}.branches[{position}]"
            if not branch.steps:
                report(f"{field}.steps", f"branch {branch.name!r} has no target")
            for name in branch.steps:
                target = definition.by_name.get(name)
                if name not in names or target is None:
                    report(f"{field}.steps", f"names no step: {name!r}")
                elif step.name not in target.depends_on:
                    report(f"{field}.steps", f"{name!r} does not depend on {step.name!r}")
        for condition in step.wait.any_of if step.wait is not None else ():
            for name in condition.choose:
                if name not in known:
                    report(f"{where}.wait", f"condition {condition.name!r} chooses an unknown branch: {name!r}")


def _check_reachable(definition: Definition, cycles: list[list[str]], report: Report) -> None:
    in_cycle = {name for cycle in cycles for name in cycle}
    behind = unreachable(definition) - in_cycle if cycles else set()
    for index, step in enumerate(definition.steps):
        if step.name in behind:
            report(f"definition.steps[{index}]", f"{step.name!r} is unreachable: it depends on a cycle")


def wait_violations(field: str, wait: Wait, report: Report) -> None:
    """Report what is wrong with a wait, of a definition or of a worker's `waiting`."""
    if not wait.any_of:
        report(f"{field}.any_of", "is empty: a wait needs at least one condition")
    if len(wait.any_of) > limits.WAIT_CONDITIONS:
        report(f"{field}.any_of", f"has more than {limits.WAIT_CONDITIONS} conditions")
    names = [condition.name for condition in wait.any_of]
    if len(set(names)) != len(names):
        report(f"{field}.any_of", "names a condition twice")
    for index, condition in enumerate(wait.any_of):
        _check_condition(f"{field}.any_of[{index}]", condition, report)


def _check_condition(field: str, condition: Condition, report: Report) -> None:
    if not condition.name or len(condition.name) > limits.ID_LENGTH:
        report(f"{field}.name", f"must have 1 to {limits.ID_LENGTH} characters")
    if len(condition.signal) > limits.ID_LENGTH:
        report(f"{field}.signal.signal_name", f"is longer than {limits.ID_LENGTH} characters")
    if not 0 <= condition.count <= limits.SIGNAL_COUNT:
        report(f"{field}.signal.count", f"must be from 0 (= 1) to {limits.SIGNAL_COUNT}")
    _check_duration(f"{field}.after", condition.after, report, zero_allowed=True)
    if condition.at is not None and not 0 <= condition.at <= limits.TIME:
        report(f"{field}.at_time", "must lie between the years 1970 and 9999")
    if bool(condition.signal) + (condition.after is not None) + (condition.at is not None) != 1:
        report(field, "must say one of: a signal, a duration, a time")


def _check_policy(field: str, step: StepDefinition, renewal_interval: int, report: Report) -> None:
    if not QUEUE_NAME.match(step.queue):
        report(f"{field}.queue", f"{step.queue!r} must match {QUEUE_NAME.pattern[:-2]}")
    if step.priority is not None and not 0 <= step.priority <= limits.PRIORITY_MAX:
        report(f"{field}.priority", f"must be from 0 to {limits.PRIORITY_MAX}")
    _check_duration(f"{field}.attempt_timeout", step.attempt_timeout, report)
    _check_duration(f"{field}.silence_timeout", step.silence_timeout, report)
    shortest = limits.RENEWALS_PER_LEASE * renewal_interval
    if step.silence_timeout is not None and 0 < step.silence_timeout < shortest:
        report(f"{field}.silence_timeout", f"must be at least {shortest} ms, three renewal intervals, by which it is judged")
    _check_duration(f"{field}.step_timeout", step.step_timeout, report)
    _check_duration(f"{field}.queue_timeout", step.queue_timeout, report)
    for position, permit in enumerate(step.permits):
        if not QUEUE_NAME.match(permit.resource):
            report(f"{field}.permits[{position}].resource", f"{permit.resource!r} must match {QUEUE_NAME.pattern[:-2]}")
        if not 1 <= permit.units <= limits.PERMIT_UNITS:
            report(f"{field}.permits[{position}].units", f"must be from 1 to {limits.PERMIT_UNITS}")
    if len({permit.resource for permit in step.permits}) != len(step.permits):
        report(f"{field}.permits", "names a resource twice")
    _check_retry(f"{field}.retry", step.retry, report)


def _check_retry(field: str, retry: RetryPolicy, report: Report) -> None:
    if retry.max_attempts is not None and retry.max_attempts < 1:
        report(f"{field}.max_attempts", "must be at least 1; use `unlimited` for no limit")
    if not math.isfinite(retry.coefficient) or not 1.0 <= retry.coefficient <= limits.RETRY_COEFFICIENT_MAX:
        report(f"{field}.coefficient", f"must be from 1 to {limits.RETRY_COEFFICIENT_MAX:g}")
    if not math.isfinite(retry.jitter) or not 0.0 <= retry.jitter <= 1.0:
        report(f"{field}.jitter", "must be from 0 to 1")
    _check_duration(f"{field}.initial_interval", retry.initial_interval, report)
    _check_duration(f"{field}.max_interval", retry.max_interval, report)
    if retry.max_interval < retry.initial_interval:
        report(f"{field}.max_interval", "must not be shorter than initial_interval")


def _check_duration(field: str, value: int | None, report: Report, zero_allowed: bool = False) -> None:
    if value is None:
        return
    if value < 0 or (value == 0 and not zero_allowed):
        report(field, "must be longer than zero" if not zero_allowed else "must not be negative")
    elif value > limits.DURATION:
        report(field, f"must be at most {limits.DURATION} ms (100 years)")
