"""docs/kernel-rules.md tells the truth: every rule names tests, and every test that it names exists."""

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
TEST = re.compile(r"`([^`]+)`")
NAMED = re.compile(r"^ *(?:async )?def (test_\w+)", re.MULTILINE)
HEADS = ("rule", "---")


def rows() -> list[tuple[str, list[str]]]:
    text = (ROOT / "docs" / "kernel-rules.md").read_text(encoding="utf-8")
    return [(rule, TEST.findall(tests)) for rule, tests in ROW.findall(text) if rule not in HEADS]


@cache
def defined_in(file: str) -> frozenset[str]:
    path = ROOT / "tests" / f"{file}.py"
    return frozenset(NAMED.findall(path.read_text(encoding="utf-8"))) if path.is_file() else frozenset()


def exists(test: str) -> bool:
    file, _, name = test.partition("::")
    return name in defined_in(file)


def test_every_test_of_a_rule_exists() -> None:
    assert [f"{rule} {test}" for rule, tests in rows() for test in tests if not exists(test)] == []


def test_the_rules_are_read() -> None:
    assert [rule for rule, tests in rows() if not tests] == [], "a rule without a test"
    assert len(rows()) > 100, "a row that does not look like one is not checked"
    assert not exists("kernel/test_wakers::test_nothing")
