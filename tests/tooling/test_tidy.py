"""Each rule of tools/tidy.py finds what it is for, and the ratchet turns one way only."""

import ast

import pytest

from tools import tidy
from tools.tidy import Allowed, Finding


def rules(text: str, path: str = "server/perdure_server/engine/start.py") -> set[str]:
    return {finding.rule for finding in tidy.check_text(path, text)}


def test_a_clean_module_has_no_findings() -> None:
    assert rules('"""Starts."""\n\n\ndef start(key: str) -> str:\n    return key\n') == set()


def test_long_function_counts_without_its_docstring() -> None:
    docstring = '    """' + "\n    many\n" * 60 + '    """\n'
    assert rules(f"def f():\n{docstring}" + "    x = 0\n" * 50) == set()
    assert rules("def f():\n" + "    x = 0\n" * 51) == {"function-lines"}


def test_long_module() -> None:
    assert rules("x = 0\n" * 351) == {"module-lines"}


def test_arguments_count_what_a_caller_must_give() -> None:
    assert rules("class A:\n    def f(self, a, b, c, d, e, *, f=0): ...\n") == set()
    assert rules("def f(a, b, c, d, e, *, f): ...\n") == {"arguments"}


@pytest.mark.parametrize(("depth", "found"), [(3, set()), (4, {"nesting"})])
def test_nesting(depth: int, found: set[str]) -> None:
    blocks = "".join("    " * level + "if x:\n" for level in range(1, depth + 1))
    assert rules("def f(x):\n" + blocks + "    " * (depth + 1) + "x()\n") == found


def test_elif_is_not_deeper() -> None:
    branches = "".join(f"    elif x == {number}:\n        x()\n" for number in range(9))
    assert rules(f"def f(x):\n    if x:\n        x()\n{branches}") == set()


@pytest.mark.parametrize("path", ["server/perdure_server/utils.py", "server/perdure_server/common/a.py"])
def test_names_that_gather_anything(path: str) -> None:
    assert rules("x = 0\n", path) == {"module-name"}


def test_abbreviation() -> None:
    assert rules("def f(cfg): ...\n") == {"abbreviation"}


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("x = 1  # noqa: S603", True),
        ("x = 1  # noqa", True),
        ("x = 1  # type: ignore[arg-type]", True),
        ("x = 1  # type: ignore[arg-type]  # the stub lacks this overload", False),
        ("x = 1  # noqa: S603, S607 -- the arguments are ours", False),
        ("x = 'say # noqa: S603'", False),
    ],
)
def test_suppression_needs_a_reason(line: str, found: bool) -> None:
    assert ("suppression" in rules(line + "\n")) is found


def test_comment_that_repeats_its_line() -> None:
    assert rules("# close the channel\nchannel.close()\n") == {"echo"}
    assert rules("# close before the store: late frames need it\nchannel.close()\n") == set()


@pytest.mark.parametrize("line", ["LEASE_SECONDS = 30", "f(timeout=5)", "def f(retry_ms=20 * 1000): ...", "x_bytes: int = 1024"])
def test_number_with_a_unit_has_a_home(line: str) -> None:
    assert rules(line + "\n") == {"number"}
    assert rules(line + "\n", "server/perdure_server/kernel/limits.py") == set()
    assert rules(line + "\n", "tests/rpc/test_start.py") == set()


def test_converting_a_variable_is_no_number_of_its_own() -> None:
    assert rules("lease_ms = lease_seconds * 1000\n") == set()
    assert rules("lease_ms = 30 * limits.SECOND\n") == {"number"}


def test_kernel_never_waits() -> None:
    assert rules("async def f(): ...\n", "server/perdure_server/kernel/start.py") == {"pure-kernel"}


def test_dead_module_is_not_kept_alive_by_tests() -> None:
    trees = {
        "server/perdure_server/kernel/a.py": ast.parse(""),
        "server/perdure_server/kernel/b.py": ast.parse(""),
        "server/perdure_server/main.py": ast.parse("from perdure_server.kernel import b"),
        "tests/kernel/test_a.py": ast.parse("from perdure_server.kernel import a"),
    }
    assert [finding.where for finding in tidy.dead_modules(trees)] == ["server/perdure_server/kernel/a.py"]


def test_ratchet() -> None:
    found = [Finding("nesting", "a.py::f", 3, 5, "too deep")]
    assert tidy.apply_exceptions(found, {}) == ["a.py:3: nesting: too deep"]
    assert tidy.apply_exceptions(found, {("nesting", "a.py::f"): Allowed(5, "a parser")}) == []
    assert tidy.apply_exceptions(found, {("nesting", "a.py::f"): Allowed(4, "a parser")}) == ["a.py:3: nesting: too deep"]
    assert "lower it to 5" in tidy.apply_exceptions(found, {("nesting", "a.py::f"): Allowed(6, "a parser")})[0]
    assert "remove it" in tidy.apply_exceptions([], {("nesting", "a.py::f"): Allowed(5, "a parser")})[0]


def test_every_exception_has_a_reason() -> None:
    assert all(len(allowed.reason.split()) >= tidy.REASON_WORDS for allowed in tidy.EXCEPTIONS.values())
