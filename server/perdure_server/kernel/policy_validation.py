"""What a wait, and a step's policy, may say: numbers, durations, names of queues and resources."""

import math
import re
from collections.abc import Callable
from typing import Final

from perdure_server.kernel import limits
from perdure_server.kernel.definition import StepDefinition
from perdure_server.kernel.values import Condition, RetryPolicy, Wait

LABEL_NAME: Final = re.compile(rf"[A-Za-z0-9][A-Za-z0-9_./\-]{{0,{limits.LABEL_KEY_LENGTH - 1}}}\Z")
QUEUE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,127}\Z")

Report = Callable[[str, str], None]  # told the field path, and what is wrong


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
    check_duration(f"{field}.after", condition.after, report, zero_allowed=True)
    if condition.at is not None and not 0 <= condition.at <= limits.TIME:
        report(f"{field}.at_time", "must lie between the years 1970 and 9999")
    if bool(condition.signal) + (condition.after is not None) + (condition.at is not None) != 1:
        report(field, "must say one of: a signal, a duration, a time")


def check_policy(field: str, step: StepDefinition, renewal_interval: int, report: Report) -> None:
    """Report what is wrong with a step's policy. `renewal_interval` in ms."""
    if not QUEUE_NAME.match(step.queue):
        report(f"{field}.queue", f"{step.queue!r} must match {QUEUE_NAME.pattern[:-2]}")
    if step.priority is not None and not 0 <= step.priority <= limits.PRIORITY_MAX:
        report(f"{field}.priority", f"must be from 0 to {limits.PRIORITY_MAX}")
    check_duration(f"{field}.attempt_timeout", step.attempt_timeout, report)
    check_duration(f"{field}.silence_timeout", step.silence_timeout, report)
    shortest = limits.RENEWALS_PER_LEASE * renewal_interval
    if step.silence_timeout is not None and 0 < step.silence_timeout < shortest:
        report(f"{field}.silence_timeout", f"must be at least {shortest} ms, three renewal intervals, by which it is judged")
    check_duration(f"{field}.step_timeout", step.step_timeout, report)
    check_duration(f"{field}.queue_timeout", step.queue_timeout, report)
    if len(step.permits) > limits.PERMITS:
        report(f"{field}.permits", f"has more than {limits.PERMITS} entries")
    for position, permit in enumerate(step.permits):
        if not QUEUE_NAME.match(permit.resource):
            report(f"{field}.permits[{position}].resource", f"{permit.resource!r} must match {QUEUE_NAME.pattern[:-2]}")
        if not 1 <= permit.units <= limits.PERMIT_UNITS:
            report(f"{field}.permits[{position}].units", f"must be from 1 to {limits.PERMIT_UNITS}")
    if step.permits and step.wait is not None:
        report(f"{field}.permits", "do not belong to a wait step: they are held by claims of workers")
    if len({permit.resource for permit in step.permits}) != len(step.permits):
        report(f"{field}.permits", "names a resource twice")
    if not 1 <= step.max_in_flight <= limits.MAX_IN_FLIGHT_MAX:
        report(f"{field}.max_in_flight", f"must be from 1 to {limits.MAX_IN_FLIGHT_MAX}")
    _check_retry(f"{field}.retry", step.retry, report)


def _check_retry(field: str, retry: RetryPolicy, report: Report) -> None:
    if retry.max_attempts is not None and retry.max_attempts < 1:
        report(f"{field}.max_attempts", "must be at least 1; use `unlimited` for no limit")
    if not math.isfinite(retry.coefficient) or not 1.0 <= retry.coefficient <= limits.RETRY_COEFFICIENT_MAX:
        report(f"{field}.coefficient", f"must be from 1 to {limits.RETRY_COEFFICIENT_MAX:g}")
    if not math.isfinite(retry.jitter) or not 0.0 <= retry.jitter <= 1.0:
        report(f"{field}.jitter", "must be from 0 to 1")
    if len(retry.non_retryable_types) > limits.NON_RETRYABLE_TYPES:
        report(f"{field}.non_retryable_types", f"has more than {limits.NON_RETRYABLE_TYPES} entries")
    for position, name in enumerate(retry.non_retryable_types):
        if not name or len(name.encode()) > limits.FAILURE_TYPE_LENGTH:
            report(f"{field}.non_retryable_types[{position}]", f"must have 1 to {limits.FAILURE_TYPE_LENGTH} bytes")
    check_duration(f"{field}.initial_interval", retry.initial_interval, report)
    check_duration(f"{field}.max_interval", retry.max_interval, report)
    if retry.max_interval < retry.initial_interval:
        report(f"{field}.max_interval", "must not be shorter than initial_interval")


def check_duration(field: str, value: int | None, report: Report, zero_allowed: bool = False) -> None:
    """Report a duration (ms) that is not above zero or over 100 years; None is none."""
    if value is None:
        return
    if value < 0 or (value == 0 and not zero_allowed):
        report(field, "must be longer than zero" if not zero_allowed else "must not be negative")
    elif value > limits.DURATION:
        report(field, f"must be at most {limits.DURATION} ms (100 years)")
