"""Writes docs/cases.md: real failures of systems like ours, and the tests that show that ours does not have them.

A test that carries `_c07_` in its name is of case C07. `--check` writes nothing and fails if a case has no test, or the file is stale.
"""

import re
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
TARGET: Final = ROOT / "docs" / "cases.md"
NAMED: Final = re.compile(r"^ *(?:async )?def test_(\w+)", re.MULTILINE)
NUMBER: Final = re.compile(r"(?:^|_)c(\d\d)(?=_|$)")
ROW: Final = re.compile(r"^\| C(\d\d) \| ([^|]+) \|", re.MULTILINE)

# Cases that need what is not everywhere: which test, and what it needs.
CONDITIONAL: Final[Mapping[str, str]] = {
    "66": "a lagging secondary runs by MONGO_URL only: not run where there is no replica set of several members",
    "67": "a step-down of a real primary runs by MONGO_URL only: not run where there is no replica set of several members",
}

HEAD: Final = """<!-- The tests are filled in by `python tools/cases.py`; titles are written by hand. -->

# Failures of others, and the tests that they became

Each case is a failure that people reported of a system like ours. Its number is in the name of every test that would find it here:
`pytest -k c07`. A case without a test fails `make check`.

| case | what went wrong elsewhere | tests here |
| --- | --- | --- |
"""


def titles() -> dict[str, str]:
    """The cases in the document, by number."""
    return {number: title.strip() for number, title in ROW.findall(TARGET.read_text(encoding="utf-8"))}


def tests_of_cases() -> dict[str, dict[str, int]]:
    """For each number the files with tests of it, and how many."""
    found: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for name in NAMED.findall(path.read_text(encoding="utf-8")):
            for number in NUMBER.findall(name):
                found[number][path.relative_to(ROOT / "tests").as_posix()] += 1
    return found


def document() -> str:
    """The whole file."""
    tests = tests_of_cases()
    lines = [f"| C{number} | {title} | {_cell(number, tests.get(number, {}))} |" for number, title in sorted(titles().items())]
    return HEAD + "\n".join(lines) + "\n"


def _cell(number: str, files: Mapping[str, int]) -> str:
    told = [f"{name} ({count})" for name, count in files.items()]
    return "; ".join([*told, CONDITIONAL[number]] if number in CONDITIONAL else told)


def main() -> int:
    """Writes the file, or with `--check` compares it; 1 if it is stale, or a case has no test."""
    tests = tests_of_cases()
    missing = [f"C{number}" for number in sorted(titles()) if number not in tests]
    made = document()
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(made, encoding="utf-8")
    fresh = TARGET.read_text(encoding="utf-8") == made
    print(f"{TARGET.name}: {len(titles())} cases, without a test: {', '.join(missing) or 'none'}; {'fresh' if fresh else 'stale'}")
    return 0 if fresh and not missing else 1


if __name__ == "__main__":
    sys.exit(main())
