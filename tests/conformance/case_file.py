"""Case files as values: what may stand in them, and reading them. case.schema.json is made by `python -m tests.conformance.case_file`."""

import functools
import json
from pathlib import Path
from typing import Any, Literal

import msgspec
import yaml
from msgspec import UNSET, Struct, UnsetType, field

CASES = Path(__file__).parent / "cases"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
SCHEMA = Path(__file__).parent / "case.schema.json"
VERBS = ("do", "answer", "event", "no_event", "proxy", "relay", "server", "store", "damage", "driver", "advance", "repeat", "each_peer")

ServerKind = Literal["plain", "short", "test", "auth", "tls", "mtls", "young", "small", "alone", "own_store"]


class Step(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """One step of a case; it has exactly one of the fields in VERBS."""

    do: str = ""
    """A request to a driver; `with` has its fields."""
    with_: dict[str, Any] = field(default_factory=dict, name="with")
    by: str = "main"
    """Which driver: `main` and `second` speak the language that is tried, `operator` Python, `peer` another language (in `each_peer`)."""
    later: str = ""
    """Do not wait for the answer; `answer` names it later."""
    ok: Any = UNSET
    """What the answer must be like. Neither this nor `error`: any success."""
    error: dict[str, Any] | UnsetType = UNSET
    """What the error must be like."""
    keep: dict[str, str] = field(default_factory=dict)
    """Variables from the answer or event, by path (`workflow.run_id`)."""
    until: bool = False
    """Ask again until the answer is like that."""
    times: int = 1
    """How often; `${n}` counts from 1."""
    answer: str = ""
    """Waits for an answer that was left for later."""
    event: str = ""
    """Waits for the first unseen event of this kind with the fields of `where`."""
    where: dict[str, Any] = field(default_factory=dict)
    like: dict[str, Any] = field(default_factory=dict)
    """What that event must be like."""
    no_event: str = ""
    """There must be no unseen event of this kind with the fields of `where`."""
    proxy: Literal["", "cut", "freeze", "thaw"] = ""
    """What happens to the connections through `${proxy}`; `thaw` after a `freeze` begins with a cut."""
    relay: Literal["", "refuse", "bar", "cancel", "expire", "same", "idle"] = ""
    """What happens to the calls through `${relay}`: the next two of each method end with CANCELLED, or all of them from now on; those that
    run end with CANCELLED, or with DEADLINE_EXCEEDED; what was refused must have come again byte for byte; none may run within 10 s."""
    server: Literal["", "kill", "stop", "start"] = ""
    """Of the case's own server (`alone`, `own_store`)."""
    store: Literal["", "kill", "start"] = ""
    """Of the case's own store (`own_store`)."""
    damage: dict[str, Any] = field(default_factory=dict)
    """Puts the fields in `set` into every document of `collection` in the case's own store; the server must not run."""
    driver: Literal["", "kill"] = ""
    """Of the driver in `by`."""
    advance: str = ""
    """Lets time pass on a `test` server: a duration as in definition files, or `next`: to the next due time."""
    repeat: "list[Step]" = field(default_factory=list)
    """Steps that are done `times` times; `${n}` counts from 1."""
    each_peer: "list[Step]" = field(default_factory=list)
    """Steps that are done once with each other language that is there; without any, with a second driver of this one."""

    @property
    def verb(self) -> str:
        """The one field of VERBS that is given."""
        found = [verb for verb in VERBS if getattr(self, verb)]
        if len(found) != 1:
            raise ValueError(f"a step has exactly one of {', '.join(VERBS)}; this one has {', '.join(found) or 'none'}")
        return found[0]


class Case(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """One case; it runs in a namespace of its own."""

    name: str
    """A sentence, unique among all cases."""
    server: ServerKind = "plain"
    """What it runs against, see tests/conformance/README.md."""
    definitions: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Definition files by workflow type (which is put into them)."""
    apply: bool | list[str] = True
    """Which of them are registered and activated before; true: all."""
    reasons: list[str] = field(default_factory=list)
    """Error reasons that the case brings about without an `error` or `event` that names them."""
    steps: list[Step]


class CaseFile(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """The cases of one area."""

    area: str
    """What they are about, in a few words."""
    cases: list[Case]


@functools.cache
def read_file(path: Path) -> CaseFile:
    """Reads and checks a case file. Raises msgspec.ValidationError, ValueError."""
    document = yaml.load(path.read_text(encoding="utf-8"), Loader=LOADER)
    found = msgspec.convert(document, CaseFile)
    for case in found.cases:
        for step in case.steps:
            _check(case, step)
    return found


def all_cases() -> list[Case]:
    """Every case of every file."""
    return [case for path in sorted(CASES.glob("*.yaml")) for case in read_file(path).cases]


def reasons_of(case: Case) -> set[str]:
    """The error reasons that a case says it sees."""
    return {*case.reasons, *(reason for step in case.steps for reason in _reasons_in(msgspec.to_builtins(step)))}


def schema() -> dict[str, Any]:
    """JSON Schema of a case file."""
    made: dict[str, Any] = msgspec.json.schema(CaseFile)
    made["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    made["$defs"]["Step"]["oneOf"] = [{"required": [verb]} for verb in VERBS]
    return made


def schema_text() -> str:
    """The text of case.schema.json."""
    return json.dumps(schema(), indent=2) + "\n"


def _check(case: Case, step: Step) -> None:
    try:
        _ = step.verb
    except ValueError as error:
        raise ValueError(f"{case.name}: {error}") from None
    for inner in step.each_peer + step.repeat:
        _check(case, inner)


def _reasons_in(value: object) -> list[str]:
    if isinstance(value, dict):
        own = [value["reason"]] if isinstance(value.get("reason"), str) else []
        return own + [reason for item in value.values() for reason in _reasons_in(item)]
    return [reason for item in value for reason in _reasons_in(item)] if isinstance(value, list) else []


if __name__ == "__main__":
    SCHEMA.write_text(schema_text(), encoding="utf-8")
