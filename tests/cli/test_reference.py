"""docs/cli.md: its examples run, in their order; its reference is what the commands say; every command is in it."""

import re
import shlex
from pathlib import Path

import pytest

from perdure import Client, Context, Definition, Woken
from perdure.cli.commands import OWN
from perdure.cli.exits import EXITS
from perdure.cli.session import EXIT_CODES
from tests.cli.conftest import Command
from tools import cli_reference

FILE = """
workflow_type: letter
version: "1"
steps:
  write: {needs: [input]}
  approval: {after: [write], wait: {any_of: [{signal: approve}]}}
  send: {needs: [write, approval]}
"""

letter = Definition("letter", version="1")


@letter.step()
async def write(ctx: Context[None], input: str) -> str:
    return f"dear {input}"


approval = letter.wait("approval", after=write, signal="approve", payload=bool)


@letter.step()
async def send(ctx: Context[None], write: str, approval: Woken[bool]) -> str:
    return write


def examples() -> list[tuple[str, int]]:
    """Each example with the exit code that it should have."""
    text = cli_reference.PAGE.read_text(encoding="utf-8")
    lines = [line for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    assert all(line.startswith("$ perdure ") for line in lines)
    found = [re.fullmatch(r"\$ perdure (.*?)(?:\s+# exit (\d+))?", line) for line in lines]
    return [(match[1], int(match[2] or 0)) for match in found if match is not None]


def test_the_reference_is_fresh() -> None:
    assert cli_reference.PAGE.read_text(encoding="utf-8") == cli_reference.page()


def test_every_command_has_an_example_or_is_told_about() -> None:
    text = cli_reference.PAGE.read_text(encoding="utf-8").partition(cli_reference.BEGIN)[0]
    used = set(re.findall(r"perdure ([a-z-]+)", text))
    assert OWN.keys() - used <= {"rounds", "children", "resolve", "update-step"}


def test_every_exit_code_is_told() -> None:
    assert set(EXIT_CODES.values()) <= EXITS.keys()


async def test_the_examples_run(perdure: Command, client: Client, tmp_path: Path) -> None:
    (tmp_path / "letter.yaml").write_text(FILE)
    assert len(examples()) > 35
    async with client.worker(letter, register=False):
        for line, code in examples():
            finished = await perdure(*shlex.split(line))
            assert finished.code == code, f"perdure {line}: {finished.err or finished.out}"
            assert "Traceback" not in finished.err


async def test_help_has_the_exit_codes(perdure: Command) -> None:
    told = (await perdure("--help")).out
    for code, meaning in EXITS.items():
        assert re.search(rf"^ +{code}  {re.escape(meaning[:20])}", told, re.MULTILINE), code


@pytest.mark.parametrize("name", OWN)
async def test_help_shows_no_mark_of_its_own_layout(perdure: Command, name: str) -> None:
    assert "\\b" not in (await perdure(name, "--help")).out


@pytest.mark.parametrize("flags", [(), ("--json",)])
async def test_bench_tells_rate_and_times(perdure: Command, flags: tuple[str, ...]) -> None:
    finished = await perdure("bench", "--workflows", "10", "--in-flight", "5", "--warm-up", "0", *flags)
    assert finished.code == 0
    assert ('"workflowsPerSecond"' if flags else "workflows/s") in finished.out
