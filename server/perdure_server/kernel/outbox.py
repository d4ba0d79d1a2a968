"""A start command from an outbox: what it says, and what may be wrong with it."""

from typing import Final

from msgspec import Struct

from perdure_server.kernel import limits
from perdure_server.kernel.canonical import check_json
from perdure_server.kernel.policy_validation import LABEL_NAME, QUEUE_NAME
from perdure_server.kernel.rejection import FieldViolation
from perdure_server.kernel.start import OnClosed, OnOpen
from perdure_server.kernel.validation import TYPE_NAME
from perdure_server.kernel.values import Payload

DEFAULT_NAMESPACE: Final = "default"

Fault = tuple[str, str]


class OutboxStart(Struct, frozen=True, omit_defaults=True):
    """As StartWorkflow has it. Times and durations in ms."""

    workflow_type: str
    business_key: str
    namespace: str = DEFAULT_NAMESPACE
    input: Payload | None = None
    labels: dict[str, str] = {}
    priority: int | None = None
    queue: str = ""
    fairness_key: str = ""
    fairness_weight: float = 1.0
    start_at: int | None = None
    workflow_timeout: int | None = None
    retention: int | None = None
    on_open: OnOpen = OnOpen.USE_EXISTING
    on_closed: OnClosed = OnClosed.USE_EXISTING
    definition_fingerprint: str = ""


def faults_of(start: OutboxStart) -> list[Fault]:
    """Everything that is wrong with its values: (field, what), under the names that the document has."""
    found: list[Fault] = []
    for field, text, pattern in (
        ("workflow_type", start.workflow_type, TYPE_NAME),
        ("namespace", start.namespace, QUEUE_NAME),
        ("queue", start.queue or "default", QUEUE_NAME),
    ):
        if not pattern.match(text):
            found.append((field, f"must match {pattern.pattern[:-2]}"))
    for field, text, least, most in (
        ("business_key", start.business_key, 1, limits.KEY_LENGTH),
        ("fairness_key", start.fairness_key, 0, limits.FAIRNESS_KEY_LENGTH),
        ("definition_fingerprint", start.definition_fingerprint, 0, limits.ID_LENGTH),
    ):
        if not least <= len(text.encode("utf-8", "surrogatepass")) <= most:
            found.append((field, f"must have {least} to {most} bytes"))
    if start.priority is not None and not 0 <= start.priority <= limits.PRIORITY_MAX:
        found.append(("priority", f"must be from 0 to {limits.PRIORITY_MAX}"))
    if not limits.FAIRNESS_WEIGHT_MIN <= start.fairness_weight <= limits.FAIRNESS_WEIGHT_MAX:
        found.append(("fairness_weight", f"must be from {limits.FAIRNESS_WEIGHT_MIN} to {limits.FAIRNESS_WEIGHT_MAX:g}"))
    if start.start_at is not None and not 0 <= start.start_at <= limits.TIME:
        found.append(("start_at", "must be between the years 1970 and 9999"))
    for field, duration, shortest in (("workflow_timeout_ms", start.workflow_timeout, 1), ("retention_ms", start.retention, 0)):
        if duration is not None and not shortest <= duration <= limits.DURATION:
            found.append((field, f"must be from {shortest} to {limits.DURATION} ms"))
    return found + _label_faults(start.labels) + _input_faults(start.input)


def _label_faults(labels: dict[str, str]) -> list[Fault]:
    found: list[Fault] = []
    if len(labels) > limits.LABELS:
        found.append(("labels", f"has more than {limits.LABELS} entries"))
    for name, value in labels.items():
        if not LABEL_NAME.match(name):
            found.append(("labels", f"has a name that does not match {LABEL_NAME.pattern[:-2]}"))
        if len(value.encode("utf-8", "surrogatepass")) > limits.LABEL_VALUE_LENGTH:
            found.append(("labels", f"has a value of more than {limits.LABEL_VALUE_LENGTH} bytes"))
    return found


def _input_faults(content: Payload | None) -> list[Fault]:
    if content is None:
        return []
    found: list[Fault] = []
    if content.inline_size > limits.PAYLOAD:
        return [("input", f"has {content.inline_size} bytes, more than the {limits.PAYLOAD} that are allowed")]
    if any(len(text) > limits.ID_LENGTH for text in (content.content_type, content.encoding, content.digest)):
        found.append(("input", f"has a content_type, encoding or digest of more than {limits.ID_LENGTH} characters"))
    if content.json is not None and content.encoding:
        found.append(("encoding", "needs input_binary"))
    elif content.json is not None:
        try:
            check_json("input", content.json)
        except FieldViolation as error:
            found += error.violations
    return found
