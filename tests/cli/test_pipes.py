"""What a shell sees: readers that leave, secrets that stay, one clear sentence when there is no server."""

import asyncio
import json
import os
import sys
from datetime import timedelta

import pytest

from perdure import Client
from tests.cli.conftest import Command
from tests.cli.test_commands import note
from tests.processes import environment

SECRET = "s3cret-token"


@pytest.mark.parametrize("arguments", [("list",), ("list", "-o", "json"), ("count",)])
async def test_a_reader_that_has_left_is_no_error(client: Client, address: str, arguments: tuple[str, ...]) -> None:
    await client.definitions.register(note(), activate=True)
    await client.start("note", key="n", input={"a": 1})
    read, write = os.pipe()
    os.close(read)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "perdure", *arguments, "--address", address),
        stdout=write,
        stderr=asyncio.subprocess.PIPE,
        env=environment(),
    )
    os.close(write)
    _, err = await process.communicate()
    assert (process.returncode, err) == (0, b"")


def give_up_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on a command waits 0.2 s for an address where nobody is."""
    monkeypatch.setattr("perdure.cli.session.CONNECT_TIMEOUT", timedelta(seconds=0.2))


@pytest.mark.parametrize("arguments", [("list",), ("top", "--once"), ("tail", "--for", "5"), ("bench", "--workflows", "1"), ("info",)])
async def test_without_a_server_it_is_one_clear_sentence(
    perdure: Command, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    give_up_soon(monkeypatch)
    finished = await perdure(*arguments, "--address", "127.0.0.1:9")
    assert (finished.code, finished.out) == (3, "")
    assert finished.err.startswith("error: no server at 127.0.0.1:9")
    assert len(finished.err.splitlines()) == 1
    assert "perdure dev" in finished.err


@pytest.mark.parametrize(
    "arguments",
    [("info", "--json"), ("doctor", "--all"), ("workers", "--json"), ("show", "note", "n", "--json"), ("attempts", "note", "n", "--json")],
)
async def test_no_token_is_printed(perdure: Command, client: Client, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    async with client.worker(note()):
        await client.start("note", key="n", input={"a": 1})
        answered = await perdure(*arguments, settings={"PERDURE_TOKEN": SECRET})
        give_up_soon(monkeypatch)
        unanswered = await perdure(*arguments, "--address", "127.0.0.1:9", settings={"PERDURE_TOKEN": SECRET})
    for finished in (answered, unanswered):
        assert SECRET not in finished.out + finished.err
        assert "claimToken" not in finished.out


async def test_errors_for_programs_are_json_whichever_way_it_is_asked(perdure: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    for flags in (("--json",), ("-o", "json"), ("--format", "json")):
        finished = await perdure("show", "note", "nobody", *flags)
        assert (finished.code, finished.out) == (5, "")
        assert json.loads(finished.err)["error"]["reason"] == "WORKFLOW_NOT_FOUND"
    give_up_soon(monkeypatch)
    listed = await perdure("list", "-o", "json", "--address", "127.0.0.1:9")
    assert "127.0.0.1:9" in json.loads(listed.err)["error"]["message"]
