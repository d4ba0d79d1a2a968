"""Every import contract finds what it is for: a copy of the packages with one planted fault per contract breaks them all."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.processes import environment

ROOT = Path(__file__).parents[2]

# One fault for each contract, in order of pyproject.toml.
FAULTS = {
    "server/perdure_server/ports/planted.py": "import perdure_server.store.planted\n",
    "server/perdure_server/kernel/planted.py": "import time\n",
    "server/perdure_server/engine/planted.py": "import grpc\n",
    "server/perdure_server/rpc/planted.py": "import pymongo\n",
    "server/perdure_server/telemetry/planted.py": "import redis\n",
    "server/perdure_server/coordination/planted.py": "import opentelemetry.trace\n",
    "clients/python/perdure/planted.py": "import perdure_server.store.planted\n",
    "server/perdure_server/store/planted.py": "import secantus\n",
}
UNPLACED = "server/perdure_server/unplaced.py"


def lint(copy: Path) -> str:
    paths = os.pathsep.join([str(copy / "server"), str(copy / "clients/python")])
    command = [str(Path(sys.executable).with_name("lint-imports")), str(copy / "pyproject.toml"), "--no-cache", "--no-logo"]
    # Our copy must win over the editable installation: PYTHONPATH comes first.
    done = subprocess.run(command, cwd=copy, env=environment(PYTHONPATH=paths, COLUMNS="200"), capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def copy_packages(destination: Path) -> None:
    for package in ("server/perdure_server", "clients/python/perdure"):
        shutil.copytree(ROOT / package, destination / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", destination)


def test_every_contract_breaks_on_its_fault(tmp_path: Path) -> None:
    copy_packages(tmp_path)
    for path, text in FAULTS.items():
        (tmp_path / path).write_text(text)
    report = lint(tmp_path)
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    assert len(contracts) == len(FAULTS)
    assert [contract["name"] for contract in contracts if f"{contract['name']} BROKEN" not in report] == [], report


def test_a_new_module_must_be_placed_in_a_layer(tmp_path: Path) -> None:
    copy_packages(tmp_path)
    (tmp_path / UNPLACED).write_text("")
    report = lint(tmp_path)
    assert "unplaced" in report
    assert "BROKEN" in report or "not listed" in report, report
