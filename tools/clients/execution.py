"""Runs one language's commands: looks for its tools, fills in words, installs its dependencies, and compares what is generated."""

import contextlib
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

from tools.clients.languages import Command, Language, Tool, Verb

ROOT: Final = Path(__file__).parents[2]
ENVIRONMENT: Final = os.environ  # noqa: TID251 -- a tool, not the server: its commands get the caller's environment
COMMAND_SECONDS: Final = 600
"""A command that takes longer hangs; it is killed and counts as failed."""
STAMP: Final = ".installed"

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Place:
    """Where the languages lie: the repository, or a test's own directory."""

    root: Path = ROOT

    def of(self, language: Language) -> Path:
        """A language's directory."""
        return self.root / "clients" / language.name


class VerbFailed(Exception):
    """One command failed, or what is generated is stale; the text tells which."""


def missing_tool(language: Language) -> str:
    """Which executable is missing or too old, and where it comes from; empty: none."""
    return next((text for text in map(_lack, language.tools) if text), "")


def perform(language: Language, verb: Verb, say: Say, place: Place, *, check: bool = False) -> None:
    """Runs one verb of one language. Raises VerbFailed."""
    _install(language, say, place)
    if verb != "generate" or not check:
        _run_all(language.verbs.get(verb, ()), language, say, place, place.of(language))
    elif language.check:
        _run_all(language.check, language, say, place, place.of(language))
    elif language.generated:
        _compare(language, say, place)


def command_environment() -> dict[str, str]:
    """The caller's, with the programs of .venv first, and where `perdure` and the Python are."""
    beside = Path(sys.executable).parent
    path = f"{beside}{os.pathsep}{ENVIRONMENT.get('PATH', '')}"
    ours = {"PERDURE_TEST_SERVER": str(beside / "perdure"), "PERDURE_PYTHON": sys.executable, "PYTHON": sys.executable}
    return {**ENVIRONMENT, "PATH": path, **ours}


def words(command: Command, language: Language, place: Place, out: Path) -> list[str]:
    """The command with all words filled in."""
    return [filled for word in command for filled in _fill(word.replace("{name}", language.name), place, out)]


def _fill(word: str, place: Place, out: Path) -> list[str]:
    protos, includes = place.root / "proto", files("grpc_tools") / "_proto"
    lists: dict[str, Callable[[], list[str]]] = {
        "{protoc}": lambda: [sys.executable, "-m", "grpc_tools.protoc", f"-I{protos}", f"-I{includes}"],
        "{protos}": lambda: sorted(path.relative_to(protos).as_posix() for path in (protos / "perdure").rglob("*.proto")),
        "{services}": lambda: sorted(path.relative_to(protos).as_posix() for path in (protos / "perdure").rglob("*_service.proto")),
    }
    if word in lists:
        return lists[word]()
    beside = Path(sys.executable).parent
    values = {"root": place.root, "python": sys.executable, "perdure": beside / "perdure", "out": out, "includes": includes}
    for name, value in values.items():
        word = word.replace(f"{{{name}}}", str(value))
    return [word.replace("{version}", _version(place)) if "{version}" in word else word]


def _version(place: Place) -> str:
    return str(tomllib.loads((place.root / "pyproject.toml").read_text())["project"]["version"])


def _lack(tool: Tool) -> str:
    least = ".".join(map(str, tool.least))
    wanted = f"{tool.name} {least} or later" if least else tool.name
    path = shutil.which(tool.name)
    if path is None:
        return f"needs {wanted}, which is not on PATH ({tool.hint})"
    if not tool.least:
        return ""
    told = subprocess.run([path, *tool.version], capture_output=True, text=True, check=False)
    found = re.search(r"\d+(\.\d+)*", told.stdout + told.stderr)
    if found is None or tuple(map(int, found[0].split("."))) < tool.least:
        return f"needs {wanted}, and {path} is {found[0] if found else 'of no known version'} ({tool.hint})"
    return ""


def _run_all(commands: tuple[Command, ...], language: Language, say: Say, place: Place, out: Path) -> None:
    for command in commands:
        shown = " ".join(command)
        say(f"--- {language.name}: {shown}")
        code = _run(words(command, language, place, out), language, say, place)
        if code != 0:
            raise VerbFailed(f"`{shown}` {code if isinstance(code, str) else f'ended with {code}'}")


def _run(command: list[str], language: Language, say: Say, place: Place) -> int | str:
    try:
        with subprocess.Popen(
            command,
            cwd=place.of(language),
            env=command_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as process:
            return _follow(process, say)
    except OSError as error:
        return f"cannot be run: {error}"


def _follow(process: subprocess.Popen[str], say: Say) -> int | str:
    """Passes its lines on until it ends. What it started ends with it, so that no server of a test stays behind."""
    late = threading.Event()

    def give_up() -> None:
        late.set()
        _kill_group(process.pid)

    timer = threading.Timer(COMMAND_SECONDS, give_up)
    timer.start()
    try:
        for line in process.stdout or ():
            say(line.rstrip("\n"))
        code = process.wait()
    finally:
        timer.cancel()
        _kill_group(process.pid)
    return f"did not end within {COMMAND_SECONDS} s" if late.is_set() else code


def _kill_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def _install(language: Language, say: Say, place: Place) -> None:
    """Fetches the dependencies unless that was done for these very locks."""
    if not language.install:
        return
    directory = place.of(language)
    digest = hashlib.sha256(repr(language.install).encode())
    for name in language.locks:
        digest.update((directory / name).read_bytes())
    stamp = directory / STAMP
    if stamp.exists() and stamp.read_text() == digest.hexdigest():
        return
    _run_all(language.install, language, say, place, directory)
    stamp.write_text(digest.hexdigest())


def _compare(language: Language, say: Say, place: Place) -> None:
    directory = place.of(language)
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch)
        for name in language.generated:
            target = out / name
            (target if (directory / name).is_dir() else target.parent).mkdir(parents=True, exist_ok=True)
        _run_all(language.verbs.get("generate", ()), language, say, place, out)
        wanted, committed = _contents(out, language.generated), _contents(directory, language.generated)
    stale = sorted(name for name in wanted.keys() | committed.keys() if wanted.get(name) != committed.get(name))
    if stale:
        raise VerbFailed(f"stale: run `python -m tools.clients generate {language.name}` and commit: {', '.join(stale)}")
    say(f"{len(wanted)} generated files of {language.name} are fresh")


def _contents(base: Path, names: tuple[str, ...]) -> dict[str, bytes]:
    found = (path for name in names for path in _below(base / name))
    return {path.relative_to(base).as_posix(): path.read_bytes() for path in found}


def _below(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from (inner for inner in path.rglob("*") if inner.is_file())
    elif path.exists():
        yield path
