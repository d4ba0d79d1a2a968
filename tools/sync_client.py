"""Writes clients/python/perdure/sync from the asynchronous client, so that there is one client and no twin kept by hand.

    python tools/sync_client.py            write the modules of SOURCES
    python tools/sync_client.py --check    fail if one is stale

What differs in kind is written by hand: perdure/sync/calls.py (the transport) and perdure/sync/worker.py.
"""

import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
PACKAGE: Final = ROOT / "clients" / "python" / "perdure"
SOURCES: Final = (
    *(
        "batches",
        "client",
        "definitions",
        "finding",
        "following",
        "namespaces",
        "operations",
        "pages",
        "polling",
        "reading",
        "resources",
        "run",
        "schedules",
    ),
    *("watching", "watching_many"),
)

DROPPED: Final = frozenset({"async", "await"})
NAMES: Final = {
    "AsyncIterator": "Iterator",
    "StopAsyncIteration": "StopIteration",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
    "__anext__": "__next__",
    "aclose": "close",
    "asyncio": "time",  # of asyncio only sleep is used here
}
MODULES: Final = re.compile(rf"from perdure\.(calls|worker\.worker|{'|'.join(SOURCES)}) import")
# In documentation, comments and messages.
WORDS: Final = (
    ("`async with ", "`with "),
    ("`async for ", "`for "),
    ("`await ", "`"),
    ("An asynchronous iterator", "An iterator"),
    ("grpc.aio.Channel", "grpc.Channel"),
    (" It belongs to the event loop that first uses it.", " Threads may share it."),
)
HEAD: Final = "# Made by `python tools/sync_client.py` from perdure/{name}.py; do not edit.\n"


def translated(name: str) -> str:
    """The synchronous text of one module."""
    source = (PACKAGE / f"{name}.py").read_text(encoding="utf-8")
    source = MODULES.sub(lambda found: f"from perdure.sync.{found[1].rpartition('.')[2]} import", source)
    for word, other in WORDS:
        source = source.replace(word, other)
    text = HEAD.format(name=name) + _without_async(source)
    text = re.sub(r"  # noqa: ASYNC\d+[^\n]*", "", text)
    return _formatted(text)


def _without_async(source: str) -> str:
    """Drops the keywords and renames, and leaves everything else where it was on its line."""
    lines = source.splitlines(keepends=True)
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    for token, following in zip(reversed(tokens[:-1]), reversed(tokens[1:]), strict=True):
        if token.type != tokenize.NAME:
            continue
        (row, start), (_, end) = token.start, token.end
        line = lines[row - 1]
        if token.string in DROPPED:
            lines[row - 1] = line[:start] + line[following.start[1] :]
        elif token.string in NAMES:
            lines[row - 1] = line[:start] + NAMES[token.string] + line[end:]
    return "".join(lines)


def _formatted(text: str) -> str:
    ruff = Path(sys.executable).with_name("ruff")
    for arguments in (["check", "--quiet", "--fix", "--select=I,F401,F811"], ["format"]):
        command = [str(ruff), *arguments, f"--stdin-filename={PACKAGE / 'sync' / 'made.py'}", "-"]
        text = subprocess.run(command, cwd=ROOT, input=text, stdout=subprocess.PIPE, text=True, check=False).stdout
    return text


def main() -> int:
    """Writes the modules, or with `--check` compares them; 1 if one is stale."""
    stale = []
    for name in SOURCES:
        target = PACKAGE / "sync" / f"{name}.py"
        made = translated(name)
        if not target.exists() or target.read_text(encoding="utf-8") != made:
            stale.append(name)
        if "--check" not in sys.argv[1:]:
            target.write_text(made, encoding="utf-8")
    if "--check" in sys.argv[1:] and stale:
        print(f"perdure/sync is stale ({', '.join(stale)}): run `python tools/sync_client.py`")
        return 1
    print(f"perdure/sync: {len(SOURCES)} modules are fresh")
    return 0


if __name__ == "__main__":
    sys.exit(main())
