"""The fenced blocks of the documents, and what is asked of each kind."""

import json
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click
import yaml

from perdure.cli.commands import cli

ROOT: Final = Path(__file__).parents[2]
DOCUMENTS: Final = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "clients/**/*.md", "examples/**/*.md", "deploy/**/*.md")
    for path in ROOT.glob(pattern)
    if "node_modules" not in path.parts and not any(part.startswith(".") for part in path.relative_to(ROOT).parts)
)

NOT_CHECKED: Final[Mapping[str, str]] = {
    "text": "what a program printed, or a drawing: nothing runs it",
    **dict.fromkeys(
        ("go", "java", "ts", "typescript", "xml"), "of the client languages: a test of each compares its README with its samples"
    ),
    "mermaid": "drawn by GitHub; made from the transition table by tools/states.py, which checks that it is fresh",
}
"""Kinds that no test reads, each with its reason."""

PROGRAMS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("cd", "mkdir", "cat", "kill", "export", "echo", "sh", "exec"), "the shell's own"),
    **dict.fromkeys(("go", "npm", "mvn", "generate"), "a client language's own; `python -m tools.clients` runs them"),
    "make": "its targets are looked up in the Makefile",
    "python": "its script or module must exist, here or on the same page",
    "pip": "needs a package index",
    "docker": "no container engine here (docs/docker.md says what was tried instead)",
    "grpcurl": "docs/grpcurl.md is run whole by tests/rpc/test_grpcurl.py",
    "helm": "no cluster here",
    "kubectl": "no cluster here",
    "openssl": "not ours",
    "curl": "not ours",
    "git": "not ours",
    "mongosh": "no MongoDB shell here",
    "redis-cli": "not ours",
}


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    document: str
    line: int
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.document}:{self.line}"


def blocks() -> Iterator[Block]:
    """All of them, in all documents."""
    for path in DOCUMENTS:
        yield from blocks_of(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))


def blocks_of(document: str, text: str) -> Iterator[Block]:
    """Those of one document."""
    kind, begin, inside = "", 0, False
    held: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        fence = re.match(r" *```(.*)", line)
        if fence and not inside:
            kind, begin, inside, held = fence[1].strip(), number, True, []
        elif fence:
            inside = False
            yield Block(document, begin, kind, "\n".join(held) + "\n")
        elif inside:
            held.append(line)


def inline_faults(document: str, text: str) -> Iterator[str]:
    """What is wrong with commands of `perdure` between single backticks: a verb or an option that does not exist."""
    plain = re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE)
    for span in re.findall(r"`(perdure [a-z][^`\n]*)`", plain):
        try:
            words = shlex.split(span)[1:]
        except ValueError as error:
            yield f"{document}: `{span}`: {error}"
            continue
        for fault in perdure_faults(words):
            if "arguments" not in fault and "requires an argument" not in fault:
                yield f"{document}: {fault}"


def faults(block: Block) -> list[str]:
    """What is wrong with a block; nothing for kinds that are listed as not checked."""
    if block.kind in NOT_CHECKED:
        return []
    check = CHECKS.get(block.kind)
    if check is None:
        return [f"{block}: nothing checks a block of the kind {block.kind!r}: name its language, or list it in NOT_CHECKED with a reason"]
    try:
        return [f"{block}: {fault}" for fault in check(block)]
    except (ValueError, SyntaxError, yaml.YAMLError) as error:
        return [f"{block}: {error}"]


def commands(text: str) -> Iterator[list[str]]:
    """The words of each command of a console block: comments, prompts and what follows pipes, `&&` and redirections split off."""
    joined = re.sub(r"\\\n\s*", " ", text)
    prompted = [line for line in joined.splitlines() if line.startswith("$ ")]
    # With prompts, lines without one are output.
    for line in (line[2:] for line in prompted) if prompted else joined.splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
        lexer.whitespace_split = True
        lexer.commenters = "#"
        words: list[str] = []
        for word in lexer:
            if re.fullmatch(r"[|&;]+", word):
                yield words
                words = []
            else:
                words.append(word)
        yield words


def _console(block: Block) -> Iterator[str]:
    for words in commands(block.text):
        named = [word for word in words if not re.fullmatch(r"[A-Z_]+=.*", word)]
        if not named:
            continue
        if ">" in named:
            named = named[: named.index(">")]
        program = Path(named[0]).name
        if program == "perdure":
            yield from perdure_faults(named[1:])
        elif program == "make":
            yield from _make_faults(named[1:])
        elif program.startswith("python"):
            yield from _python_faults(block, named[1:])
        elif program == "sh" and named[1:2] == ["-c"]:
            yield from _console(Block(block.document, block.line, block.kind, named[2]))
        elif program == "exec":
            yield from _console(Block(block.document, block.line, block.kind, shlex.join(named[1:])))
        elif program not in PROGRAMS:
            yield f"nothing checks the program {program!r}: list it in PROGRAMS with a reason"


def perdure_faults(words: list[str]) -> Iterator[str]:
    """A command of `perdure` with its words: every verb exists, every option is known, every argument has its place."""
    command: click.Command = cli
    path = ["perdure"]
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(click.Context(command), words[0])
        if found is None:
            yield f"`{' '.join(path)}` has no command {words[0]!r}"
            return
        command, path, words = found, [*path, words[0]], words[1:]
    if "--help" in words or (isinstance(command, click.Group) and not words):
        return
    # Values are not converted: files need not be there, and a server is not asked.
    context = click.Context(command, info_name=" ".join(path), resilient_parsing=False)
    try:
        _, left, _ = command.make_parser(context).parse_args(list(words))
    except click.UsageError as error:
        yield f"`{' '.join([*path, *words])}`: {error.format_message()}"
        return
    needed = sum(1 for param in command.params if isinstance(param, click.Argument) and param.required and param.nargs == 1)
    given = [word for word in words if word == "-" or not word.startswith("-")]
    if left or len(given) < needed:
        yield f"`{' '.join([*path, *words])}`: {'too many' if left else 'too few'} arguments"


def _make_faults(words: list[str]) -> Iterator[str]:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    for word in words:
        if "=" not in word and not word.startswith("-") and word not in targets:
            yield f"the Makefile has no target {word!r}"


def _python_faults(block: Block, words: list[str]) -> Iterator[str]:
    if words[:1] == ["-m"] and len(words) > 1:
        name = words[1].replace(".", "/")
        places = [ROOT / name, ROOT / f"{name}.py", ROOT / "server" / name, ROOT / "clients/python" / name]
        if not any(place.exists() for place in places) and words[1] not in {"pytest", "pip", "venv"}:
            yield f"there is no module {words[1]}"
    elif words and words[0].endswith(".py"):
        page = (ROOT / block.document).read_text(encoding="utf-8")
        if not (ROOT / words[0]).exists() and f"`{words[0]}`" not in page:
            yield f"there is no {words[0]}, and the page does not show one"


def _python(block: Block) -> Iterator[str]:
    compile(block.text, str(block), "exec", flags=0x2000)  # top-level await, as in a notebook
    yield from ()


def _json(block: Block) -> Iterator[str]:
    json.loads(block.text)
    yield from ()


def _yaml(block: Block) -> Iterator[str]:
    list(yaml.safe_load_all(block.text))
    yield from ()


def _toml(block: Block) -> Iterator[str]:
    tomllib.loads(block.text)
    yield from ()


CHECKS: Final[Mapping[str, Callable[[Block], Iterator[str]]]] = {
    "console": _console,
    "python": _python,
    "json": _json,
    "yaml": _yaml,
    "toml": _toml,
}
