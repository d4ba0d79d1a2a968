"""Definitions as YAML files, for programs of all languages and for `perdure definitions apply`.

    workflow_type: note
    version: "1"                       # quoted: 1.10 would be the number 1.1
    description: A note from a recording
    output: publish                    # default: the last step
    policy: {workflow_timeout: 7d, cancel_grace: 30s, max_lost_claims: 5, retention: 30d}
    steps:
      transcribe:
        needs: [input]                 # default: the steps in `after`, or the input where there are none
        attempt_timeout: 2m            # also silence_timeout, step_timeout, queue_timeout
        retry: {max_attempts: 4, initial_interval: 1s, backoff_coefficient: 2, max_interval: 1m, jitter: 0.2,
                non_retryable: [asr.quota]}       # or {unlimited: true}
        queue: default
        priority: 5
        on_exhausted: fail_workflow    # or hold, skip_dependants, continue
        permits: {asr: 1}
        version: "2"                   # of this step's contract
        compensate_with: discard       # a step of this list that undoes it when the workflow fails
      compose:
        needs: [transcribe]
        branches: {long: [publish]}    # it names those that are taken; the steps of the others are skipped
      choice:
        after: [compose]               # order without data
        wait:
          any_of: [{signal: choose, count: 1}, {after: 3d}]     # or {at: 2030-01-01T00:00:00Z}, each with a `name` if you like
                                       # and `choose: [BRANCH]` where the step has branches
      publish:
        needs: [compose, choice]
      notify:                          # a workflow per item; also pages, child: see file_children.py
        map: {workflow: notice, items: compose, join: all}
        max_in_flight: 100
      discard: {}
      tell: {needs: [input]}
    hooks: {failure_finalizer: tell}   # also on_success, cancel_finalizer, prepare_replay; or {step: tell, required: false}

Durations are a number and a unit: ms, s, m, h, d, w. Every fault of a file is named at once, with its place.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from perdure import file_children
from perdure.durations import format_duration
from perdure.errors import DefinitionRejected
from perdure.file_reader import FieldReader, StrictLoader
from perdure.plan import STEP_NAME
from perdure.reasons import ErrorReason
from perdure.v1 import definition_pb2, wait_pb2
from perdure.view import enum_name

Report = Callable[[str, str], None]

TOP_KEYS: Final = frozenset({"workflow_type", "version", "description", "output", "policy", "steps", "hooks"})
HOOKS: Final = ("on_success", "failure_finalizer", "cancel_finalizer", "prepare_replay")
POLICY_KEYS: Final = frozenset({"workflow_timeout", "cancel_grace", "max_lost_claims", "retention"})
DURATION_KEYS: Final = ("attempt_timeout", "silence_timeout", "step_timeout", "queue_timeout")
STEP_KEYS: Final = frozenset(
    {"needs", "after", "wait", "retry", "queue", "priority", "on_exhausted", "permits", "version", "description", *DURATION_KEYS}
    | {"branches", "compensate_with"}
    | file_children.KEYS
)
RETRY_KEYS: Final = frozenset(
    {"max_attempts", "unlimited", "initial_interval", "backoff_coefficient", "max_interval", "jitter", "non_retryable"}
)
CONDITION_KEYS: Final = frozenset({"signal", "count", "after", "at", "name", "choose"})
WAIT_KEYS: Final = frozenset({"wait", "after", "version", "description", "branches", "compensate_with"})
ON_EXHAUSTED: Final = ("fail_workflow", "hold", "skip_dependants", "continue")


def load_definition(path: Path) -> definition_pb2.Definition:
    """Reads a definition file. Raises DefinitionRejected that names every fault, OSError if it cannot be read."""
    return parse_definition(path.read_text(encoding="utf-8"))


def parse_definition(text: str) -> definition_pb2.Definition:
    """The definition in YAML text, its own structure checked. Raises DefinitionRejected that names every fault."""
    try:
        document = yaml.load(text, Loader=StrictLoader)  # noqa: S506 -- it is a SafeLoader
    except yaml.YAMLError as error:
        raise DefinitionRejected(f"not YAML: {error}", reason=ErrorReason.DEFINITION_INVALID) from error
    reader = FieldReader()
    definition = _definition(reader, document)
    if not reader.faults:
        check_structure(definition, reader.fault)
    if reader.faults:
        count = len(reader.faults)
        text = f"the definition has {count} fault{'s' if count > 1 else ''}"
        raise DefinitionRejected(text, reason=ErrorReason.DEFINITION_INVALID, violations=tuple(reader.faults))
    return definition


def dump_definition(definition: definition_pb2.Definition) -> str:
    """The definition as such a file."""
    document: dict[str, Any] = {"workflow_type": definition.workflow_type}
    document |= _present(version=definition.version, description=definition.description, output=definition.output_step)
    policy = definition.policy
    limits = _durations(policy, ("workflow_timeout", "cancel_grace", "retention"))
    if policy.HasField("max_lost_claims"):
        limits["max_lost_claims"] = policy.max_lost_claims
    document |= _present(policy=limits)
    document["steps"] = {step.name: _dump_step(step) for step in definition.steps}
    hooks = {kind: _dump_hook(getattr(definition.hooks, kind)) for kind in HOOKS if definition.hooks.HasField(kind)}
    document |= _present(hooks=hooks)
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=120)


def check_structure(definition: definition_pb2.Definition, report: Report) -> None:
    """What can be known without a server: names, dependencies, cycles."""
    steps = {step.name: step for step in definition.steps}
    if not definition.workflow_type:
        report("workflow_type", "is missing")
    if not steps:
        report("steps", "is empty: a definition has at least one step")
    if definition.output_step and definition.output_step not in steps:
        report("output", f"names no step: {definition.output_step!r}")
    for name, step in steps.items():
        if not STEP_NAME.fullmatch(name) or name == "input":
            report(f"steps.{name}", f"a step's name must match {STEP_NAME.pattern} and not be `input`")
        for dependency in step.depends_on:
            if dependency not in steps:
                report(f"steps.{name}", f"depends on {dependency!r}, which is no step; there are {', '.join(steps)}")
    cycle = _find_cycle(steps)
    if cycle:
        report("steps", "depend on each other in a circle: " + " -> ".join(cycle))


def _definition(reader: FieldReader, document: object) -> definition_pb2.Definition:
    top = reader.mapping("", document, TOP_KEYS)
    definition = definition_pb2.Definition(
        workflow_type=reader.text("workflow_type", top.get("workflow_type")),
        version=reader.text("version", top.get("version")),
        description=reader.text("description", top.get("description")),
        output_step=reader.text("output", top.get("output")),
    )
    policy = reader.mapping("policy", top.get("policy"), POLICY_KEYS)
    _set_durations(reader, "policy", policy, definition.policy, ("workflow_timeout", "cancel_grace", "retention"))
    lost = reader.integer("policy.max_lost_claims", policy.get("max_lost_claims"))
    if lost is not None:
        definition.policy.max_lost_claims = lost
    for name, value in reader.mapping("steps", top.get("steps")).items():
        _step(reader, f"steps.{name}", reader.mapping(f"steps.{name}", value, STEP_KEYS), definition.steps.add(name=name))
    hooks = reader.mapping("hooks", top.get("hooks"), frozenset(HOOKS))
    for kind, value in ((kind, hooks[kind]) for kind in HOOKS if kind in hooks):
        hook = getattr(definition.hooks, kind)
        if isinstance(value, str):
            hook.step = value
            continue
        fields = reader.mapping(f"hooks.{kind}", value, frozenset({"step", "required"}))
        hook.step = reader.text(f"hooks.{kind}.step", fields.get("step"))
        hook.required = reader.flag(f"hooks.{kind}.required", fields.get("required", True))
    return definition


def _step(reader: FieldReader, path: str, fields: Mapping[str, Any], step: definition_pb2.StepDefinition) -> None:
    step.version = reader.text(f"{path}.version", fields.get("version"))
    step.description = reader.text(f"{path}.description", fields.get("description"))
    step.compensate_with = reader.text(f"{path}.compensate_with", fields.get("compensate_with"))
    for branch, names in reader.mapping(f"{path}.branches", fields.get("branches")).items():
        step.branches.add(name=branch, steps=reader.names(f"{path}.branches.{branch}", names))
    needs = reader.names(f"{path}.needs", fields.get("needs"))
    after = reader.names(f"{path}.after", fields.get("after"))
    if "needs" in fields or "wait" in fields:
        step.needs.names.extend(needs)
        step.needs.SetInParent()
    step.depends_on.extend(dict.fromkeys([*(need for need in needs if need != "input"), *after]))
    if "wait" not in fields:
        step.activity.SetInParent()
        file_children.read_children(reader, path, fields, step)
        _policy(reader, path, fields, step.policy)
        return
    for key in sorted(fields.keys() - WAIT_KEYS):
        reader.fault(f"{path}.{key}", "does not belong to a step that waits")
    _wait(reader, f"{path}.wait", fields["wait"], step.wait.wait)


def _wait(reader: FieldReader, path: str, value: object, wait: wait_pb2.Wait) -> None:
    fields = reader.mapping(path, value, CONDITION_KEYS | {"any_of"})
    conditions = reader.items(f"{path}.any_of", fields["any_of"]) if "any_of" in fields else [fields]
    for key in sorted(fields.keys() - {"any_of"} if "any_of" in fields else ()):
        reader.fault(f"{path}.{key}", "does not belong beside `any_of`: put it into one of the conditions")
    for index, item in enumerate(conditions):
        place = f"{path}.any_of[{index}]"
        condition = reader.mapping(place, item, CONDITION_KEYS)
        added = wait.any_of.add(name=reader.text(f"{place}.name", condition.get("name")))
        added.choose.extend(reader.names(f"{place}.choose", condition.get("choose")))
        if len(condition.keys() & {"signal", "after", "at"}) != 1:
            reader.fault(place, "is one of: `signal`, `after` (a duration), `at` (a time)")
        elif "count" in condition and "signal" not in condition:
            reader.fault(f"{place}.count", "counts signals, and this condition waits for none")
        elif "signal" in condition:
            added.signal.signal_name = reader.text(f"{place}.signal", condition["signal"])
            added.signal.count = reader.integer(f"{place}.count", condition.get("count")) or 1
        elif "after" in condition:
            duration = reader.duration(f"{place}.after", condition["after"])
            if duration is not None:
                added.after.CopyFrom(duration)
        else:
            time = reader.time(f"{place}.at", condition["at"])
            if time is not None:
                added.at_time.FromDatetime(time)


def _policy(reader: FieldReader, path: str, fields: Mapping[str, Any], policy: definition_pb2.StepPolicy) -> None:
    policy.queue = reader.text(f"{path}.queue", fields.get("queue"))
    priority = reader.integer(f"{path}.priority", fields.get("priority"))
    if priority is not None:
        policy.priority = priority
    _set_durations(reader, path, fields, policy, DURATION_KEYS)
    if "retry" in fields:
        _retry(reader, f"{path}.retry", reader.mapping(f"{path}.retry", fields["retry"], RETRY_KEYS), policy.retry)
    exhausted = reader.text(f"{path}.on_exhausted", fields.get("on_exhausted"))
    if exhausted and exhausted not in ON_EXHAUSTED:
        reader.fault(f"{path}.on_exhausted", f"is one of {', '.join(ON_EXHAUSTED)}")
    elif exhausted:
        policy.on_exhausted = definition_pb2.StepPolicy.OnExhausted.Value(f"ON_EXHAUSTED_{exhausted.upper()}")
    for resource, units in reader.mapping(f"{path}.permits", fields.get("permits")).items():
        policy.permits.add(resource=resource, units=reader.integer(f"{path}.permits.{resource}", units) or 1)


def _retry(reader: FieldReader, path: str, fields: Mapping[str, Any], retry: definition_pb2.RetryPolicy) -> None:
    attempts = reader.integer(f"{path}.max_attempts", fields.get("max_attempts"))
    unlimited = reader.flag(f"{path}.unlimited", fields.get("unlimited", False))
    if attempts is not None and unlimited:
        reader.fault(path, "give max_attempts or unlimited, not both")
    elif attempts is not None:
        retry.max_attempts = attempts
    elif unlimited:
        retry.unlimited = True
    _set_durations(reader, path, fields, retry, ("initial_interval", "max_interval"))
    for name in ("backoff_coefficient", "jitter"):
        number = reader.number(f"{path}.{name}", fields.get(name))
        if number is not None:
            setattr(retry, name, number)
    retry.non_retryable_types.extend(reader.names(f"{path}.non_retryable", fields.get("non_retryable")))


def _set_durations(reader: FieldReader, path: str, fields: Mapping[str, Any], target: Any, names: Iterable[str]) -> None:
    for name in names:
        duration = reader.duration(f"{path}.{name}", fields.get(name))
        if duration is not None:
            getattr(target, name).CopyFrom(duration)


def _find_cycle(steps: Mapping[str, definition_pb2.StepDefinition]) -> list[str]:
    """The first circle of dependencies, closed by its first name again; empty: there is none."""
    done: set[str] = set()
    for start in steps:
        path = [start]
        rests = [iter(steps[start].depends_on)]
        while path:
            following = next((name for name in rests[-1] if name in steps and name not in done), None)
            if following in path:
                return [*path[path.index(following) :], following]
            if following is not None:
                path.append(following)
                rests.append(iter(steps[following].depends_on))
            else:
                done.add(path.pop())
                rests.pop()
    return []


def _dump_hook(hook: definition_pb2.Hook) -> str | dict[str, Any]:
    return hook.step if not hook.HasField("required") or hook.required else {"step": hook.step, "required": False}


def _dump_step(step: definition_pb2.StepDefinition) -> dict[str, Any]:
    needs = list(step.needs.names)
    after = [name for name in step.depends_on if name not in needs]
    fields: dict[str, Any] = _present(description=step.description, version=step.version)
    if step.HasField("needs") and step.WhichOneof("kind") != "wait":
        fields["needs"] = needs
    branches = {branch.name: list(branch.steps) for branch in step.branches}
    fields |= _present(after=after, branches=branches, compensate_with=step.compensate_with)
    if step.WhichOneof("kind") == "wait":
        fields["wait"] = {"any_of": [_dump_condition(condition) for condition in step.wait.wait.any_of]}
        return fields
    policy = step.policy
    fields |= file_children.dump_children(step)
    fields |= _present(queue=policy.queue) | _durations(policy, DURATION_KEYS)
    if policy.HasField("priority"):
        fields["priority"] = policy.priority
    if policy.HasField("retry"):
        fields["retry"] = _dump_retry(policy.retry)
    exhausted = enum_name(definition_pb2.StepPolicy.OnExhausted, policy.on_exhausted, "ON_EXHAUSTED_")
    permits = {permit.resource: permit.units for permit in policy.permits}
    return fields | _present(on_exhausted=exhausted.lower(), permits=permits)


def _dump_retry(retry: definition_pb2.RetryPolicy) -> dict[str, Any]:
    fields: dict[str, Any] = _durations(retry, ("initial_interval", "max_interval"))
    for name in ("max_attempts", "unlimited", "backoff_coefficient", "jitter"):
        if retry.HasField(name):
            fields[name] = getattr(retry, name)
    return fields | _present(non_retryable=list(retry.non_retryable_types))


def _dump_condition(condition: wait_pb2.WaitCondition) -> dict[str, Any]:
    fields: dict[str, Any] = _present(name=condition.name, choose=list(condition.choose))
    if condition.HasField("signal"):
        fields["signal"] = condition.signal.signal_name
        if condition.signal.count > 1:
            fields["count"] = condition.signal.count
    elif condition.HasField("after"):
        fields["after"] = format_duration(condition.after.ToTimedelta())
    else:
        fields["at"] = condition.at_time.ToJsonString()
    return fields


def _durations(message: Any, names: Iterable[str]) -> dict[str, Any]:
    return {name: format_duration(getattr(message, name).ToTimedelta()) for name in names if message.HasField(name)}


def _present(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}
