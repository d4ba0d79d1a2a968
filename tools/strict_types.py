"""Has pyright, pinned and in strict mode, read the Python client, and a user's program as its author's editor would read it.

mypy checks everything (`make types`); this is for who writes programs against `perdure`: py.typed promises that nothing of it is unknown.

    python tools/strict_types.py    0: no complaint; without npx, or a network to fetch it by: a clear skip, but a failure in CI
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
SITE: Final = ROOT / "build" / "strict_types"
PYRIGHT: Final = "pyright@1.1.414"
PROJECTS: Final = (ROOT / "clients" / "python" / "pyrightconfig.json", ROOT / "tests" / "client" / "strict_user.json")


def without_own_stubs() -> None:
    """What is installed here, but for stubs that only this repository has: a user's pyright takes those that it brings itself."""
    site = Path(sysconfig.get_path("purelib"))
    shown = SITE / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    shutil.rmtree(SITE, ignore_errors=True)
    shown.mkdir(parents=True)
    for entry in site.iterdir():
        if not entry.name.endswith("-stubs"):
            (shown / entry.name).symlink_to(entry)


def npx(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Pyright with these arguments; what it says is kept."""
    command = ["npx", "--yes", "--prefer-offline", PYRIGHT, *arguments]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def missing() -> str:
    """Why pyright cannot be run here; empty: it can."""
    if shutil.which("npx") is None:
        return "pyright needs npx (Node), which is not on PATH"
    return "" if npx("--version").returncode == 0 else f"npx cannot fetch {PYRIGHT}"


def check(project: Path) -> bool:
    """Whether pyright has read the project and has nothing to say; otherwise it is printed."""
    finished = npx("--project", str(project), "--outputjson")
    name = project.relative_to(ROOT)
    try:
        told = json.loads(finished.stdout)
    except ValueError:
        print(f"{name}: pyright failed\n{finished.stdout}")
        return False
    for found in told["generalDiagnostics"]:
        place = found["range"]["start"]
        path = Path(found["file"]).relative_to(ROOT)
        print(f"{path}:{place['line'] + 1}:{place['character'] + 1}: {found['message']} [{found.get('rule', found['severity'])}]")
    files, faults = told["summary"]["filesAnalyzed"], len(told["generalDiagnostics"])
    print(f"{name}: {files} files, {faults} complaints")
    return files > 0 and not faults  # a wrong path is no error to pyright


def main() -> int:
    """Checks every project; 1 if there is a complaint."""
    fault = missing()
    if fault:
        in_ci = bool(os.environ.get("CI"))  # noqa: TID251 -- a tool, not the server: only CI must not skip
        print(f"{'FAILED' if in_ci else 'skipped'}: {fault}")
        return int(in_ci)
    without_own_stubs()
    passed = [check(project) for project in PROJECTS]
    return int(not all(passed))


if __name__ == "__main__":
    sys.exit(main())
