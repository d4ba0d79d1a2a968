"""Definitions from the wire, and the paths of their faults back to it."""

import re
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from perdure.v1 import claim_pb2, definition_pb2
from perdure.v1.definition_pb2 import StepPolicy
from perdure_server.kernel import limits
from perdure_server.kernel.definition import INPUT, Branch, Definition, Exhaustion, Hook, Hooks, Permit, StepDefinition, StepKind
from perdure_server.kernel.rejection import FieldViolation
from perdure_server.kernel.values import RetryPolicy, Wait
from perdure_server.rpc import limits as rpc_limits
from perdure_server.rpc.decode import children, values
from perdure_server.rpc.faults import Faults, RequestRefused

_EXHAUSTION: Final = {
    StepPolicy.ON_EXHAUSTED_UNSPECIFIED: Exhaustion.FAIL_WORKFLOW,
    StepPolicy.ON_EXHAUSTED_FAIL_WORKFLOW: Exhaustion.FAIL_WORKFLOW,
    StepPolicy.ON_EXHAUSTED_HOLD: Exhaustion.HOLD,
    StepPolicy.ON_EXHAUSTED_SKIP_DEPENDANTS: Exhaustion.SKIP_DEPENDANTS,
    StepPolicy.ON_EXHAUSTED_CONTINUE: Exhaustion.CONTINUE,
}
_KINDS: Final = {"activity": StepKind.ACTIVITY, "wait": StepKind.WAIT, "map": StepKind.MAP, "child": StepKind.CHILD}
_HOOKS: Final = ("on_success", "failure_finalizer", "cancel_finalizer", "prepare_replay")
_DESCRIPTION: Final = 4 * rpc_limits.KIB

# The kernel keeps policies beside the structure; the wire keeps them in messages of their own.
_POLICY_PATH: Final = re.compile(
    r"^(definition(?:\.steps\[\d+\])?)\."
    r"(queue|priority|retry|attempt_timeout|silence_timeout|step_timeout|queue_timeout|permits|max_in_flight|parent_close|"
    r"workflow_timeout|cancel_grace|max_lost_claims|retention)\b"
)
_NESTED_PATH: Final = re.compile(r"^definition\.steps\[\d+\]\.(wait|needs)\b")
_NESTED: Final = {"wait": ".wait", "needs": ".names"}


def definition(message: definition_pb2.Definition, namespace: str, faults: Faults, field: str = "definition") -> Definition:
    """A definition as the kernel knows it, not yet validated; what has no rules yet is noted by name."""
    if len(message.description.encode()) > _DESCRIPTION:
        faults.add(f"{field}.description", f"is longer than {_DESCRIPTION} bytes")
    policy = message.policy
    path = f"{field}.policy"
    timeout = values.duration(policy.workflow_timeout, f"{path}.workflow_timeout", faults) if policy.HasField("workflow_timeout") else None
    grace = values.duration(policy.cancel_grace, f"{path}.cancel_grace", faults) if policy.HasField("cancel_grace") else limits.CANCEL_GRACE
    retention = values.duration(policy.retention, f"{path}.retention", faults) if policy.HasField("retention") else None
    listed = message.steps[: limits.STEPS + 1]
    hooks = _hooks(message.hooks)
    aside = {hook.step for hook in hooks.values()} | {step.compensate_with for step in listed}
    return Definition(
        namespace=namespace,
        workflow_type=message.workflow_type,
        steps=tuple(_step(step, f"{field}.steps[{index}]", faults, step.name in aside) for index, step in enumerate(listed)),
        version=message.version,
        output_step=message.output_step,
        hooks=Hooks(**hooks),
        workflow_timeout=timeout,
        cancel_grace=grace,
        max_lost_claims=policy.max_lost_claims if policy.HasField("max_lost_claims") else limits.MAX_LOST_CLAIMS,
        retention=retention,
        description=message.description,
    )


def offered(messages: Sequence[claim_pb2.OfferedDefinition], namespace: str) -> list[Definition | FieldViolation]:
    """The definitions that a worker brings along; a faulty one is its error, so that it spoils only the pools that point to it."""
    found: list[Definition | FieldViolation] = []
    for index, message in enumerate(messages):
        faults = Faults()
        if index >= rpc_limits.OFFERED_DEFINITIONS:
            faults.add("definitions", f"has more than {rpc_limits.OFFERED_DEFINITIONS} entries")
        try:
            decoded = definition(message.definition, namespace, faults)
            faults.check()
        except FieldViolation as error:
            found.append(error)
        else:
            found.append(decoded)
    return found


def with_wire_paths(error: FieldViolation) -> FieldViolation:
    """The same faults under the paths that the fields have in the proto."""
    cycles = [text.partition(": ")[2] for _, text in error.violations if text.startswith("has a cycle: ")]
    facts = {"cycle": cycles[0]} if cycles else {}
    return RequestRefused([(wire_path(field), text) for field, text in error.violations], error.reason, facts)


def wire_path(path: str) -> str:
    """A path of the kernel's validation as a path of the proto."""
    path = _POLICY_PATH.sub(r"\1.policy.\2", path)
    path = path.replace(".retry.coefficient", ".retry.backoff_coefficient")
    return _NESTED_PATH.sub(lambda found: found[0] + _NESTED[found[1]], path)


def _hooks(message: definition_pb2.Hooks) -> dict[str, Hook]:
    found: dict[str, definition_pb2.Hook] = {name: getattr(message, name) for name in _HOOKS if message.HasField(name)}
    return {name: Hook(hook.step, hook.required if hook.HasField("required") else True) for name, hook in found.items()}


def _step(message: definition_pb2.StepDefinition, field: str, faults: Faults, is_hook: bool) -> StepDefinition:
    if len(message.description.encode()) > _DESCRIPTION:
        faults.add(f"{field}.description", f"is longer than {_DESCRIPTION} bytes")
    kind = _KINDS[message.WhichOneof("kind") or "activity"]
    depends_on, needs = _inputs(message, is_hook)
    policy = message.policy
    path = f"{field}.policy"
    attempt_timeout = _timeout(policy, "attempt_timeout", path, faults)
    return StepDefinition(
        name=message.name,
        kind=kind,
        depends_on=depends_on,
        needs=needs,
        version=message.version,
        wait=_wait(message.wait, f"{field}.wait", faults) if kind is StepKind.WAIT else None,
        child=children.plan(message, field, faults),
        compensate_with=message.compensate_with,
        branches=tuple(Branch(branch.name, tuple(branch.steps)) for branch in message.branches),
        queue=policy.queue or "default",
        retry=_retry(policy.retry, f"{path}.retry", faults) if policy.HasField("retry") else children.default_retry(message),
        attempt_timeout=limits.ATTEMPT_TIMEOUT if attempt_timeout is None else attempt_timeout,
        silence_timeout=_timeout(policy, "silence_timeout", path, faults),
        step_timeout=_timeout(policy, "step_timeout", path, faults),
        step_timeout_includes_waits=policy.step_timeout_includes_waits,
        queue_timeout=_timeout(policy, "queue_timeout", path, faults),
        on_exhausted=_exhaustion(policy, path, faults),
        permits=tuple(Permit(permit.resource, permit.units or 1) for permit in policy.permits),
        priority=policy.priority if policy.HasField("priority") else None,
        max_in_flight=policy.max_in_flight if policy.HasField("max_in_flight") else limits.MAX_IN_FLIGHT,
        parent_close=children.parent_close(policy, path, faults),
        description=message.description,
    )


_Timeout: TypeAlias = Literal["attempt_timeout", "silence_timeout", "step_timeout", "queue_timeout"]


def _timeout(policy: StepPolicy, name: _Timeout, path: str, faults: Faults) -> int | None:
    return values.duration(getattr(policy, name), f"{path}.{name}", faults) if policy.HasField(name) else None


def _exhaustion(policy: StepPolicy, path: str, faults: Faults) -> Exhaustion:
    found = _EXHAUSTION.get(policy.on_exhausted)
    if found is None:
        faults.add(f"{path}.on_exhausted", "is not known")
    return found or Exhaustion.FAIL_WORKFLOW


def _inputs(message: definition_pb2.StepDefinition, is_hook: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    # What a step needs it also depends on; a hook is in no dependency and gets what there is. Without `needs` a step gets its
    # dependencies, or the workflow's input where there are none.
    depends_on = list(message.depends_on)
    source = children.source(message)
    without = tuple(dict.fromkeys(depends_on)) or (() if source else (INPUT,))
    needs = tuple(message.needs.names) if message.HasField("needs") else without
    needs += (source,) if source and source not in needs else ()
    if is_hook:
        return tuple(depends_on), needs
    depends_on += [name for name in dict.fromkeys(needs) if name != INPUT and name not in depends_on]
    return tuple(depends_on), needs


def _wait(message: definition_pb2.WaitStep, field: str, faults: Faults) -> Wait | None:
    return values.conditions(message.wait, f"{field}.wait", faults) if message.HasField("wait") else None


def _retry(message: definition_pb2.RetryPolicy, field: str, faults: Faults) -> RetryPolicy:
    default = RetryPolicy()
    attempts: int | None = default.max_attempts
    kind = message.WhichOneof("attempts")
    if kind == "max_attempts":
        attempts = message.max_attempts
    elif kind == "unlimited":
        attempts = None
        if not message.unlimited:
            faults.add(f"{field}.unlimited", "may only be true; use max_attempts for a limit")
    first, longest = default.initial_interval, default.max_interval
    if message.HasField("initial_interval"):
        first = values.duration(message.initial_interval, f"{field}.initial_interval", faults)
    if message.HasField("max_interval"):
        longest = values.duration(message.max_interval, f"{field}.max_interval", faults)
    elif first > longest:
        longest = first  # the default cap must not make a valid wish invalid
    return RetryPolicy(
        max_attempts=attempts,
        initial_interval=first,
        coefficient=message.backoff_coefficient if message.HasField("backoff_coefficient") else default.coefficient,
        max_interval=longest,
        jitter=message.jitter if message.HasField("jitter") else default.jitter,
        non_retryable_types=tuple(message.non_retryable_types),
    )
