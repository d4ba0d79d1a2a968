"""Outcomes and events told in advance, and the trial of a definition by them."""

from collections.abc import Sequence

from perdure.v1 import admin_service_pb2, scripted_pb2, worker_service_pb2
from perdure_server.engine.scripts import NeverSettled, Script, WorkerVanishes
from perdure_server.engine.trial import TrialCancel, TrialPlan, TrialSignal
from perdure_server.kernel import limits as kernel_limits
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.outcomes import Completed, Outcome
from perdure_server.kernel.rejection import FieldViolation
from perdure_server.rpc import limits
from perdure_server.rpc.decode import values, workers
from perdure_server.rpc.faults import Faults

_UNSET = Completed()


def scripts(messages: Sequence[scripted_pb2.ScriptedOutcome], faults: Faults) -> tuple[Script, ...]:
    """How attempts end."""
    if len(messages) > limits.SCRIPTS:
        faults.add("outcomes", f"has more than {limits.SCRIPTS} entries")
    return tuple(_script(message, f"outcomes[{index}]", faults) for index, message in enumerate(messages[: limits.SCRIPTS]))


def trial(message: admin_service_pb2.TestDefinitionRequest, definition: Definition, faults: Faults) -> TrialPlan:
    """What is asked of a definition. Raises FieldViolation with all faults."""
    told = scripts(message.outcomes, faults)
    names = {step.name for step in definition.steps}
    for script in told:
        if script.step and script.step not in names:
            faults.add(f"{script.field}.step", f"names no step of the definition: {script.step!r}")
    if len(message.events) > limits.SCRIPTS:
        faults.add("events", f"has more than {limits.SCRIPTS} entries")
    events = [_event(event, f"events[{index}]", faults) for index, event in enumerate(message.events[: limits.SCRIPTS])]
    content = values.payload(message.input, "input", faults) if message.HasField("input") else None
    duration = values.duration(message.duration, "duration", faults) if message.HasField("duration") else None
    faults.check()
    return TrialPlan(definition, content, told, tuple(events), duration, message.seed)


def _script(message: scripted_pb2.ScriptedOutcome, field: str, faults: Faults) -> Script:
    for name in ("attempt", "times"):
        if getattr(message, name) < 0:
            faults.add(f"{field}.{name}", "must not be negative")
    if len(message.business_key.encode()) > kernel_limits.KEY_LENGTH:
        faults.add(f"{field}.business_key", f"has more than {kernel_limits.KEY_LENGTH} bytes")
    duration = values.duration(message.duration, f"{field}.duration", faults) if message.HasField("duration") else 0
    outcome = _outcome(message, field, faults)
    return Script(outcome, message.step, message.attempt, message.business_key, duration, message.times, field)


def _outcome(message: scripted_pb2.ScriptedOutcome, field: str, faults: Faults) -> Outcome | NeverSettled | WorkerVanishes:
    kind = message.WhichOneof("outcome")
    if kind is None:
        return _UNSET
    if kind == "never":
        return NeverSettled()
    if kind == "lost":
        return WorkerVanishes()
    same = worker_service_pb2.Result()
    getattr(same, kind).CopyFrom(getattr(message, kind))
    found = Faults()
    outcome = workers.outcome(kind, same, found)
    try:
        found.check()
    except FieldViolation as error:
        faults.merge(error, f"{field}.")
    return outcome


def _event(message: scripted_pb2.ScriptedEvent, field: str, faults: Faults) -> TrialSignal | TrialCancel:
    after = values.duration(message.after, f"{field}.after", faults)
    kind = message.WhichOneof("event")
    if kind == "signal":
        signal = message.signal
        name = values.identifier(signal.signal_name, f"{field}.signal.signal_name", faults, required=True)
        return TrialSignal(after, name, values.payload(signal.payload, f"{field}.signal.payload", faults))
    if kind is None:
        faults.add(f"{field}.event", "is not set: give signal or cancel")
    if len(message.cancel.reason.encode()) > limits.CANCEL_REASON:
        faults.add(f"{field}.cancel.reason", f"is longer than {limits.CANCEL_REASON} bytes")
    return TrialCancel(after, message.cancel.reason)
