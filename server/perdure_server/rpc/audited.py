"""Which RPCs leave an audit record, and what it says. A new RPC of a person or an administrator gets a line in AUDITED, no other code.

The record is written after the handler has returned, so after the effect is stored; what only checks (`validate_only`) leaves none.
"""

from collections.abc import Awaitable, Mapping
from typing import Any, Final

from google.protobuf.message import Message
from msgspec import Struct

from perdure_server.engine.audit import Audit, Deed
from perdure_server.kernel.rejection import Rejection
from perdure_server.kernel.workflow import WorkflowKey
from perdure_server.rpc.caller import Caller, caller_of
from perdure_server.rpc.decode.values import DEFAULT_NAMESPACE
from perdure_server.rpc.errors import CallRefused
from perdure_server.rpc.transport import Behaviour, Context


class Audited(Struct, frozen=True):
    """Where a record's contents are in the messages: dotted paths; `>` begins one into the response, all others are of the request."""

    target: tuple[str, ...] = ()
    facts: Mapping[str, str] = {}
    workflow: str = "workflow"
    namespace: str = "namespace"
    reason: str = "reason"


_DEFINITION: Final = ("workflow_type", "definition_fingerprint")

AUDITED: Final[Mapping[str, Audited]] = {
    "CancelWorkflow": Audited(),
    "TerminateWorkflow": Audited(),
    "PauseWorkflow": Audited(),
    "ResumeWorkflow": Audited(),
    "ReplayWorkflow": Audited(facts={"reopen_steps": "reopen_steps", "fence": ">fence"}),
    "DeleteWorkflow": Audited(),
    "RegisterDefinition": Audited((">definition.definition.workflow_type", ">definition.fingerprint"), {"activate": "activate"}),
    "SetActiveDefinition": Audited(_DEFINITION, {"previous": ">previous_fingerprint"}),
    "UpdatePolicy": Audited(
        ("workflow_type", ">definition.fingerprint"), {"policy_revision": ">definition.policy_revision", "update_mask": "update_mask.paths"}
    ),
    "DeleteDefinition": Audited(_DEFINITION),
    "PauseDefinition": Audited(_DEFINITION),
    "ResumeDefinition": Audited(_DEFINITION),
    "MigrateWorkflows": Audited(
        ("workflow_type", "from_fingerprint"),
        {"to_fingerprint": "to_fingerprint", "batch_id": ">batch.batch_id", "matched": ">matched_count"},
    ),
    "PutResource": Audited(("resource.resource",), {"created": ">created"}, namespace="resource.namespace"),
    "DeleteResource": Audited(("resource",)),
    "ResolveStep": Audited(facts={"step": "step", "resolution": "resolution"}),
    "UpdateStepOptions": Audited(facts={"step": "update.step", "update_mask": "update.update_mask.paths"}),
    "ExportWorkflow": Audited(facts={"omit_payloads": "omit_payloads"}),
    "ImportWorkflow": Audited(workflow=">workflow.workflow"),
    "StartBatch": Audited((">batch.batch_id",), {"operation": "operation", "matched": ">batch.matched_count"}),
    "StopBatch": Audited(("batch_id",)),
    "PurgeWorkflows": Audited((">batch.batch_id",), {"matched": ">matched_count"}),
    "RedactPayloads": Audited((">batch.batch_id",), {"matched": ">matched_count", "redacted": ">redacted_count"}),
    "PutSchedule": Audited(
        ("schedule.schedule_id",),
        {"created": ">created", "paused": ">schedule.paused"},
        namespace="schedule.namespace",
        reason="schedule.note",
    ),
    "TriggerSchedule": Audited(("schedule_id",)),
    "DeleteSchedule": Audited(("schedule_id",)),
    "PutNamespace": Audited(("namespace.namespace",), {"created": ">created"}, namespace="namespace.namespace"),
}

# Refusals that say nothing about the deed: the store was away, the server left, or it is a bug.
_NOT_NOTED: Final = frozenset({"STORE_UNAVAILABLE", "DRAINING", "NOT_READY", "NOT_IMPLEMENTED", "INTERNAL"})


_STREAMS: Final = frozenset({"ExportWorkflow", "ImportWorkflow"})  # which end with their call


def audited(audit: Audit, method: str, behaviour: Behaviour) -> Behaviour:
    """The behaviour of an RPC, with a record of it if it is in the table."""
    paths = AUDITED.get(method)
    if paths is None:
        return behaviour

    async def recorded(request: Any, context: Context) -> Any:
        caller = caller_of(context)
        try:
            answer = await _awaited(behaviour, request, context)
        except (Rejection, CallRefused) as error:
            reason = error.reason if isinstance(error, CallRefused) else error.reason.name
            if reason not in _NOT_NOTED:
                audit.refused(_deed(method, paths, (request, None), caller, (reason, error.message)))
            raise
        if not _only_checked(method, request, answer):
            await audit.record(_deed(method, paths, (request, answer), caller, ("", "")))
        return answer

    if method in _STREAMS:
        return recorded

    async def carried(request: Any, context: Context) -> Any:
        return await audit.carry_through(recorded(request, context))

    return carried


def _only_checked(method: str, request: Any, answer: Any) -> bool:
    # An import tells by its answer, since its request is a stream: what is stored has an etag.
    if method == "ImportWorkflow":
        return not answer.workflow.etag
    return bool(getattr(request, "validate_only", False))


def _awaited(behaviour: Behaviour, request: Any, context: Context) -> Awaitable[Any]:
    found: Awaitable[Any] = behaviour(request, context)
    return found


def _deed(method: str, paths: Audited, messages: tuple[Any, Any], caller: Caller, refusal: tuple[str, str]) -> Deed:
    ref = _found(messages, paths.workflow)
    named = ref is not None and not isinstance(ref, str) and bool(ref.business_key)
    namespace = (ref.namespace if named else _text(messages, paths.namespace)) or DEFAULT_NAMESPACE
    facts = {name: text for name, path in paths.facts.items() if (text := _text(messages, path))}
    if caller.claimed:
        facts["claimed_actor"] = caller.claimed
    if getattr(messages[1], "duplicate", False):
        facts["duplicate"] = "true"
    return Deed(
        method=method,
        namespace=namespace,
        actor=caller.actor,
        peer=caller.peer,
        key=WorkflowKey(namespace, ref.workflow_type, ref.business_key) if named else None,
        round=ref.round if named else 0,
        target="/".join(text for path in paths.target if (text := _text(messages, path))),
        reason=_text(messages, paths.reason),
        request_id=_text(messages, "request_id"),
        refusal=refusal[0],
        refusal_text=refusal[1],
        facts=facts,
    )


def _found(messages: tuple[Any, Any], path: str) -> Any:
    message = messages[1] if path.startswith(">") else messages[0]
    if not isinstance(message, Message):
        return None  # a stream of requests, or no answer
    found: Any = message
    for name in path.removeprefix(">").split("."):
        found = getattr(found, name, None)
    return found


def _text(messages: tuple[Any, Any], path: str) -> str:
    value = _found(messages, path)
    if isinstance(value, Message):  # which of its kinds is set: a resolution, an operation
        return next((name.name for name, _ in value.ListFields()), "")
    if value is None or value is False or value == 0:
        return ""
    if isinstance(value, str):
        return value
    return ", ".join(value) if _is_list(value) else str(value).lower() if value is True else str(value)


def _is_list(value: object) -> bool:
    return hasattr(value, "append")
