"""Step contracts and fingerprints: what stored instances and code agree on. Only the server computes them.

Structure is in, policy is out; the order of listing does not matter. The encoding is length-prefixed, so that no two structures share one.
"""

import hashlib
from collections.abc import Iterable

from msgspec.structs import replace

from perdure_server.kernel.definition import Definition, StepDefinition
from perdure_server.kernel.values import Condition


def with_contracts(definition: Definition) -> Definition:
    """The definition with its step contracts and fingerprint filled in."""
    steps = tuple(replace(step, contract=step_contract(step)) for step in definition.steps)
    completed = replace(definition, steps=steps)
    return replace(completed, fingerprint=fingerprint(completed))


def step_contract(step: StepDefinition) -> str:
    """Hash of a step's name, kind, needs and the author's version (32 hex digits)."""
    return _hash(["step.1", step.name, step.kind.name, *_counted(sorted(step.needs)), step.version])[:32]


def fingerprint(definition: Definition) -> str:
    """SHA-256 (64 hex digits) over the step contracts and all structure."""
    parts = ["definition.1", definition.workflow_type, definition.version, definition.final_step]
    for step in sorted(definition.steps, key=lambda step: step.name):
        parts += [step_contract(step), *_counted(sorted(step.depends_on)), *_counted(_wait_structure(step))]
        if step.compensate_with:
            parts += ["compensate", step.compensate_with]
        if step.child is not None:
            child = step.child
            parts += ["children", child.workflow_type, child.source, str(child.paged), child.join.name, str(child.required)]
        chosen = sorted((condition.name, branch) for condition in _conditions(step) for branch in condition.choose)
        parts += [part for name, branch in chosen for part in ("choose", name, branch)]
        for branch in sorted(step.branches, key=lambda branch: branch.name):
            parts += ["branch", branch.name, *_counted(sorted(branch.steps))]
    parts += [f"{kind.name}:{name}" for name, (kind, _) in sorted(definition.hook_steps.items())]
    return _hash(parts)


def _wait_structure(step: StepDefinition) -> list[str]:
    # Names, signals and their counts are structure; how long a wait lasts is policy. 0 and 1 are the same count.
    conditions = sorted((condition.name, condition.signal, str(max(1, condition.count))) for condition in _conditions(step))
    return [part for condition in conditions for part in condition]


def _conditions(step: StepDefinition) -> tuple[Condition, ...]:
    return step.wait.any_of if step.wait is not None else ()


def _counted(parts: list[str]) -> list[str]:
    return [str(len(parts)), *parts]


def _hash(parts: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(4, "big") + encoded)
    return digest.hexdigest()
