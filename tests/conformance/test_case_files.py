"""The case files themselves: valid, complete, and the same for every language."""

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final, get_args

import msgspec
import pytest

import perdure_server
from perdure.v1.errors_pb2 import ErrorReason
from tests.conformance import driver
from tests.conformance.case_file import CASES, SCHEMA, VERBS, Case, ServerKind, all_cases, read_file, reasons_of, schema_text
from tests.conformance.usual import good_files

README = Path(__file__).parent / "README.md"
SERVER: Final = Path(perdure_server.__file__).parent
TABLE: Final = SERVER / "rpc" / "errors.py"
LEAST_CASES = 80
REASONS: Final = {name.removeprefix("ERROR_REASON_") for name in ErrorReason.DESCRIPTOR.values_by_name} - {"UNSPECIFIED"}

NEVER_SENT: Final[Mapping[str, str]] = {
    "FILTER_NOT_SUPPORTED": "not used: a filter that no index serves is looked at row by row",
    "NOT_SUPPORTED_YET": "not used any more",
    "WORKFLOW_CANCELLING": "no rule refuses for it: see `a workflow that is being cancelled cannot be paused`",
    "WORKFLOW_PAUSED": "no rule refuses for it: see `a second pause and a second resume are repeats`",
    "WORKFLOW_NOT_PAUSED": "no rule refuses for it: see the same case",
    "DEFINITION_PAUSED": "no rule refuses for it: see `a paused definition takes starts and signals, and begins them when it is resumed`",
    "SIGNAL_ID_REUSED": "no rule refuses for it: see `a signal counts once however often it is sent`",
    "NAMESPACE_NOT_FOUND": "no rule refuses for it: every case has a namespace that nobody has made",
    "DEADLINE_EXCEEDED": "the caller's own side says so, by the code alone: see `a call without an answer ends at its deadline`",
    "CALL_CANCELLED": "who has cancelled a call hears nothing more of it",
}
"""Reasons that no case can bring about from outside, each with why."""


@pytest.mark.parametrize("path", sorted(CASES.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_case_file_is_valid(path: Path) -> None:
    assert read_file(path).cases


def test_what_a_case_file_must_not_have_is_named(tmp_path: Path) -> None:
    for text, fault in (
        ("area: a\ncases: [{name: n, colour: 1, steps: []}]", "colour"),
        ("area: a\ncases: [{name: n, steps: [{do: start, event: began}]}]", "exactly one"),
        ("area: a\ncases: [{name: n, server: huge, steps: []}]", "server"),
    ):
        path = tmp_path / "case.yaml"
        path.write_text(text)
        with pytest.raises((msgspec.ValidationError, ValueError), match=fault):
            read_file(path)


def test_the_published_schema_is_fresh() -> None:
    assert SCHEMA.read_text() == schema_text(), "python -m tests.conformance.case_file"


def test_there_are_enough_cases_with_names_of_their_own() -> None:
    names = Counter(case.name for case in all_cases())
    assert len(names) >= LEAST_CASES
    assert [name for name, count in names.items() if count > 1] == []


def test_every_error_reason_has_a_case_or_a_word_why_not() -> None:
    seen = set().union(*(reasons_of(case) for case in all_cases()))
    assert sorted(REASONS - seen - NEVER_SENT.keys()) == []
    assert sorted(NEVER_SENT.keys() & seen) == [], "it can be brought about after all"
    assert NEVER_SENT.keys() <= REASONS


def test_no_rule_of_the_server_names_a_reason_that_is_never_sent() -> None:
    sources = [path for path in SERVER.rglob("*.py") if path != TABLE]
    assert TABLE.exists()
    named = set(re.findall(r"\b[A-Z_]{6,}\b", "\n".join(path.read_text() for path in sources)))
    # gRPC has a code of this name; it is no reason of ours where the server names it.
    assert sorted(NEVER_SENT.keys() & named - {"DEADLINE_EXCEEDED"}) == []


def test_the_case_about_definition_files_goes_through_all_of_them() -> None:
    (case,) = (case for case in all_cases() if "${file}" in str(case))
    assert [step.times for step in case.steps] == [len(good_files())]


def test_every_language_gets_the_same_cases(request: pytest.FixtureRequest) -> None:
    cases: dict[str, set[str]] = {}
    for item in request.session.items:
        found = re.fullmatch(r"test_case\[(?P<language>[^-\]]+)-(?P<case>.*)\]", item.name)
        if found:
            cases.setdefault(found["language"], set()).add(found["case"])
    assert all(names == next(iter(cases.values())) for names in cases.values())


def test_there_is_no_way_to_leave_a_case_out() -> None:
    assert Case.__struct_fields__ == ("name", "server", "definitions", "apply", "reasons", "steps")


def test_the_readme_names_every_step_and_every_server() -> None:
    text = README.read_text()
    assert [name for name in (*VERBS, *get_args(ServerKind)) if f"`{name}`" not in text] == []


def test_python_has_a_driver() -> None:
    assert "python" in driver.languages()
