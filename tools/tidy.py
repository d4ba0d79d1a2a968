"""Our own checks, for what ruff and mypy do not see: sizes, names, dead modules, bare suppressions, numbers out of place.

Run it by `make tidy`. Every finding is one line: path:line: rule: what, and what to do. The limits are a ratchet: a place
that is over one stands in EXCEPTIONS with its measure and a reason, may not grow, and must leave the list once it fits.
"""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent

FUNCTION_LINES = 50
MODULE_LINES = 350
ARGUMENTS = 5
NESTING = 3

GENERATED = re.compile(r"(_pb2|_pb2_grpc)\.pyi?$|/gen/")
BANNED_MODULES = frozenset({"util", "utils", "common", "helper", "helpers", "manager", "managers", "misc", "shared"})
ABBREVIATIONS = frozenset({"cfg", "cmd", "cnt", "conn", "evt", "idx", "mgr", "msg", "num", "req", "res", "resp", "svc", "tmp", "val", "wf"})

# A number under a name like these belongs to limits.py or config.py, where it is documented and can be found.
UNIT_NAME = re.compile(
    r"(^|_)(ms|millis|seconds|minutes|hours|days|bytes|kib|mib|timeout|interval|ttl|lease|grace|retention)$", re.IGNORECASE
)
HOMES_OF_NUMBERS = frozenset({"limits.py", "config.py"})

# Modules that nothing imports because a command, a runner or an entry point names them.
ROOTS = re.compile(
    r"(^|/)(__main__|main|conftest|test_\w+)\.py$|^tools/|^examples/|/samples/|/polyglot/|^docs/|/perdure/(testing/|outbox\.py$)"
)
DOTTED = re.compile(r"[a-z_]+(\.[a-z_0-9]+)+(:\w+)?")

SUPPRESSION = re.compile(r"#\s*(noqa|type:\s*ignore|pyright:\s*ignore|pragma:|fmt:\s*(?:off|skip)|hadolint ignore=|ruff:\s*noqa)(.*)")
CODES = re.compile(r"^[:\[=]?\s*[A-Za-z0-9, \-]*?(?=\s--|\s#|\]|$)\]?")
REASON_WORDS = 2
ECHO = re.compile(
    r"^\s*#\s*(?:add|build|call|check|close|create|delete|get|increment|initiali[sz]e|iterate|loop|make|open|print|read|remove|return|send"
    r"|set|start|stop|update|write)\s+(?:the\s+|a\s+|an\s+)?(\w{4,})",
    re.IGNORECASE,
)

# Package indexes: a committed address binds everyone to one index, so locks and documents name packages only.
INDEXES = {
    "org": "pypi pythonhosted registry.npmjs proxy.golang repo1.maven repo.maven.apache deb.debian",
    "com": "registry.yarnpkg",
    "io": "crates",
}
INDEX_HOSTS = re.compile("|".join(rf"\b{re.escape(name)}[.]{ending}\b" for ending, names in INDEXES.items() for name in names.split()))


@dataclass(frozen=True)
class Finding:
    """One broken rule; `where` names the place without its line, so that an exception survives edits above it."""

    rule: str
    where: str
    line: int
    measure: int
    advice: str


@dataclass(frozen=True)
class Allowed:
    """An exception: the measure that it may not exceed, and why it is right or when it goes."""

    measure: int
    reason: str


EXCEPTIONS: dict[tuple[str, str], Allowed] = {}


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Every function with its qualified name."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + node.name, node
            yield from functions(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.ClassDef):
            yield from functions(node, f"{prefix}{node.name}.")
        else:
            yield from functions(node, prefix)


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from the first statement after the docstring to the last."""
    body = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def argument_count(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Arguments that a caller must give: not self, nor keyword-only ones with a default, nor those that click fills in."""
    if any(ast.unparse(decorator).startswith(("click.", "cli.")) for decorator in function.decorator_list):
        return 0
    given = [*function.args.posonlyargs, *function.args.args]
    names = [argument.arg for argument in given if argument.arg not in {"self", "cls"}]
    return len(names) + sum(default is None for default in function.args.kw_defaults)


BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.TryStar, ast.With, ast.AsyncWith, ast.Match)


def nesting(node: ast.AST, depth: int = 0) -> int:
    """Deepest block inside; `elif` is no deeper than its `if`, functions inside are measured by themselves."""
    deepest = depth
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        is_elif = isinstance(node, ast.If) and isinstance(child, ast.If) and child in node.orelse and len(node.orelse) == 1
        deeper = isinstance(child, BLOCKS) and not is_elif
        deepest = max(deepest, nesting(child, depth + 1 if deeper else depth))
    return deepest


def size_findings(path: str, text: str, tree: ast.Module) -> Iterator[Finding]:
    """Modules, functions, argument lists and blocks that are too big to read at once."""
    lines = text.count("\n")
    if lines > MODULE_LINES:
        yield Finding("module-lines", path, 1, lines, f"{lines} lines, at most {MODULE_LINES}: split it by the noun that each part owns")
    for name, function in functions(tree):
        where = f"{path}::{name}"
        measures = (
            ("function-lines", body_lines(function), FUNCTION_LINES, "give a part a name of its own"),
            ("arguments", argument_count(function), ARGUMENTS, "put what belongs together into a value"),
            ("nesting", nesting(function), NESTING, "return early, or name the inner block"),
        )
        for rule, measure, limit, advice in measures:
            if measure > limit:
                yield Finding(rule, where, function.lineno, measure, f"{name}: {measure}, at most {limit}: {advice}")


def name_findings(path: str, _text: str, tree: ast.Module) -> Iterator[Finding]:
    """Module names that gather anything, and abbreviated names."""
    if BANNED_MODULES & {part.removesuffix(".py") for part in path.split("/")}:
        yield Finding("module-name", path, 1, 1, "a name that means anything; name it after the noun that it owns")
    for node in ast.walk(tree):
        name = bound_name(node)
        if name is not None and name.strip("_").lower() in ABBREVIATIONS:
            yield Finding("abbreviation", f"{path}::{name}", getattr(node, "lineno", 1), 1, f"`{name}`: write the word out")


def bound_name(node: ast.AST) -> str | None:
    """The name that this node gives to something, if any."""
    if isinstance(node, ast.arg):
        return node.arg
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return node.name
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id
    return None


def comment_findings(path: str, text: str, _tree: ast.Module) -> Iterator[Finding]:
    """Suppressions without codes or reason, and comments that only repeat the next line."""
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        suppression = SUPPRESSION.search(line)
        if suppression and not quoted(line, suppression.start()):
            reason = CODES.sub("", suppression[2], count=1)
            if len(re.findall(r"[A-Za-z]{2,}", reason)) < REASON_WORDS:
                yield Finding("suppression", path, number, 1, "say why beside it: `# noqa: S603 -- the arguments are ours`")
        echo = ECHO.match(line)
        if echo and number < len(lines) and re.search(rf"{echo[1].rstrip('s')}", lines[number], re.IGNORECASE):
            yield Finding("echo", path, number, 1, "the comment repeats the next line; say why, or nothing")


def quoted(line: str, position: int) -> bool:
    """Whether a place in a line is inside a string or a docstring that talks about it (rough, errs on the quiet side)."""
    before = line[:position]
    return any(before.count(mark) % 2 for mark in ('"', "'", "`"))


def number_findings(path: str, _text: str, tree: ast.Module) -> Iterator[Finding]:
    """Server numbers with a unit outside limits.py and config.py; 0 and 1 are no quantities."""
    if not path.startswith("server/") or path.rsplit("/", 1)[-1] in HOMES_OF_NUMBERS:
        return
    for node in ast.walk(tree):
        for name, value in named_values(node):
            if UNIT_NAME.search(name) and "_PER_" not in name and is_quantity(value):
                yield Finding(
                    "number", f"{path}::{name}", value.lineno, 1, f"`{name} = {ast.unparse(value)}` belongs to limits.py or config.py"
                )


def named_values(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Names and the values given to them: assignments, keyword arguments, defaults."""
    if isinstance(node, ast.Assign):
        yield from ((target.id, node.value) for target in node.targets if isinstance(target, ast.Name))
    elif isinstance(node, ast.AnnAssign) and node.value is not None and isinstance(node.target, ast.Name):
        yield node.target.id, node.value
    elif isinstance(node, ast.keyword) and node.arg is not None:
        yield node.arg, node.value
    elif isinstance(node, ast.arguments):
        positional = [*node.posonlyargs, *node.args]
        yield from ((argument.arg, default) for argument, default in zip(reversed(positional), reversed(node.defaults), strict=False))
        yield from ((argument.arg, default) for argument, default in zip(node.kwonlyargs, node.kw_defaults, strict=True) if default)


def is_quantity(value: ast.expr) -> bool:
    """A literal number other than 0 and 1, or a calculation of literals and constants; converting a variable is none."""
    if isinstance(value, ast.BinOp):
        names = [getattr(node, "id", getattr(node, "attr", "")) for node in ast.walk(value) if isinstance(node, ast.Name | ast.Attribute)]
        converts = any(name.islower() for name in names if name not in {"limits", "config"})
        return not converts and (is_quantity(value.left) or is_quantity(value.right))
    return isinstance(value, ast.Constant) and type(value.value) in {int, float} and value.value not in {0, 1}


def kernel_findings(path: str, _text: str, tree: ast.Module) -> Iterator[Finding]:
    """The kernel decides and does nothing: import-linter guards what it imports, this that it never waits."""
    if "/kernel/" not in path or not path.startswith("server/"):
        return
    for name, function in functions(tree):
        if isinstance(function, ast.AsyncFunctionDef):
            yield Finding(
                "pure-kernel", f"{path}::{name}", function.lineno, 1, f"`async def {name}`: effects are returned, never performed"
            )


FILE_CHECKS: tuple[Callable[[str, str, ast.Module], Iterator[Finding]], ...] = (
    size_findings,
    name_findings,
    comment_findings,
    number_findings,
    kernel_findings,
)


def imported_modules(tree: ast.Module) -> Iterator[str]:
    """Dotted names that a module imports, with those that `from package import module` may mean."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and DOTTED.fullmatch(node.value):
            yield node.value.split(":")[0]  # lazy imports and plug-ins name modules by strings


def module_name(path: str) -> str:
    """The dotted name by which a file is imported."""
    dotted = path.removeprefix("server/").removeprefix("clients/python/").removesuffix(".py").replace("/", ".")
    return dotted.removesuffix(".__init__")


def dead_modules(trees: dict[str, ast.Module]) -> Iterator[Finding]:
    """Modules that nothing imports, starts or collects; a test alone keeps no product module alive."""
    product: set[str] = set()
    anything: set[str] = set()
    for path, tree in trees.items():
        names = set(imported_modules(tree)) - {module_name(path)}
        anything |= names
        product |= set() if path.startswith("tests/") else names
    product |= set(re.findall(r'= "([\w.]+):\w+"', (ROOT / "pyproject.toml").read_text()))  # entry points
    for path in trees:
        alive = anything if path.startswith("tests/") else product
        if not ROOTS.search(path) and not path.endswith("__init__.py") and module_name(path) not in alive:
            yield Finding("dead-module", path, 1, 1, "nothing imports it (tests do not count); delete it, or use it")


def index_addresses(files: list[str]) -> Iterator[Finding]:
    """Committed addresses of package indexes."""
    for path in files:
        try:
            text = (ROOT / path).read_text()
        except UnicodeDecodeError:
            continue  # not text
        for found in INDEX_HOSTS.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            yield Finding("index-address", path, line, 1, f"`{found[0]}`: name the package, not the index")


def tracked_files() -> list[str]:
    """What git tracks or would track, and that exists."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return [path for path in sorted(set(listing.stdout.splitlines())) if (ROOT / path).is_file()]


def check_text(path: str, text: str) -> list[Finding]:
    """All findings that one Python file shows by itself."""
    tree = ast.parse(text, filename=path)
    return [finding for check in FILE_CHECKS for finding in check(path, text, tree)]


def all_findings(files: list[str]) -> list[Finding]:
    """All findings of the project."""
    sources = {path: (ROOT / path).read_text() for path in files if path.endswith(".py") and not GENERATED.search(path)}
    trees = {path: ast.parse(text, filename=path) for path, text in sources.items()}
    single = [finding for path, text in sources.items() for check in FILE_CHECKS for finding in check(path, text, trees[path])]
    return [*single, *dead_modules(trees), *index_addresses(files)]


def apply_exceptions(findings: list[Finding], exceptions: dict[tuple[str, str], Allowed]) -> list[str]:
    """What is wrong after the ratchet: new findings, exceptions that grew, exceptions that are no longer needed."""
    worst: Counter[tuple[str, str]] = Counter()
    for finding in findings:
        key = (finding.rule, finding.where)
        worst[key] = max(worst[key], finding.measure)
    complaints = [
        f"{finding.where.split('::')[0]}:{finding.line}: {finding.rule}: {finding.advice}"
        for finding in findings
        if (allowed := exceptions.get((finding.rule, finding.where))) is None or finding.measure > allowed.measure
    ]
    for key, allowed in exceptions.items():
        if worst[key] < allowed.measure:
            now = f"lower it to {worst[key]}" if worst[key] else "remove it"
            complaints.append(f"tools/tidy.py:1: stale-exception: {key[0]} of {key[1]} is better than {allowed.measure}; {now}")
    return complaints


def main() -> int:
    """Prints the complaints; 1 if there are any."""
    files = tracked_files()
    complaints = apply_exceptions(all_findings(files), EXCEPTIONS)
    print("\n".join([*complaints, f"tidy: {len(files)} files, {len(complaints)} complaints, {len(EXCEPTIONS)} exceptions"]))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
