"""Definitions as the server keeps them."""

from typing import Final

from perdure.v1 import definition_pb2 as wire
from perdure_server.kernel.definition import Definition, Exhaustion, Hook, StepDefinition
from perdure_server.kernel.values import RetryPolicy
from perdure_server.rpc.encode import children, values

_EXHAUSTION: Final = {policy: wire.StepPolicy.OnExhausted.Value(f"ON_EXHAUSTED_{policy.name}") for policy in Exhaustion}


def etag(source: Definition, active: bool) -> str:
    """What changes with every change of the definition."""
    return f"{source.fingerprint[:16]}.{source.policy_revision}.{'a' if active else 'i'}{'p' if source.paused is not None else ''}"


def registered(target: wire.RegisteredDefinition, source: Definition, active: bool) -> None:
    """A registered definition with what only the server computes."""
    target.namespace = source.namespace
    definition(target.definition, source)
    target.fingerprint = source.fingerprint
    target.policy_revision = source.policy_revision
    target.active = active
    if source.paused is not None:
        target.pause.actor, target.pause.reason = source.paused.actor, source.paused.reason
        values.time(target.pause.pause_time, source.paused.since)
    if source.registered is not None:
        values.time(target.register_time, source.registered)
    target.etag = etag(source, active)
    target.step_contracts.update({step.name: step.contract for step in source.steps if step.by_worker})


def definition(target: wire.Definition, source: Definition) -> None:
    """A definition with every default filled in: registering it again changes nothing."""
    target.workflow_type = source.workflow_type
    target.version = source.version
    target.output_step = source.final_step
    target.description = source.description
    hooks = source.hooks
    for name in ("on_success", "failure_finalizer", "cancel_finalizer", "prepare_replay"):
        hook: Hook | None = getattr(hooks, name)
        if hook is not None:
            getattr(target.hooks, name).MergeFrom(wire.Hook(step=hook.step, required=hook.required))
    whole = target.policy
    if source.workflow_timeout is not None:
        values.duration(whole.workflow_timeout, source.workflow_timeout)
    values.duration(whole.cancel_grace, source.cancel_grace)
    whole.max_lost_claims = source.max_lost_claims
    if source.retention is not None:
        values.duration(whole.retention, source.retention)
    for step in source.steps:
        _step(target.steps.add(), step)


def retry(target: wire.RetryPolicy, source: RetryPolicy) -> None:
    """A retry policy."""
    if source.max_attempts is None:
        target.unlimited = True
    else:
        target.max_attempts = source.max_attempts
    values.duration(target.initial_interval, source.initial_interval)
    target.backoff_coefficient = source.coefficient
    values.duration(target.max_interval, source.max_interval)
    target.jitter = source.jitter
    target.non_retryable_types.extend(source.non_retryable_types)


def _step(target: wire.StepDefinition, source: StepDefinition) -> None:
    target.name = source.name
    target.version = source.version
    target.description = source.description
    target.depends_on.extend(source.depends_on)
    target.needs.names.extend(source.needs)
    if not source.needs:
        target.needs.SetInParent()
    if source.wait is not None:
        values.wait(target.wait.wait, source.wait)
    elif source.child is not None:
        children.plan(target, source)
    else:
        target.activity.SetInParent()
    target.compensate_with = source.compensate_with
    for branch in source.branches:
        target.branches.add(name=branch.name, steps=branch.steps)
    policy(target.policy, source)


def policy(target: wire.StepPolicy, source: StepDefinition) -> None:
    """The policy of a step."""
    target.queue = source.queue
    target.on_exhausted = _EXHAUSTION[source.on_exhausted]
    target.step_timeout_includes_waits = source.step_timeout_includes_waits
    if source.priority is not None:
        target.priority = source.priority
    for name in ("silence_timeout", "step_timeout", "queue_timeout"):
        timeout: int | None = getattr(source, name)
        if timeout is not None:
            values.duration(getattr(target, name), timeout)
    for permit in source.permits:
        target.permits.add(resource=permit.resource, units=permit.units)
    if source.by_worker:
        values.duration(target.attempt_timeout, source.attempt_timeout)
    if source.by_worker or source.child is not None:
        retry(target.retry, source.retry)
    children.policy(target, source)
