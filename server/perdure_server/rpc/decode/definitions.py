"""Definitions from the wire, and the paths of their faults back to it."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from perdure.v1 import claim_pb2, definition_pb2
from perdure.v1.definition_pb2 import StepPolicy
from perdure_server.kernel import limits
from perdure_server.kernel.definition import INPUT, Definition, StepDefinition, StepKind
from perdure_server.kernel.rejection import FieldViolation
from perdure_server.kernel.values import RetryPolicy, Wait
from perdure_server.rpc import limits as rpc_limits
from perdure_server.rpc.decode import values
from perdure_server.rpc.faults import Faults, RequestRefused

# What policies of a step carry that has no rules yet, with the words for it.
_LATER_POLICIES: Final = {
    "step_timeout": "a timeout over all attempts",
    "step_timeout_includes_waits": "a timeout over all attempts",
    "queue_timeout": "a timeout of waiting for a worker",
    "permits": "permits of shared resources",
    "max_in_flight": "map steps",
    "parent_close": "child workflows",
}
_LATER_STEPS: Final = {
    "map": "map steps",
    "child": "child workflows",
    "branches": "branches",
    "compensate_with": "compensations",
}
_SUPPORTED_EXHAUSTION: Final = frozenset({StepPolicy.ON_EXHAUSTED_UNSPECIFIED, StepPolicy.ON_EXHAUSTED_FAIL_WORKFLOW})
_DESCRIPTION: Final = 4 * rpc_limits.KIB

# The kernel keeps policies beside the structure; the wire keeps them in messages of their own.
_POLICY_PATH: Final = re.compile(
    r"^(definition(?:\.steps\[\d+\])?)\."
    r"(queue|priority|retry|attempt_timeout|silence_timeout|workflow_timeout|cancel_grace|max_lost_claims|retention)\b"
)
_NESTED_PATH: Final = re.compile(r"^definition\.steps\[\d+\]\.(wait|needs)\b")
_NESTED: Final = {"wait": ".wait", "needs": ".names"}


def definition(message: definition_pb2.Definition, namespace: str, faults: Faults, field: str = "definition") -> Definition:
    """A definition as the kernel knows it, not yet validated; what has no rules yet is noted by name."""
    if message.HasField("hooks"):
        faults.unsupported(f"{field}.hooks", "hooks")
    if len(message.description.encode()) > _DESCRIPTION:
        faults.add(f"{field}.description", f"is longer than {_DESCRIPTION} bytes")
    policy = message.policy
    path = f"{field}.policy"
    timeout = values.duration(policy.workflow_timeout, f"{path}.workflow_timeout", faults) if policy.HasField("workflow_timeout") else None
    grace = values.duration(policy.cancel_grace, f"{path}.cancel_grace", faults) if policy.HasField("cancel_grace") else limits.CANCEL_GRACE
    retention = values.duration(policy.retention, f"{path}.retention", faults) if policy.HasField("retention") else limits.RETENTION
    return Definition(
        namespace=namespace,
        workflow_type=message.workflow_type,
        steps=tuple(_step(step, f"{field}.steps[{index}]", faults) for index, step in enumerate(message.steps[: limits.STEPS + 1])),
        version=message.version,
        output_step=message.output_step,
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


def _step(message: definition_pb2.StepDefinition, field: str, faults: Faults) -> StepDefinition:
    _refuse_later(message, _LATER_STEPS, field, faults)
    if len(message.description.encode()) > _DESCRIPTION:
        faults.add(f"{field}.description", f"is longer than {_DESCRIPTION} bytes")
    is_wait = message.WhichOneof("kind") == "wait"
    depends_on, needs = _inputs(message)
    policy = message.policy
    path = f"{field}.policy"
    _refuse_later_policies(policy, path, faults)
    silence = values.duration(policy.silence_timeout, f"{path}.silence_timeout", faults) if policy.HasField("silence_timeout") else None
    timeout = limits.ATTEMPT_TIMEOUT
    if policy.HasField("attempt_timeout"):
        timeout = values.duration(policy.attempt_timeout, f"{path}.attempt_timeout", faults)
    return StepDefinition(
        name=message.name,
        kind=StepKind.WAIT if is_wait else StepKind.ACTIVITY,
        depends_on=depends_on,
        needs=needs,
        version=message.version,
        wait=_wait(message.wait, f"{field}.wait", faults) if is_wait else None,
        queue=policy.queue or "default",
        retry=_retry(policy.retry, f"{path}.retry", faults) if policy.HasField("retry") else RetryPolicy(),
        attempt_timeout=timeout,
        silence_timeout=silence,
        priority=policy.priority if policy.HasField("priority") else None,
        description=message.description,
    )


def _inputs(message: definition_pb2.StepDefinition) -> tuple[tuple[str, ...], tuple[str, ...]]:
    # What a step needs it also depends on. Without `needs` it gets its dependencies, or the workflow's input where there are none.
    depends_on = list(message.depends_on)
    if not message.HasField("needs"):
        return tuple(depends_on), tuple(dict.fromkeys(depends_on)) or (INPUT,)
    needs = tuple(message.needs.names)
    depends_on += [name for name in dict.fromkeys(needs) if name != INPUT and name not in depends_on]
    return tuple(depends_on), needs


def _wait(message: definition_pb2.WaitStep, field: str, faults: Faults) -> Wait | None:
    return values.conditions(message.wait, f"{field}.wait", faults) if message.HasField("wait") else None


def _refuse_later_policies(policy: StepPolicy, field: str, faults: Faults) -> None:
    _refuse_later(policy, _LATER_POLICIES, field, faults)
    if policy.on_exhausted not in _SUPPORTED_EXHAUSTION:
        if policy.on_exhausted in StepPolicy.OnExhausted.values():
            faults.unsupported(f"{field}.on_exhausted", StepPolicy.OnExhausted.Name(policy.on_exhausted))
        else:
            faults.add(f"{field}.on_exhausted", "is not known")


def _refuse_later(message: definition_pb2.StepDefinition | StepPolicy, features: Mapping[str, str], path: str, faults: Faults) -> None:
    for field, _ in message.ListFields():
        if field.name in features:
            faults.unsupported(f"{path}.{field.name}", features[field.name])


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
