"""From a claim to what its activity gets: context, inputs, checkpoint."""

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from google.protobuf import json_format

from perdure import payloads
from perdure.context import ActivityLink, ClaimFacts, Context
from perdure.errors import PayloadRejected, PayloadUndecodable
from perdure.hook_facts import hook_facts
from perdure.reasons import ErrorReason
from perdure.signature import Parameter
from perdure.steps import Step
from perdure.v1 import claim_pb2, payload_pb2
from perdure.view import failure_of
from perdure.waits import WAIT_RESULT_TYPE, parse_wait_result, woken


def prepare(claim: claim_pb2.Claim, step: Step[..., Any], link: ActivityLink) -> tuple[Context[Any], dict[str, Any]]:
    """The context and the decoded inputs. Raises PayloadRejected if a value is not of the annotated type."""
    types = step.types
    inputs = {name: _input(claim, types.parameters[name]) for name in step.needs}
    checkpoint = _decode("checkpoint", claim.checkpoint if claim.HasField("checkpoint") else None, types.checkpoint)
    cursor = payloads.decode(claim.cursor) if claim.HasField("cursor") else None
    return Context(facts_of(claim), link, checkpoint=checkpoint, wakes=claim.wakes, cursor=cursor), inputs


def facts_of(claim: claim_pb2.Claim) -> ClaimFacts:
    """What a claim says, as values."""
    ref = claim.workflow
    return ClaimFacts(
        ref.namespace,
        ref.workflow_type,
        ref.business_key,
        ref.round,
        claim.step,
        claim.claim_no,
        claim.attempt,
        claim.fence,
        claim.idempotency_key,
        claim.wake_token,
        claim.generation,
        claim.max_attempts,
        dict(claim.labels),
        claim.traceparent,
        claim.tracestate,
        failure_of(claim.last_failure) if claim.HasField("last_failure") else None,
        claim.attempt_remaining.ToTimedelta() if claim.HasField("attempt_remaining") else None,
        hook_facts(claim.hook) if claim.HasField("hook") else None,
    )


Fetch = Callable[[payload_pb2.Payload], Awaitable[None]]
"""Puts the value in the place of a ref."""


async def fetch_refs(claim: claim_pb2.Claim, fetch: Fetch) -> None:
    """Reads the values that did not fit into the claim, into their places; those inside the outputs of waits too."""
    for payload in refs_of(claim):
        await fetch(payload)


def refs_of(claim: claim_pb2.Claim) -> Iterator[payload_pb2.Payload]:
    """The values that did not fit into the claim: put each in its place before you take the next."""
    carried = [wake.payload for wake in claim.wakes if wake.HasField("payload")]
    checkpoint = [claim.checkpoint] if claim.HasField("checkpoint") else []
    cursor = [claim.cursor] if claim.HasField("cursor") else []
    for payload in (*claim.inputs.values(), *checkpoint, *cursor, *carried, *_of_hook(claim.hook)):
        if payload.WhichOneof("data") == "ref":
            yield payload
    for payload in claim.inputs.values():
        if payload.content_type == WAIT_RESULT_TYPE and '"ref"' in payload.json:
            result = parse_wait_result(payload)
            yield from (wake.payload for wake in result.wakes if wake.payload.WhichOneof("data") == "ref")
            payload.json = json_format.MessageToJson(result)


def _of_hook(hook: claim_pb2.HookContext) -> list[payload_pb2.Payload]:
    found = [item.checkpoint for item in hook.unfinished if item.HasField("checkpoint")]
    return [*found, hook.compensated_output] if hook.HasField("compensated_output") else found


def _input(claim: claim_pb2.Claim, parameter: Parameter) -> Any:
    name = parameter.name
    if name in claim.failed_inputs:
        failure = failure_of(claim.failed_inputs[name])
        if parameter.takes_failure:
            return failure
        raise PayloadRejected(f"input {name} failed ({failure}); annotate it with Failure to take that", reason=ErrorReason.PAYLOAD_INVALID)
    payload = claim.inputs.get(name)
    if parameter.is_woken and payload is not None:
        result = parse_wait_result(payload)
        return _named(f"input {name}, what a signal carried", lambda: woken(result.condition, result.wakes, parameter.as_type))
    return _decode(f"input {name}", payload, parameter.as_type)


def _decode(what: str, payload: payload_pb2.Payload | None, as_type: Any) -> Any:
    if what == "checkpoint" and (payload is None or payload.WhichOneof("data") is None):
        return None  # none is stored, whatever its type
    return _named(what, lambda: payloads.decode(payload, as_type))


def _named(what: str, decode: Callable[[], Any]) -> Any:
    try:
        return decode()
    except PayloadUndecodable as error:
        raise PayloadUndecodable(f"{what}: {error.message}", error.cause) from error
    except PayloadRejected as error:
        raise PayloadRejected(f"{what}: {error.message}", reason=error.reason) from error
