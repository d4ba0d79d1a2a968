"""docs/states.md is the table, drawn."""

import pytest

from perdure_server.kernel.transitions import STEP_TRANSITIONS, WORKFLOW_TRANSITIONS
from tools import states


def test_the_document_is_fresh() -> None:
    assert states.TARGET.read_text() == states.document(), "run `python tools/states.py`"


def test_every_row_is_drawn() -> None:
    document = states.document()
    for table in (STEP_TRANSITIONS, WORKFLOW_TRANSITIONS):
        for (state, event), targets in table.items():
            assert f"| {state.name} | {event.name} | " in document
            for target in targets:
                lines = [line for line in document.splitlines() if line.startswith(f"    {state.name} --> {target.name}: ")]
                assert any(event.name.lower() in line for line in lines)


def test_check_fails_on_a_stale_file(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["states.py", "--check"])
    assert states.main() == 0
    monkeypatch.setattr(states, "HEAD", "something else")
    assert states.main() == 1
    assert "stale" in capsys.readouterr().out
