"""Writes docs/reference/*.md from the code, so that they cannot say anything else.

python -m tools.reference            write them
python -m tools.reference --check    fail if one is stale
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from perdure.v1 import errors_pb2
from perdure_server.rpc.errors import CODES
from tools.error_advice import ADVICE
from tools.reference_api import api_page

ROOT: Final = Path(__file__).resolve().parent.parent
TARGET: Final = ROOT / "docs" / "reference"

DURATIONS: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))
IN_MILLISECONDS: Final = frozenset({"MIN_WAKE_DELAY", "WAITING_FRESH_FOR", "TIME"})
IS_DURATION: Final = re.compile(r"\b(SECOND|MINUTE|HOUR|DAY)\b")

LIMITS_HEAD: Final = """\
# Limits and defaults

Made by `python -m tools.reference` from the server's and the client's `limits.py`; do not edit. GetServerInfo answers what a server
really has. What an operator may set is in [configuration](../configuration.md).

## Server
"""
ERRORS_HEAD: Final = """\
# Errors

Made by `python -m tools.reference` from the one table of the server and the comments of `ErrorReason`; do not edit. Every error has a
canonical gRPC code and a `google.rpc.ErrorInfo` of the domain `perdure` with the reason and, in brackets here, its facts. Branch on the
reason, never on the text. Only UNAVAILABLE may be repeated blindly, and a CANCELLED that the caller did not ask
for: a server with too many new calls says so, and a proxy that gives up. The clients do that, and tell both as UNAVAILABLE.

| reason | code | what it means | what to do |
| --- | --- | --- | --- |
"""


def limits_page() -> str:
    """Every number of the server and of the Python client."""
    server = "\n".join(_constants(ROOT / "server/perdure_server/kernel/limits.py"))
    client = "\n".join(_constants(ROOT / "clients/python/perdure/limits.py"))
    return f"{LIMITS_HEAD}{server}\n\n## Python client and worker\n\nDurations are seconds.\n{client}\n"


def errors_page() -> str:
    """Every reason."""
    comments = reason_comments()
    rows = []
    for reason, code in CODES.items():
        about = comments.get(reason, "")
        about = re.sub(r"^[A-Z_]+(?: or [A-Z_]+)*: ", "", about)
        rows.append(f"| {reason} | {code.name} | {about} | {ADVICE[reason]} |")
    return ERRORS_HEAD + "\n".join(rows) + "\n"


def reason_comments() -> dict[str, str]:
    """What each reason means, by its name without prefix, as errors.proto says it."""
    text = (ROOT / "proto/perdure/v1/errors.proto").read_text(encoding="utf-8")
    found: dict[str, str] = {}
    comment: list[str] = []
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("//"):
            comment.append(stripped.removeprefix("//").strip())
            continue
        name = re.match(r"ERROR_REASON_([A-Z_]+) = \d+;", stripped)
        if name:
            found[name[1]] = " ".join(comment)
        comment = []
    assert found.keys() >= {name.removeprefix("ERROR_REASON_") for name in errors_pb2.ErrorReason.keys()} - {""}  # noqa: SIM118 -- protobuf's own class
    return found


def _constants(path: Path) -> Iterator[str]:
    """A heading for each comment that stands alone, a row for each constant."""
    lines = path.read_text(encoding="utf-8").splitlines()
    tree = ast.parse("\n".join(lines))
    names: dict[str, int | float] = {}
    is_open = False
    heading = ""
    for index, node in enumerate(tree.body):
        if not isinstance(node, ast.AnnAssign) or node.value is None or not isinstance(node.target, ast.Name):
            continue
        above = lines[node.lineno - 2].strip() if node.lineno > 1 else ""
        if above.startswith("# ") and above != heading:
            heading, is_open = above, False
            yield f"\n### {heading.removeprefix('# ').rstrip('.')}"
        name = node.target.id
        names[name] = value = eval(ast.unparse(node.value), {"__builtins__": {}}, dict(names))  # noqa: S307 -- our own file
        if name in {"SECOND", "MINUTE", "HOUR", "DAY"}:
            continue
        if not is_open:
            is_open = True
            yield "\n| name | value | about |\n| --- | --- | --- |"
        yield f"| {name} | {_told(name, value, ast.unparse(node.value))} | {_about(lines, tree.body, index)} |"


def _about(lines: list[str], body: list[ast.stmt], index: int) -> str:
    node = body[index]
    following = body[index + 1] if index + 1 < len(body) else None
    if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant) and isinstance(following.value.value, str):
        return " ".join(following.value.value.split())
    return lines[(node.end_lineno or node.lineno) - 1].partition("  # ")[2].replace("|", "\\|")


def _told(name: str, value: float, source: str) -> str:
    if name in IN_MILLISECONDS or IS_DURATION.search(source):
        length, name_of_it = next(((size, unit) for size, unit in DURATIONS if value >= size and value % size == 0), (1, "ms"))
        return f"{value // length:g} {name_of_it}"
    if isinstance(value, int) and "1024" in source:
        size, unit = next((size, unit) for size, unit in ((2**20, "MiB"), (2**10, "KiB"), (1, "bytes")) if value % size == 0)
        return f"{value // size} {unit}"
    return f"{value:,}"


PAGES: Final = {"api.md": api_page, "limits.md": limits_page, "errors.md": errors_page}


def main() -> int:
    """Writes the pages, or with `--check` compares them; 1 if one is stale."""
    stale = []
    for name, make in PAGES.items():
        text, target = make(), TARGET / name
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            stale.append(name)
        if "--check" not in sys.argv[1:]:
            TARGET.mkdir(exist_ok=True)
            target.write_text(text, encoding="utf-8")
    if "--check" in sys.argv[1:] and stale:
        print(f"docs/reference is stale ({', '.join(stale)}): run `python -m tools.reference`")
        return 1
    print(f"docs/reference: {len(PAGES)} pages are fresh")
    return 0


if __name__ == "__main__":
    sys.exit(main())
