"""UpdatePolicy: the registered definition as the wire shows it, with the new values put in, decoded and checked like any other."""

import re
from collections.abc import Iterable
from typing import Final, TypeVar

from google.protobuf.field_mask_pb2 import FieldMask

from perdure.v1 import admin_service_pb2 as wire
from perdure.v1 import definition_pb2
from perdure_server.kernel.definition import Definition, StepDefinition, StepOptions
from perdure_server.kernel.rejection import FieldViolation, Reason, Rejection
from perdure_server.rpc import limits as rpc_limits
from perdure_server.rpc.decode import values
from perdure_server.rpc.decode.definitions import definition, wire_path
from perdure_server.rpc.encode import definitions as encode
from perdure_server.rpc.errors import CallRefused
from perdure_server.rpc.faults import Faults, RequestRefused

_PATH: Final = re.compile(r"^definition(?:\.steps\[(\d+)\])?\.policy\b")
_Policy = TypeVar("_Policy", definition_pb2.WorkflowPolicy, definition_pb2.StepPolicy)


def updated(message: wire.UpdatePolicyRequest, stored: Definition) -> Definition:
    """`stored` with the policies of the request, not yet validated. Raises FieldViolation, CallRefused UPDATE_MASK_INVALID."""
    faults = Faults()
    values.identifier(message.request_id, "request_id", faults)
    if len(message.reason.encode()) > rpc_limits.CANCEL_REASON:
        faults.add("reason", f"is longer than {rpc_limits.CANCEL_REASON} bytes")
    if not message.HasField("workflow_policy") and not message.update_mask.paths and not message.steps:
        faults.add("steps", "is empty, and so is workflow_policy: nothing would change")
    changed = definition_pb2.Definition()
    encode.definition(changed, stored)
    _merge(changed.policy, message.workflow_policy, message.update_mask, "update_mask")
    by_name = {step.name: step for step in changed.steps}
    for index, update in enumerate(message.steps):
        step = by_name.get(update.step)
        if step is None:
            faults.add(f"steps[{index}].step", f"names no step of the definition: {update.step!r}")
        else:
            _merge(step.policy, update.policy, update.update_mask, f"steps[{index}].update_mask")
    faults.check()
    try:
        decoded = definition(changed, stored.namespace, faults)
        faults.check()
    except FieldViolation as error:
        raise with_request_paths(error, message, stored) from error
    return decoded


def require_etag(given: str, current: str) -> None:
    """Raise Rejection REVISION_CONFLICT unless the definition is what the caller has read, or it named no etag."""
    if given and given != current:
        raise Rejection(Reason.REVISION_CONFLICT, "The definition has changed since it was read: read it again.")


def step_options(message: wire.UpdateStepOptionsRequest, stored: Definition) -> tuple[Definition, StepOptions]:
    """`stored` with the new policy of the one step, not yet validated, and what of it counts. Raises FieldViolation, CallRefused."""
    update = message.update
    fields = tuple(sorted(update.update_mask.paths or [found.name for found, _ in update.policy.ListFields()]))
    if not fields:
        raise FieldViolation([("update.policy", "is empty: nothing would change")])
    try:
        changed = updated(wire.UpdatePolicyRequest(steps=[update]), stored)
    except FieldViolation as error:
        raise _under_update(error) from error
    plan = changed.by_name[update.step]
    return changed, StepOptions(fields, StepDefinition(update.step, **{field: getattr(plan, field) for field in fields}))


def with_update_paths(error: FieldViolation, stored: Definition) -> FieldViolation:
    """Faults of a definition under the paths that the fields have in an UpdateStepOptionsRequest."""
    return _under_update(with_request_paths(error, wire.UpdatePolicyRequest(), stored))


def _under_update(error: FieldViolation) -> FieldViolation:
    found = [(field.replace("steps[0].", "update.", 1), text) for field, text in error.violations]
    return RequestRefused(found, error.reason, getattr(error, "facts", {}))


def with_request_paths(error: FieldViolation, message: wire.UpdatePolicyRequest, stored: Definition) -> FieldViolation:
    """Faults of a definition under the paths that the fields have in the request."""
    places = {update.step: index for index, update in reversed(list(enumerate(message.steps)))}

    def path(field: str) -> str:
        found = _PATH.match(wire_path(field))
        if found is None:
            return wire_path(field)
        place = "workflow_policy" if found[1] is None else f"steps[{places.get(stored.steps[int(found[1])].name, 0)}].policy"
        return place + wire_path(field)[found.end() :]

    return RequestRefused([(path(field), text) for field, text in error.violations], error.reason, getattr(error, "facts", {}))


def _merge(target: _Policy, source: _Policy, mask: FieldMask, field: str) -> None:
    known = source.DESCRIPTOR.fields_by_name
    paths: Iterable[str] = mask.paths or [found.name for found, _ in source.ListFields()]
    given = type(source)()
    for name in paths:
        if name not in known:
            raise CallRefused("UPDATE_MASK_INVALID", f"{field} names no field of {source.DESCRIPTOR.name}: {name!r}", path=name)
        target.ClearField(name)  # type: ignore[arg-type]  # just looked up
    given.CopyFrom(source)
    for found, _ in source.ListFields():
        if found.name not in paths:
            given.ClearField(found.name)  # type: ignore[arg-type]  # it is one of its own
    target.MergeFrom(given)
