"""From a stored claim to what the worker is told: inputs, checkpoint, wakes, with refs resolved as far as a claim may carry."""

from collections import Counter
from collections.abc import Mapping
from typing import TypeVar

from msgspec.structs import replace

from perdure_server.engine.desk import Pool
from perdure_server.engine.values import GrantedClaim, HookFacts, Unfinished
from perdure_server.kernel import limits
from perdure_server.kernel.definition import INPUT, Definition
from perdure_server.kernel.tokens import Address, encode_token, idempotency_key, wake_token
from perdure_server.kernel.values import Failure, Payload, Wake
from perdure_server.kernel.workflow import StepState, Workflow
from perdure_server.ports.store import Payloads

T = TypeVar("T")


def build_claim(definition: Definition, workflow: Workflow, name: str, pool: Pool, now: int) -> GrantedClaim:
    """The message for the claim that the step holds now. Refs are still refs."""
    step = workflow.steps[name]
    claim = step.claim
    assert claim is not None, "built only for claimed steps"
    plan = definition.by_name[name]
    workflow_id = workflow.workflow_id
    inputs: dict[str, Payload] = {}
    failed: dict[str, Failure] = {}
    for needed in plan.needs:
        known = workflow.steps.get(needed)
        value = workflow.input if needed == INPUT else known.output if known is not None else None
        if value is not None:
            inputs[needed] = value
        elif known is not None and known.state is StepState.FAILED and known.failure is not None:
            failed[needed] = known.failure
    return GrantedClaim(
        token=encode_token(Address(workflow_id, workflow.run_id, name, claim.nonce)),
        key=workflow.key,
        run_id=workflow.run_id,
        round=workflow.round,
        fence=workflow.fence,
        fingerprint=workflow.fingerprint,
        plan=plan,
        claim_no=step.claim_no,
        attempt=step.attempt,
        generation=step.generation,
        pool=pool.name,
        inputs=inputs,
        checkpoint=step.checkpoint,
        checkpoint_no=step.checkpoint_no if step.checkpoint_claim_no == step.claim_no else 0,
        wakes=step.wakes,
        lease_remaining=pool.lease_remaining(),
        attempt_remaining=max(0, claim.deadline - now),
        trace=workflow.trace,
        span_id=claim.span_id,
        labels=workflow.labels,
        idempotency_key=idempotency_key(workflow.run_id, name, step.generation),
        wake_token=wake_token((workflow_id, workflow.run_id, name), workflow.wake_secret),
        # What nobody acknowledges is taken back after a few seconds: then no second attempt, and no permit, may be in use here.
        begin_after_renewed=(plan.retry.max_attempts == 1 or bool(claim.permits)) and not claim.acknowledged,
        cancel_requested=step.state is StepState.CANCELLING,
        last_failure=step.failure,
        failed_inputs=_shortened(failed),
        hook=_hook(definition, workflow, name) if name in definition.hook_steps else None,
        cursor=step.children.page_cursor if step.children is not None else None,
        stop_at_lease_end=bool(claim.permits),
    )


def _shortened(failed: dict[str, Failure]) -> dict[str, Failure]:
    """The failures as one claim can carry them: each may have the longest message, and a step may have a thousand of them."""
    if len(failed) * limits.FAILURE_MESSAGE <= limits.FAILURES_TOLD:
        return failed
    share = limits.FAILURES_TOLD // len(failed)
    return {name: replace(failure, message=failure.message.encode()[:share].decode(errors="ignore")) for name, failure in failed.items()}


def _hook(definition: Definition, workflow: Workflow, name: str) -> HookFacts:
    """What a hook is told of the workflow that it settles."""
    compensates = workflow.steps[name].compensates
    target = workflow.steps.get(compensates)
    unfinished = [
        Unfinished(other, step.checkpoint, idempotency_key(workflow.run_id, other, step.generation), step.state)
        for other, step in workflow.steps.items()
        if other not in definition.hook_steps and step.started is not None and step.state is not StepState.COMPLETED
    ]
    kind, required = definition.hook_steps[name]
    return HookFacts(
        kind=kind,
        required=required,
        compensates=compensates,
        in_doubt=target is not None and target.state is not StepState.COMPLETED,
        compensated_output=target.output if target is not None else None,
        compensated_key=idempotency_key(workflow.run_id, compensates, target.generation) if target is not None else "",
        failure=workflow.failure,
        failed_step=workflow.failed_step,
        cancel_reason=workflow.cancel_reason,
        cancel_actor=workflow.cancel_actor,
        cancel_time=workflow.cancel_time,
        unfinished=tuple(unfinished),
    )


def has_refs(claim: GrantedClaim) -> bool:
    """Whether something in it lives in a document of its own."""
    if claim.checkpoint is not None and claim.checkpoint.ref is not None:
        return True
    if claim.cursor is not None and claim.cursor.ref is not None:
        return True
    if any(value.ref is not None for value in claim.inputs.values()):
        return True
    return any(wake.payload is not None and wake.payload.ref is not None for wake in claim.wakes)


async def resolve_claim(payloads: Payloads, claim: GrantedClaim) -> GrantedClaim:
    """The claim with refs replaced by values, up to limits.CLAIM_INLINE in all; what is beyond travels as refs. Raises StoreUnavailable."""
    wanted = [claim.checkpoint, claim.cursor, *claim.inputs.values(), *(wake.payload for wake in claim.wakes)]
    found = await fetch(payloads, claim.run_id, [value for value in wanted if value is not None], limits.CLAIM_INLINE)
    return replace(
        claim,
        checkpoint=inline(claim.checkpoint, found),
        cursor=inline(claim.cursor, found),
        inputs={name: inline(value, found) for name, value in claim.inputs.items()},
        wakes=tuple(Wake(wake.condition, wake.signal_id, inline(wake.payload, found)) for wake in claim.wakes),
    )


async def fetch(payloads: Payloads, run_id: str, values: list[Payload], budget: int) -> Mapping[str, Payload]:
    """The spilled ones among `values`, smallest first, as long as all inline bytes together stay within `budget`.

    One that stands in several places, as the last step's output does, travels in each of them.
    """
    refs = sorted(Counter((value.ref.size, value.ref.payload_id) for value in values if value.ref is not None).items())
    left = budget - sum(value.inline_size for value in values if value.ref is None)
    ids: list[str] = []
    for (size, payload_id), places in refs:
        left -= size * places
        if left < 0:
            break
        ids.append(payload_id)
    return await payloads.get(run_id, ids) if ids else {}


def inline(value: Payload | T, found: Mapping[str, Payload]) -> Payload | T:
    """The value itself, or what its ref stands for if that was fetched."""
    if isinstance(value, Payload) and value.ref is not None:
        return found.get(value.ref.payload_id, value)
    return value
