"""What workers are told. Claims and settled results are the hottest answers of all: filled field by field, nothing that is empty is set."""

from collections.abc import Iterable, Mapping
from typing import Final

from perdure.v1 import claim_pb2, errors_pb2, resource_pb2
from perdure.v1 import worker_service_pb2 as service
from perdure_server.engine.values import GrantedClaim, HeartbeatOut, HookFacts, PoolServed, RenewedOut, SettledOut, Welcome
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.values import LossCause
from perdure_server.ports.store import Session, Subscription
from perdure_server.rpc.encode import values, workflows
from perdure_server.rpc.errors import to_status
from perdure_server.rpc.trace_context import format_traceparent

# What this server understands on the Claim stream beyond the minimum, and what it sends only to clients that name it.
CAPABILITIES: Final = ("cancel", "lost", "heartbeats", "go_away", "pools", "refs", "begin_after_renewed")

_CAUSES: Final = {cause: service.ClaimLossCause.Value(f"CLAIM_LOSS_CAUSE_{cause.name}") for cause in LossCause}
_PROBLEMS: Final[Mapping[Reason, str]] = {
    Reason.DEFINITION_NOT_FOUND: "No registered definition of this type has this step.",
    Reason.DEFINITION_MISMATCH: "No registered definition of this type has the step with this contract.",
}


def claim(target: claim_pb2.Claim, source: GrantedClaim) -> None:
    """One granted claim."""
    plan = source.plan
    target.claim_token = source.token
    values.ref(target.workflow, source.key, source.round)
    target.step = plan.name
    target.attempt = source.attempt
    target.claim_no = source.claim_no
    target.fence = source.fence
    target.idempotency_key = source.idempotency_key
    target.wake_token = source.wake_token
    target.pool = source.pool
    target.definition_fingerprint = source.fingerprint
    target.step_contract = plan.contract
    target.traceparent = format_traceparent(source.trace, source.span_id)
    if source.hook is None or not source.hook.required:  # a required hook is tried for ever
        target.max_attempts = plan.retry.max_attempts or 0
    values.duration(target.lease_remaining, source.lease_remaining)
    values.duration(target.attempt_remaining, source.attempt_remaining)
    for name, value in source.inputs.items():
        values.payload(target.inputs[name], value)
    if source.labels:
        target.labels.update(source.labels)
    if source.trace.state:
        target.tracestate = source.trace.state
    if source.generation:
        target.generation = source.generation
    if source.begin_after_renewed:
        target.begin_after_renewed = True
    if source.stop_at_lease_end:
        target.stop_at_lease_end = True
    if source.cancel_requested:
        target.cancel_requested = True
    if plan.silence_timeout is not None:
        values.duration(target.silence_timeout, plan.silence_timeout)
    for name, failure in source.failed_inputs.items():
        values.failure(target.failed_inputs[name], failure)
    if source.hook is not None:
        hook_context(target.hook, source.hook)
    _memory(target, source)


def hook_context(target: claim_pb2.HookContext, source: HookFacts) -> None:
    """Why a hook or compensation runs."""
    target.kind = workflows.hook_kind(source.kind)
    target.compensates = source.compensates
    target.in_doubt = source.in_doubt
    target.compensated_idempotency_key = source.compensated_key
    target.failed_step = source.failed_step
    if source.compensated_output is not None:
        values.payload(target.compensated_output, source.compensated_output)
    if source.failure is not None:
        values.failure(target.failure, source.failure)
    if source.cancel_time is not None:
        target.cancel.reason, target.cancel.actor = source.cancel_reason, source.cancel_actor
        values.time(target.cancel.request_time, source.cancel_time)
    for step in source.unfinished:
        unfinished = target.unfinished.add(step=step.step, idempotency_key=step.idempotency_key, state=workflows.step_state(step.state))
        if step.checkpoint is not None:
            values.payload(unfinished.checkpoint, step.checkpoint)


def _memory(target: claim_pb2.Claim, source: GrantedClaim) -> None:
    # What earlier claims of the step left behind; most have nothing.
    if source.checkpoint is not None:
        values.payload(target.checkpoint, source.checkpoint)
    if source.checkpoint_no:
        target.checkpoint_no = source.checkpoint_no
    if source.cursor is not None:
        values.payload(target.cursor, source.cursor)
    for woken in source.wakes:
        values.wake(target.wakes.add(), woken)
    if source.last_failure is not None:
        values.failure(target.last_failure, source.last_failure)


def settled(target: service.Settled, source: SettledOut) -> None:
    """The answer to one result of a stream."""
    target.result_id = source.result_id
    if source.error is not None:
        target.status.CopyFrom(to_status(source.error))
        return
    if source.duplicate:
        target.duplicate = True
    for following in source.next_claims:
        claim(target.next_claims.add(), following)


def heartbeat_answer(target: service.HeartbeatAnswer, source: HeartbeatOut) -> None:
    """The answer to one heartbeat of a stream."""
    target.heartbeat_id = source.heartbeat_id
    if not source.heartbeat_id:
        target.claim_token = source.token
    if source.error is not None:
        target.status.CopyFrom(to_status(source.error))
    target.cancel_requested = source.cancel_requested


def renewed(target: service.Renewed, source: RenewedOut) -> None:
    """The answer to a renewal of a stream."""
    target.renew_id = source.renew_id
    if source.error is not None:
        target.status.CopyFrom(to_status(source.error))
    else:
        values.duration(target.lease_duration, source.lease)


def renewed_claims(source: Iterable[tuple[str, int, bool, Exception | None]]) -> service.RenewClaimsResponse:
    """The answers to a unary renewal: (token, lease remaining in ms, cancel requested, error)."""
    response = service.RenewClaimsResponse()
    for token, remaining, cancel_requested, error in source:
        item = response.claims.add(claim_token=token, cancel_requested=cancel_requested)
        if error is not None:
            item.status.CopyFrom(to_status(error))
        else:
            values.duration(item.lease_remaining, remaining)
    return response


def lost(target: service.LostClaim, token: str, cause: LossCause) -> None:
    """One claim that is no longer the worker's."""
    target.claim_token = token
    target.cause = _CAUSES[cause]


def reason_value(reason: Reason) -> errors_pb2.ErrorReason.ValueType:
    """A reason as the wire numbers it."""
    return errors_pb2.ErrorReason.Value(f"ERROR_REASON_{reason.name}")


def welcome(target: service.Welcome, source: Welcome) -> None:
    """The engine's part of a welcome."""
    target.session_id = source.session_id
    target.session_secret = source.session_secret
    target.resumed = source.resumed
    target.connection_no = source.connection_no
    values.duration(target.lease_duration, source.lease)
    values.duration(target.renew_interval, source.renew_interval)
    values.duration(target.acknowledge_window, source.acknowledge_within)
    target.capabilities.extend(CAPABILITIES)
    target.cancel_claim_tokens.extend(source.cancel_tokens)
    for served in source.pools:
        pool_status(target.pools.add(), served)
    for token, cause in source.lost:
        lost(target.lost.add(), token, cause)


def pool_status(target: claim_pb2.PoolStatus, source: PoolServed) -> None:
    """What the server makes of one pool: refused only if none of its steps is served."""
    target.pool = source.pool
    accepted: dict[str, None] = {}
    problems: list[Reason] = []
    for served in source.steps:
        item = target.steps.add(step=served.step, step_contract=served.contract, accepted_fingerprints=served.fingerprints)
        accepted |= dict.fromkeys(served.fingerprints)
        if served.problem is not None:
            problems.append(served.problem)
            item.status.CopyFrom(to_status(_problem(served.problem, served.step, served.contract)))
    target.accepted_fingerprints.extend(accepted)
    if not accepted:
        reason = problems[0] if problems else Reason.DEFINITION_NOT_FOUND
        target.status.CopyFrom(to_status(_problem(reason, "", ""), source.pool))


def offered(target: claim_pb2.OfferedDefinitionStatus, index: int, source: tuple[Definition, bool] | Exception) -> None:
    """What became of one definition of a hello: itself with its contracts and whether it is active, or why it was refused."""
    target.definition_index = index
    if isinstance(source, Exception):
        target.status.CopyFrom(to_status(source))
        return
    definition, target.active = source
    target.fingerprint = definition.fingerprint
    target.step_contracts.update({step.name: step.contract for step in definition.steps if step.by_worker})


def worker(target: resource_pb2.Worker, source: Session, served: Iterable[PoolServed]) -> None:
    """One connected worker; never its secret. `served`: what the server makes of its pools now."""
    target.worker_id = source.worker_id
    target.session_id = source.session_id
    target.client_name, _, target.client_version = source.client.partition("/")
    target.connection_no = source.connection_no
    target.held_count = len(source.held)
    values.time(target.connect_time, source.created)
    values.time(target.renew_time, max(0, source.lease_until - source.lease))
    values.time(target.lease_end_time, source.lease_until)
    target.server_id, target.peer_address = source.server_id, source.peer
    target.labels.update(source.labels)
    target.capabilities.extend(source.capabilities)
    target.draining = source.draining
    target.polling = source.connection_no == 0
    for status in served:
        pool_status(target.pool_statuses.add(), status)
    for subscription in source.pools:
        _pool(target.pools.add(), subscription, source.namespace)


def _pool(target: claim_pb2.Pool, source: Subscription, namespace: str) -> None:
    target.pool = source.pool
    target.queue = source.queue
    target.workflow_type = source.workflow_type
    target.slots = source.slots
    target.namespace = namespace
    target.step_contracts.update(source.step_contracts)


def _problem(reason: Reason, step: str, contract: str) -> Rejection:
    facts = {name: value for name, value in (("step", step), ("step_contract", contract)) if value}
    return Rejection(reason, _PROBLEMS.get(reason, "This step is not served."), **facts)
