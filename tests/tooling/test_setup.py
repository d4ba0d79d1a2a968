"""Set-up says what is missing, and does nothing when it is up to date."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import environment

ROOT = Path(__file__).parents[2]


def setup(**settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([ROOT / "tools/setup"], env=environment(**settings), capture_output=True, text=True, check=False)


def test_names_the_versions_it_needs(tmp_path: Path) -> None:
    done = setup(PYTHON="/bin/false", VENV=str(tmp_path / "venv"))
    assert done.returncode == 1
    assert "no Python 3.11, 3.12 or 3.13 found" in done.stderr
    assert not (tmp_path / "venv").exists()


def test_does_nothing_when_up_to_date() -> None:
    venv = Path(sys.prefix)
    if not (venv / "perdure-setup-stamp").exists():
        pytest.skip("this environment was not made by `make setup`")
    done = setup(VENV=str(venv))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
