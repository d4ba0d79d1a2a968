"""Writes docs/definition.schema.json: what a definition file may hold, for editors that check while one types.

    python -m tools.definition_schema            write it
    python -m tools.definition_schema --check    fail if it is stale

The parser (perdure/definition_file.py) and the server stay the judges: a schema cannot see a circle of steps. Keys and words are theirs,
and tests/tooling/test_definition_schema.py holds good and bad files against all three.
"""

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from perdure import definition_file, file_children
from perdure.plan import STEP_NAME
from perdure_server.kernel.reserved import JAVA, PYTHON
from perdure_server.kernel.validation import TYPE_NAME

TARGET: Final = Path(__file__).parent.parent / "docs" / "definition.schema.json"

Schema = dict[str, Any]

MODELINE: Final = "# yaml-language-server: $schema=https://github.com/perdure/perdure/raw/main/docs/definition.schema.json"


def schema() -> Schema:
    """All of it."""
    hooks: dict[str, Schema] = {kind: {"$ref": "#/definitions/hook"} for kind in definition_file.HOOKS}
    properties: dict[str, Schema] = {
        "workflow_type": {"type": "string", "pattern": f"^{_plain(TYPE_NAME.pattern)}$", "description": "Name of the type."},
        "version": _text("The author's version, quoted. Raise it when the meaning of an input, output or checkpoint changes."),
        "description": _text("For people."),
        "output": _text("The step whose output is the workflow's. Default: the last."),
        "policy": _mapping(_policy(), "Limits and times of the whole workflow."),
        "steps": {
            "type": "object",
            "minProperties": 1,
            "propertyNames": {"pattern": f"^{STEP_NAME.pattern}$", "not": {"enum": sorted({"input", *PYTHON, *JAVA})}},
            "additionalProperties": {"$ref": "#/definitions/step"},
            "description": "Steps by name, in any order.",
        },
        "hooks": _mapping(hooks, "Steps that run at turns of the workflow."),
    }
    _agree(properties, definition_file.TOP_KEYS)
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A definition of a Perdure workflow",
        "description": f"For editors, as the first line of the file: {MODELINE}",
        "type": "object",
        "required": ["workflow_type", "steps"],
        "additionalProperties": False,
        "properties": properties,
        "definitions": {"step": _step(), "wait": _wait(), "condition": _condition(), "hook": _hook(), **_kinds()},
    }


def _policy() -> dict[str, Schema]:
    properties = {
        "workflow_timeout": _duration("From the start until it must have ended. Default: none."),
        "cancel_grace": _duration("How long running steps may go on after a cancel or a failure. Default: 30s."),
        "max_lost_claims": _integer("How many claims of one step may be lost with their workers. Default: 5.", 1),
        "retention": _duration("How long an ended workflow is kept. Default: the namespace's, 30d."),
    }
    _agree(properties, definition_file.POLICY_KEYS)
    return properties


def _step() -> Schema:
    properties = {
        "needs": _names("Steps, and `input`, whose values it gets. Default: those in `after`, or the input."),
        "after": _names("Steps that must have completed before, without their values."),
        "wait": {"$ref": "#/definitions/wait"},
        "retry": _mapping(_retry(), "What follows a failed attempt. Default: 3 attempts, 1s, doubling to 1m."),
        "queue": _text("Which queue its claims come from. Default: default."),
        "priority": _integer("Higher sooner. Default: the workflow's, 5.", 0, 9),
        "on_exhausted": _choice("What follows the last failed attempt. Default: fail_workflow.", definition_file.ON_EXHAUSTED),
        "permits": {
            "type": ["object", "null"],
            "additionalProperties": _integer("Units.", 1),
            "description": "Units of shared resources that it holds while it runs.",
        },
        "version": _text("Of this step's contract, quoted."),
        "description": _text("For people."),
        "attempt_timeout": _duration("From claim to result. Default: 10m."),
        "silence_timeout": _duration("Longest time without checkpoint, frame or sign of life; three renewals or more. Default: none."),
        "step_timeout": _duration("All attempts and back-offs together. Default: none."),
        "queue_timeout": _duration("Longest time ready without a worker. Default: none."),
        "branches": {
            "type": ["object", "null"],
            "additionalProperties": _names("Its steps."),
            "description": "Branches by name: this step chooses; the steps of the others are skipped.",
        },
        "compensate_with": _text("The step that undoes this one when the workflow fails."),
        "map": {"$ref": "#/definitions/map"},
        "pages": {"$ref": "#/definitions/pages"},
        "child": {"$ref": "#/definitions/child"},
        "max_in_flight": _integer("Children open at once. Default: 100.", 1, 1_000),
        "parent_close": _choice("What becomes of open children when their parent ends. Default: cancel.", file_children.CLOSES),
    }
    _agree(properties, definition_file.STEP_KEYS)
    kinds = [{"required": [kind]} for kind in file_children.KINDS]
    has_children = {key: {"anyOf": kinds} for key in file_children.POLICY}
    one_kind = {
        kind: {"not": {"anyOf": [{"required": [other]} for other in file_children.KINDS if other != kind]}} for kind in file_children.KINDS
    }
    return {
        "type": ["object", "null"],
        "additionalProperties": False,
        "properties": properties,
        "dependencies": {"wait": {"propertyNames": {"enum": sorted(definition_file.WAIT_KEYS)}}, **one_kind, **has_children},
        "description": "An activity, unless it has `wait`, `map`, `pages` or `child`.",
    }


def _retry() -> dict[str, Schema]:
    properties = {
        "max_attempts": _integer("The first included. Default: 3.", 1),
        "unlimited": {"type": "boolean", "description": "Until it succeeds or fails for good, instead of max_attempts."},
        "initial_interval": _duration("Before the second attempt. Default: 1s."),
        "backoff_coefficient": {"type": ["number", "null"], "minimum": 1, "description": "Growth per attempt. Default: 2."},
        "max_interval": _duration("Default: 1m."),
        "jitter": {"type": ["number", "null"], "minimum": 0, "maximum": 1, "description": "Random share of the interval. Default: 0.2."},
        "non_retryable": _names("Failure types that are never retried."),
    }
    _agree(properties, definition_file.RETRY_KEYS)
    return properties


def _wait() -> Schema:
    conditions = {"type": "array", "minItems": 1, "items": {"$ref": "#/definitions/condition"}}
    several = {
        "type": "object",
        "required": ["any_of"],
        "additionalProperties": False,
        "properties": {"any_of": {"anyOf": [conditions, {"$ref": "#/definitions/condition"}]}},
    }
    text = "A durable wait, which needs no worker: one condition, or the first of `any_of`."
    return {"anyOf": [{"$ref": "#/definitions/condition"}, several], "description": text}


def _condition() -> Schema:
    properties = {
        "signal": {"type": "string", "minLength": 1, "description": "A signal of this name."},
        "count": _integer("How many signals. Default: 1.", 1),
        "after": _duration("This long from the moment that the step is ready.") | {"type": "string"},
        "at": {"type": "string", "pattern": TIME, "description": "A time with its zone, such as 2030-01-01T00:00:00Z."},
        "name": _text("What the wait's output calls it. Default: the signal's name, `after` or `at_time`."),
        "choose": _names("Branches that it chooses."),
    }
    _agree(properties, definition_file.CONDITION_KEYS)
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "oneOf": [{"required": [kind]} for kind in ("signal", "after", "at")],
        "dependencies": {"count": ["signal"]},
    }


def _hook() -> Schema:
    full = {
        "type": "object",
        "required": ["step"],
        "additionalProperties": False,
        "properties": {
            "step": {"type": "string"},
            "required": {"type": "boolean", "description": "Whether it is tried until it succeeds. Default: true."},
        },
    }
    return {"anyOf": [{"type": "string"}, full], "description": "A step, or {step: NAME, required: false}."}


def _kinds() -> dict[str, Schema]:
    workflow: Schema = {"type": "string", "minLength": 1, "description": "Type of the children."}
    join = {
        "anyOf": [{"enum": list(file_children.JOINS)}, {"type": "integer", "minimum": 1}],
        "description": "When it is done: a word, or how many children must complete. Default: all.",
    }
    items = _text("Whose value is the array of items: a step, or `input`, the default.")

    source = _text("Whose value is the child's input. Default: an object of all needs.")

    def kind(properties: dict[str, Schema], description: str) -> Schema:
        return _mapping(properties, description) | {"type": "object", "required": ["workflow"]}

    return {
        "map": kind({"workflow": workflow, "items": items, "join": join}, "A workflow per item."),
        "pages": kind({"workflow": workflow, "join": join}, "A workflow per item; its worker brings the items, page by page."),
        "child": kind({"workflow": workflow, "input": source}, "One workflow."),
    }


def _text(description: str) -> Schema:
    return {"type": ["string", "null"], "description": description}


def _names(description: str) -> Schema:
    return {"type": ["array", "string", "null"], "items": {"type": "string"}, "description": f"{description} One name, or a list."}


def _integer(description: str, least: int, most: int | None = None) -> Schema:
    return {"type": ["integer", "null"], "minimum": least, "description": description} | ({} if most is None else {"maximum": most})


def _duration(description: str) -> Schema:
    return {"type": ["string", "null"], "pattern": DURATION, "description": description}


def _choice(description: str, words: Iterable[str]) -> Schema:
    return {"enum": [*words, None], "description": description}


def _mapping(properties: Mapping[str, Schema], description: str) -> Schema:
    return {"type": ["object", "null"], "additionalProperties": False, "properties": dict(properties), "description": description}


def _plain(pattern: str) -> str:
    return pattern.removesuffix(r"\Z")


def _agree(properties: Mapping[str, Schema], keys: frozenset[str]) -> None:
    if properties.keys() != keys:
        raise SystemExit(f"the parser and this file differ in: {', '.join(sorted(properties.keys() ^ keys))}")


TIME: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9:.]+ *([Zz]|[+-][0-9:]+)$"
DURATION: Final = r"^ *([0-9]+(\.[0-9]+)? *(ms|s|m|h|d|w) *)+$"


def main() -> int:
    """Writes the schema, or with `--check` compares it; 1 if it is stale."""
    made = json.dumps(schema(), indent=2) + "\n"
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(made, encoding="utf-8")
        return 0
    if not TARGET.exists() or TARGET.read_text(encoding="utf-8") != made:
        print(f"{TARGET.name} is stale: run `python -m tools.definition_schema`")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
