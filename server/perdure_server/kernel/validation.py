"""Registration names every fault of a definition at once, each with its field path."""

import math
import re
from collections.abc import Callable
from typing import Final

from perdure_server.kernel import limits
from perdure_server.kernel.definition import INPUT, Definition, StepDefinition, StepKind
from perdure_server.kernel.rejection import FieldViolation, Reason
from perdure_server.kernel.values import RetryPolicy, Wait

STEP_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,62}\Z")
TYPE_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.\-]{0,127}\Z")
QUEUE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,127}\Z")

Violations = list[tuple[str, str]]
Report = Callable[[str, str], None]


def validate(definition: Definition, renewal_interval: int) -> None:
    """Raise FieldViolation with all faults: DEFINITION_CYCLE if a cycle is among them, else DEFINITION_INVALID. `renewal_interval` in ms."""
    violations: Violations = []

    def report(field: str, text: str) -> None:
        violations.append((field, text))

    _check_head(definition, report)
    names = _check_names(definition, report)
    for index, step in enumerate(definition.steps):
        _check_step(f"definition.steps[{index}]", step, names, report)
        _check_policy(f"definition.steps[{index}]", step, renewal_interval, report)
    cycle = find_cycle(definition)
    if cycle:
        report("definition.steps", "has a cycle: " + " -> ".join(cycle))
    if violations:
        raise FieldViolation(violations, Reason.DEFINITION_CYCLE if cycle else Reason.DEFINITION_INVALID)


def find_cycle(definition: Definition) -> list[str]:
    """A cycle of the dependencies as a path that ends where it began, or []."""
    edges = {step.name: [name for name in step.depends_on] for step in definition.steps}
    finished: set[str] = set()
    for start in edges:
        path: list[str] = []
        on_path: set[str] = set()
        stack: list[tuple[str, int]] = [(start, 0)]
        while stack:  # a long chain must not meet Python's recursion limit
            name, position = stack.pop()
            if position == 0:
                if name in finished:
                    continue
                path.append(name)
                on_path.add(name)
            following = edges.get(name, [])
            if position < len(following):
                stack.append((name, position + 1))
                needed = following[position]
                if needed in on_path:
                    return [*path[path.index(needed) :], needed]
                if needed not in finished:
                    stack.append((needed, 0))
            else:
                finished.add(name)
                on_path.discard(name)
                path.pop()
    return []


def _check_head(definition: Definition, report: Report) -> None:
    if not TYPE_NAME.match(definition.workflow_type):
        report("definition.workflow_type", f"must match {TYPE_NAME.pattern[:-2]}")
    if len(definition.version) > limits.ID_LENGTH:
        report("definition.version", f"is longer than {limits.ID_LENGTH} characters")
    if not definition.steps:
        report("definition.steps", "is empty: a definition has at least one step")
    if len(definition.steps) > limits.STEPS:
        report("definition.steps", f"has more than {limits.STEPS} steps")
    if definition.output_step and definition.output_step not in {step.name for step in definition.steps}:
        report("definition.output_step", f"names no step: {definition.output_step!r}")
    for field, value in (("workflow_timeout", definition.workflow_timeout), ("cancel_grace", definition.cancel_grace), ("retention", definition.retention)):
        _check_duration(f"definition.{field}", value, report, zero_allowed=field != "workflow_timeout")
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


def _check_step(field: str, step: StepDefinition, names: set[str], report: Report) -> None:
    if len(step.version) > limits.ID_LENGTH:
        report(f"{field}.version", f"is longer than {limits.ID_LENGTH} characters")
    for position, name in enumerate(step.depends_on):
        if name not in names:
            report(f"{field}.depends_on[{position}]", f"names no step: {name!r}")
    if len(set(step.depends_on)) != len(step.depends_on):
        report(f"{field}.depends_on", "names a step twice")
    for position, name in enumerate(step.needs):
        if name != INPUT and name not in step.depends_on:
            report(f"{field}.needs[{position}]", f"{name!r} must be 'input' or one of depends_on")
    if step.kind is StepKind.WAIT and step.wait is None:
        report(f"{field}.wait", "is missing: a wait step says what it waits for")
    if step.wait is not None:
        wait_violations(f"{field}.wait", step.wait, report)


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
        where = f"{field}.any_of[{index}]"
        if not condition.name or len(condition.name) > limits.ID_LENGTH:
            report(f"{where}.name", f"must have 1 to {limits.ID_LENGTH} characters")
        if len(condition.signal) > limits.ID_LENGTH:
            report(f"{where}.signal.signal_name", f"is longer than {limits.ID_LENGTH} characters")
        if not 0 <= condition.count <= limits.SIGNAL_COUNT:
            report(f"{where}.signal.count", f"must be from 0 (= 1) to {limits.SIGNAL_COUNT}")
        if condition.after is not None:
            _check_duration(f"{where}.after", condition.after, report, zero_allowed=True)
        if condition.at is not None and not 0 <= condition.at <= limits.TIME:
            report(f"{where}.at_time", "must lie between the years 1970 and 9999")
        if not condition.signal and condition.after is None and condition.at is None:
            report(where, "must say a signal, a duration or a time")


def _check_policy(field: str, step: StepDefinition, renewal_interval: int, report: Report) -> None:
    if not QUEUE_NAME.match(step.queue):
        report(f"{field}.queue", f"{step.queue!r} must match {QUEUE_NAME.pattern[:-2]}")
    if step.priority is not None and not 0 <= step.priority <= limits.PRIORITY_MAX:
        report(f"{field}.priority", f"must be from 0 to {limits.PRIORITY_MAX}")
    _check_duration(f"{field}.attempt_timeout", step.attempt_timeout, report)
    if step.silence_timeout is not None:
        _check_duration(f"{field}.silence_timeout", step.silence_timeout, report)
        shortest = limits.RENEWALS_PER_LEASE * renewal_interval
        if 0 < step.silence_timeout < shortest:
            report(f"{field}.silence_timeout", f"must be at least {shortest} ms, three renewal intervals, by which it is judged")
    _check_retry(f"{field}.retry", step.retry, report)


def _check_retry(field: str, retry: RetryPolicy, report: Report) -> None:
    if retry.max_attempts is not None and retry.max_attempts < 1:
        report(f"{field}.max_attempts", "must be at least 1; use `unlimited` for no limit")
    if not math.isfinite(retry.coefficient) or not 1.0 <= retry.coefficient <= 100.0:
        report(f"{field}.coefficient", "must be from 1 to 100")
    if not math.isfinite(retry.jitter) or not 0.0 <= retry.jitter <= 1.0:
        report(f"{field}.jitter", "must be from 0 to 1")
    _check_duration(f"{field}.initial_interval", retry.initial_interval, report, zero_allowed=True)
    _check_duration(f"{field}.max_interval", retry.max_interval, report, zero_allowed=True)
    if retry.max_interval < retry.initial_interval:
        report(f"{field}.max_interval", "must not be shorter than initial_interval")


def _check_duration(field: str, value: int | None, report: Report, zero_allowed: bool = False) -> None:
    if value is None:
        return
    if value < 0 or (value == 0 and not zero_allowed):
        report(field, "must be longer than zero" if not zero_allowed else "must not be negative")
    elif value > limits.DURATION:
        report(field, f"must be at most {limits.DURATION} ms (100 years)")
