"""The kernel is pure: it imports next to nothing, waits for nothing, and asks no clock and no dice."""

import ast
from pathlib import Path

import pytest

import perdure_server.kernel

ALLOWED = {
    "base64",
    "collections.abc",
    "enum",
    "functools",
    "hashlib",
    "hmac",
    "itertools",
    "json",
    "math",
    "msgspec",
    "msgspec.structs",
    "re",
    "typing",
}
FORBIDDEN_CALLS = {"open", "print", "input", "eval", "exec", "__import__", "id", "hash"}
MODULES = sorted(Path(perdure_server.kernel.__file__).parent.glob("*.py"))


def imports(tree: ast.Module) -> set[str]:
    """What a module imports."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or ".")
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_a_module_is_pure(path: Path) -> None:
    tree = ast.parse(path.read_text())
    foreign = {name for name in imports(tree) if not name.startswith("perdure_server.kernel")}
    assert foreign <= ALLOWED
    waits = ast.AsyncFunctionDef | ast.Await | ast.AsyncFor | ast.AsyncWith
    assert not [node.lineno for node in ast.walk(tree) if isinstance(node, waits)], "effects are returned, never performed"
    assert not [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Global | ast.Nonlocal)], "no state between commands"
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert not called & FORBIDDEN_CALLS


def test_only_the_draft_makes_a_changed_instance() -> None:
    makers = {
        path.stem: [ast.unparse(node) for node in ast.walk(ast.parse(path.read_text())) if _makes_state(node)]
        for path in MODULES
        if path.stem != "draft"
    }
    assert {stem: found for stem, found in makers.items() if found} == {}


def _makes_state(node: ast.AST) -> bool:
    # `replace(..., state=...)` anywhere else would go round the table
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    return node.func.id in {"replace", "Step"} and any(keyword.arg == "state" for keyword in node.keywords)
