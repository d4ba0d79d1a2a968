"""`perdure definitions generate`: constants in every language, as golden files that their compilers take."""

import ast
import shutil
import subprocess
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import pytest

from perdure import Client
from perdure.constants import LANGUAGES
from perdure.constants.facts import words_of
from perdure.definition_file import load_definition
from tests.cli.conftest import Command

GOLDEN: Final = Path(__file__).parent / "golden"
SOURCE: Final = GOLDEN / "note.perdure.yaml"
FILES: Final = {"python": "note.py", "go": "note.go", "typescript": "note.ts", "java": "SoundNote.java"}
ROOT: Final = Path(__file__).parents[2]
TSC: Final = ROOT / "clients/typescript/node_modules/.bin/tsc"


def golden(language: str) -> str:
    return (GOLDEN / f"{FILES[language]}.txt").read_text(encoding="utf-8")


def copied(language: str, directory: Path) -> Path:
    path = directory / FILES[language]
    path.write_text(golden(language), encoding="utf-8")
    return path


def accepted(*command: str | Path, directory: Path) -> str:
    """What a compiler says of it, which must be nothing."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not here")
    done = subprocess.run(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.stdout if done.returncode == 0 else f"{done.stdout}\nexit code {done.returncode}"


@pytest.mark.parametrize("language", LANGUAGES)
async def test_constants_are_those_of_the_golden_file(perdure: Command, language: str) -> None:
    """To renew one: `perdure definitions generate note.perdure.yaml --language go --output note.go.txt`, in tests/cli/golden."""
    package = ("--package", "SoundNote") if language == "java" else ()
    made = await perdure("definitions", "generate", str(SOURCE), "--language", language, *package)
    assert (made.code, made.err) == (0, "")
    assert made.out == golden(language)


async def test_fingerprint_and_contracts_are_the_server_s_and_nothing_is_stored(perdure: Command, client: Client) -> None:
    made = await perdure("definitions", "generate", str(SOURCE), "--language", "python")
    assert [stored async for stored in client.definitions.list()] == []
    stored = await client.definitions.register(load_definition(SOURCE))
    assert f'FINGERPRINT: Final = "{stored.fingerprint}"' in made.out
    assert all(contract in made.out for contract in stored.step_contracts.values())
    assert stored.step_contracts.keys() == {"transcribe", "decide", "shorten", "publish_it"}


def test_python_takes_its_constants() -> None:
    names: dict[str, Any] = {}
    exec(compile(ast.parse(golden("python")), "note.py", "exec"), names)
    assert issubclass(names["Step"], StrEnum)
    assert list(names["Step"]) == ["transcribe", "decide", "shorten", "publish_it", "consent"]
    assert names["Signal"].ASR_DONE_2 == "asrDone"
    assert names["Signal"].SIGNAL_42 == "42"
    assert names["Failure"].ASR_QUOTA == "asr.quota"
    assert names["CONTRACTS"][names["Step"].DECIDE]


def test_go_takes_its_constants(tmp_path: Path) -> None:
    path = copied("go", tmp_path)
    assert accepted("gofmt", "-l", "-d", path, directory=tmp_path) == ""
    assert accepted("go", "vet", path, directory=tmp_path) == ""


@pytest.mark.slow
def test_typescript_takes_its_constants(tmp_path: Path) -> None:
    path = copied("typescript", tmp_path)
    assert accepted(TSC, "--noEmit", "--strict", "--target", "es2022", path, directory=tmp_path) == ""


@pytest.mark.slow
def test_java_takes_its_constants(tmp_path: Path) -> None:
    path = copied("java", tmp_path)
    assert accepted("javac", "-Xlint:all", "-Xdoclint:all/protected", "-Werror", "-d", tmp_path, path, directory=tmp_path) == ""


async def test_java_s_class_has_the_file_s_name_and_go_s_package_may_be_given(perdure: Command, tmp_path: Path) -> None:
    await perdure("definitions", "generate", str(SOURCE), "--language", "java", "--output", "Steps.java")
    assert "public final class Steps {" in (tmp_path / "Steps.java").read_text()
    named = await perdure("definitions", "generate", str(SOURCE), "--language", "java", "--package", "com.acme.Note")
    assert "package com.acme;" in named.out
    assert "public final class Note {" in named.out
    assert "package worker" in (await perdure("definitions", "generate", str(SOURCE), "--language", "go", "--package", "worker")).out


async def test_a_stale_file_is_found(perdure: Command, tmp_path: Path) -> None:
    command = ("definitions", "generate", str(SOURCE), "--language", "go", "--output", "note.go")
    missing = await perdure(*command, "--check")
    assert (missing.code, missing.err) == (1, "error: note.go is stale: generate it anew\n")
    assert (await perdure(*command)).code == 0
    assert (await perdure(*command, "--check")).code == 0
    (tmp_path / "note.go").write_text("other")
    assert (await perdure(*command, "--check")).code == 1
    assert (tmp_path / "note.go").read_text() == "other"
    assert "--check compares with --output" in (await perdure("definitions", "generate", str(SOURCE), "--language", "go", "--check")).err


async def test_a_reserved_word_is_named_with_its_place(perdure: Command, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("workflow_type: note\nsteps: {a: , class: {after: a}}\n")
    refused = await perdure("definitions", "lint", "bad.yaml")
    assert refused.code == 4
    assert "definition.steps[1].name: 'class' is a reserved word of Python and Java" in refused.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("asr.done", "asr done"),
        ("asr_done", "asr done"),
        ("asrDone", "asr done"),
        ("ASR-Done", "asr done"),
        ("HTTPServer2", "http server2"),
        ("2fa", "2 fa"),
        ("größe", "gr e"),
        ("日本", ""),
    ],
)
def test_words_of_names(text: str, words: str) -> None:
    assert " ".join(words_of(text)) == words
