"""The runner notices what goes otherwise than a case says."""

import msgspec
import pytest
import yaml

from tests.conformance.case_file import Case
from tests.conformance.play import CaseFailed, Play
from tests.conformance.stage import Stage

pytestmark = pytest.mark.conformance

NOTE = "definitions: {note: {steps: {read: {needs: [input]}}}}\n"
WRONG = {
    "not like that": NOTE + "steps: [{do: start, ok: {created: false}}]",
    "not equal as integers": NOTE + "steps: [{do: start, with: {input: 9007199254740993}}, {do: get, ok: {input: 9007199254740992}}]",
    "no error": NOTE + "steps: [{do: start, error: {reason: FENCED}}]",
    "another error": NOTE + "steps: [{do: get, error: {reason: FENCED}}]",
    "an error": NOTE + "steps: [{do: get}]",
    "an event that came": NOTE + "steps: [{do: start}, {do: watch}, {event: watch, like: {kind: frame}}]",
    "a variable that is not there": NOTE + "steps: [{do: start, with: {key: '${nobody}'}}]",
    "no such request": "steps: [{do: dance}]",
}


@pytest.mark.parametrize("text", WRONG.values(), ids=[name.replace(" ", "-") for name in WRONG])
def test_a_case_that_goes_otherwise_fails(text: str, stage: Stage) -> None:
    case = msgspec.convert({"name": "wrong", **yaml.safe_load(text)}, Case)
    with pytest.raises(CaseFailed, match="in this step"):
        Play(case, "python", stage).run()


def test_a_driver_that_is_killed_is_told_and_started_anew(stage: Stage) -> None:
    steps = [{"do": "open", "by": "second"}, {"driver": "kill", "by": "second"}, {"do": "open", "by": "second"}]
    for _ in range(2):
        Play(msgspec.convert({"name": "killed", "steps": steps}, Case), "python", stage).run()
