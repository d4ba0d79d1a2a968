"""Every command with pipes: what it prints, and its exit code."""

import asyncio
import json
import sys
from collections.abc import Awaitable
from pathlib import Path

import pytest

from perdure import Client, Context, Definition, Failure, Run, Woken
from tests.cli.conftest import Command, Finished

FILE = """
workflow_type: note
version: "1"
steps:
  transcribe: {needs: [input], retry: {max_attempts: 1}}
  choice: {after: [transcribe], wait: {any_of: [{signal: choose}]}}
  publish: {needs: [transcribe, choice]}
"""


def note() -> Definition:
    definition = Definition("note", version="1")

    @definition.step()
    async def transcribe(ctx: Context[None], input: dict[str, int]) -> dict[str, int]:
        if input.get("bad"):
            raise Failure("asr.bad", "no voice", details={"minute": 3}, non_retryable=True)
        ctx.frame("la ")
        ctx.frame("la")
        return input

    definition.wait("choice", after=transcribe, signal="choose", payload=int)

    @definition.step()
    async def publish(ctx: Context[None], transcribe: dict[str, int], choice: Woken[int]) -> dict[str, int]:
        return {**transcribe, "choice": choice.value or 0}

    return definition


async def test_the_life_of_a_workflow(perdure: Command, perdure_process: Command, client: Client) -> None:
    async with client.worker(note()):
        started = await perdure("start", "note", "n-1", "--input", '{"big": 9007199254740993}', "--label", "tenant=acme")
        assert (started.code, started.out) == (0, "note/n-1 started (round 1)\n")
        again = await perdure("start", "note", "n-1", "--input", "-", "--json", stdin='{"big":9007199254740993}\n')
        assert json.loads(again.out)["created"] is False
        sent = await perdure("signal", "note", "n-1", "choose", "--payload", "7", "--id", "s-1")
        assert (sent.code, sent.out.startswith("stored")) == (0, True)
        result = await perdure_process("result", "note", "n-1")
        assert (result.code, json.loads(result.out)) == (0, {"big": 9007199254740993, "choice": 7})
        as_json = await perdure("result", "note", "n-1", "--json")
        assert json.loads(as_json.out)["state"] == "COMPLETED"
        duplicate = await perdure("signal", "note", "n-1", "choose", "--payload", "7", "--id", "s-1", "--json")
        assert json.loads(duplicate.out)["duplicate"] is True
        shown = await perdure("show", "note", "n-1")
        assert "COMPLETED" in shown.out
        assert "tenant=acme" in shown.out
        assert "transcribe" in shown.out
        shown = await perdure("show", "note", "n-1", "--json")
        assert json.loads(shown.out)["state"] == "STATE_COMPLETED"


async def test_watch_without_a_terminal_is_a_line_per_event(perdure_process: Command, perdure: Command, client: Client) -> None:
    async with client.worker(note()):
        run = await client.start("note", key="n", input={"a": 1})
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(_text(perdure_process("watch", "note", "n")))
            group.create_task(_choose(run))
        lines = watching.result().splitlines()
    assert lines[-1] == "COMPLETED"
    assert not any("\x1b" in line for line in lines)
    after = await perdure("watch", "note", "n", "--json")
    events = [json.loads(line) for line in after.out.splitlines()]
    assert [event["event"] for event in events] == ["snapshot", "frame", "frame", "end"]
    assert all(event["resumeToken"] for event in events)


async def _choose(run: Run) -> None:
    async for event in run.watch():
        if event.waits_for("choose"):
            await run.signal("choose", 1)


async def _text(command: Awaitable[Finished]) -> str:
    return (await command).out


async def test_an_end_that_is_not_well_is_exit_code_1(perdure: Command, client: Client) -> None:
    async with client.worker(note()):
        started = await perdure("start", "note", "bad", "--input", '{"bad": 1}', "--wait")
        assert started.code == 1
        assert "asr.bad: no voice" in started.err
        result = await perdure("result", "note", "bad", "--json")
        assert result.code == 1
        told = json.loads(result.out)
        assert (told["state"], told["failure"]["type"]) == ("FAILED", "asr.bad")
        assert (await perdure("watch", "note", "bad")).code == 1


async def test_cancel_and_list(perdure: Command, client: Client) -> None:
    await client.definitions.register(note(), activate=True)
    for number in range(3):
        await client.start("note", key=f"n-{number}", input={"a": 1}, labels={"tenant": "acme"})
    cancelled = await perdure("cancel", "note", "n-0", "--reason", "no need")
    assert (cancelled.code, cancelled.out) == (0, "note/n-0 is CANCELLED\n")
    result = await perdure("result", "note", "n-0")
    assert (result.code, "no need" in result.err) == (1, True)
    listed = await perdure("list", "note", "--state", "running", "--label", "tenant=acme", "--json")
    assert sorted(json.loads(line)["workflow"]["businessKey"] for line in listed.out.splitlines()) == ["n-1", "n-2"]
    table = await perdure("list", "--limit", "2")
    assert len(table.out.splitlines()) == 3
    assert "--limit" in table.err
    none = await perdure("list", "nothing")
    assert (none.code, none.out, none.err) == (0, "", "no workflow matches\n")


async def test_definitions_from_file_to_server_and_back(perdure: Command, client: Client, tmp_path: Path) -> None:
    file = tmp_path / "note.yaml"
    file.write_text(FILE)
    checked = await perdure("definitions", "lint", "note.yaml")
    assert (checked.code, "valid, fingerprint" in checked.out) == (0, True)
    offline = await perdure("definitions", "lint", "--offline", "note.yaml")
    assert (offline.code, offline.out) == (0, "note.yaml: no fault found without a server\n")
    applied = await perdure("definitions", "apply", "note.yaml")
    assert "registered, not active" in applied.out
    assert "--activate" in applied.err
    applied = await perdure("definitions", "apply", "note.yaml", "--activate", "--json")
    told = json.loads(applied.out)
    assert (told["active"], told["created"]) == (True, False)
    shown = await perdure("definitions", "show", "note")
    (tmp_path / "again.yaml").write_text(shown.out)
    again = await perdure("definitions", "apply", "again.yaml", "--json")
    assert json.loads(again.out)["fingerprint"] == told["fingerprint"]
    # What the file says and what Python says is one definition: a worker of either serves the other.
    assert (await client.definitions.register(note())).fingerprint == told["fingerprint"]
    listed = await perdure("definitions", "list")
    assert "note" in listed.out
    assert "yes" in listed.out
    activated = await perdure("definitions", "activate", "note", told["fingerprint"])
    assert activated.out.endswith("is active\n")


async def test_every_fault_of_a_file_is_told(perdure: Command, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("workflow_type: a\nsteps:\n  x: {after: [y], attempt_timeout: 30}\n  y: {after: [x], colour: red}\n")
    linted = await perdure("definitions", "lint", "bad.yaml")
    assert linted.code == 4
    assert "steps.x.attempt_timeout" in linted.err
    assert "steps.y.colour" in linted.err
    as_json = await perdure("definitions", "lint", "bad.yaml", "--json")
    assert {violation["field"] for violation in json.loads(as_json.err)["error"]["violations"]} == {
        "steps.x.attempt_timeout",
        "steps.y.colour",
    }
    assert (await perdure("definitions", "lint", "missing.yaml")).code == 2


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["show", "note", "nobody"], 5, "perdure list"),
        (["start", "nothing", "k"], 5, "perdure definitions apply FILE --activate"),
        (["start", "note", "k", "--input", "text"], 2, "Text needs its own quotes"),
        (["start", "note", "k", "--input", "NaN"], 2, "not JSON"),
        (["start", "note", "k", "--input", "@missing.json"], 2, "cannot read missing.json"),
        (["start", "note", "k", "--label", "x"], 2, "not name=value"),
        (["start", "note", "k", "--delay", "10"], 2, "such as 30s"),
        (["start", "note", ""], 4, "business_key"),
        (["signal", "note", "k"], 2, "TYPE KEY NAME"),
        (["signal", "--wake-token", "nonsense", "go"], 4, "WAKE_TOKEN_INVALID"),
        (["nonsense"], 2, "No such command"),
    ],
)
async def test_errors_say_what_to_do(perdure: Command, arguments: list[str], code: int, said: str) -> None:
    finished = await perdure(*arguments)
    assert (finished.code, finished.out) == (code, "")
    assert said in finished.err
    assert "Traceback" not in finished.err


async def test_without_a_server_the_exit_code_is_3_and_says_how_to_start_one(perdure_process: Command, perdure: Command) -> None:
    finished = await perdure_process("list", "--address", "127.0.0.1:9")
    assert finished.code == 3
    assert "perdure dev" in finished.err
    as_json = await perdure("list", "--address", "127.0.0.1:9", "--json")
    assert "127.0.0.1:9" in json.loads(as_json.err)["error"]["message"]


async def test_result_waits_no_longer_than_it_is_told(perdure: Command, client: Client) -> None:
    await client.definitions.register(note(), activate=True)
    await client.start("note", key="n", input={"a": 1})
    finished = await perdure("result", "note", "n", "--timeout", "100ms")
    assert finished.code == 3
    assert "RUNNING" in finished.err


async def test_namespaces_are_apart(perdure: Command, client: Client) -> None:
    await client.definitions.register(note(), activate=True)
    await client.start("note", key="n", input={"a": 1})
    assert (await perdure("show", "note", "n", "--namespace", "other")).code == 5
    assert (await perdure("show", "note", "n", settings={"PERDURE_NAMESPACE": "other"})).code == 5


async def test_help_names_every_command_and_the_environment(perdure: Command, perdure_process: Command) -> None:
    finished = await perdure("--help")
    for name in (
        *("start", "signal", "watch", "result", "show", "list", "why", "cancel", "pause", "resume", "resolve", "replay", "terminate"),
        *("delete", "definitions", "dev", "serve", "PERDURE_ADDRESS"),
    ):
        assert name in finished.out
    assert (await perdure_process("--version")).out.startswith("perdure, version ")


async def test_a_pipe_that_closes_early_is_no_error(perdure: Command, client: Client, address: str) -> None:
    await client.definitions.register(note(), activate=True)
    for number in range(30):
        await client.start("note", key=f"n-{number}", input={"a": 1})
    process = await asyncio.create_subprocess_shell(
        f"{sys.executable} -m perdure list --json --address {address} | head -n 1",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert json.loads(out)["workflow"]["workflowType"] == "note"
    assert err == b""
