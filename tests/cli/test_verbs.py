"""The verbs of operators by command: schedules, resources, namespaces, batches, purge, redact, files, queues, audit, top, tail."""

import asyncio
import json
import re
from pathlib import Path

import pytest
from click.shell_completion import BashComplete

from perdure import Client, Context, Definition, WorkflowState
from perdure.cli import completion
from perdure.cli.commands import cli
from tests.cli.conftest import Command
from tests.conftest import Eventually

letter = Definition("letter")


@letter.step()
async def write(ctx: Context[None], input: str) -> str:
    ctx.frame("dear ")
    ctx.frame(input)
    ctx.log("written")
    return f"dear {input}"


async def started(client: Client, count: int) -> None:
    await client.definitions.register(letter, activate=True)
    for number in range(count):
        await client.start(letter, key=f"k{number}", input="ann", labels={"tenant": "acme"})


async def test_schedules(perdure: Command, client: Client) -> None:
    await client.definitions.register(letter, activate=True)
    put = ("schedules", "put", "nightly", "letter", "--cron", "0 3 * * *", "--time-zone", "Europe/Berlin", "--input", '"ann"')
    tried = await perdure(*put, "--dry-run")
    assert (tried.code, "would be stored; next: 20" in tried.out) == (0, True)
    assert (await perdure("schedules", "show", "nightly")).code == 5
    assert "is made" in (await perdure(*put, "--overlap", "allow")).out
    assert "is changed" in (await perdure(*put, "--every", "2h")).out
    shown = (await perdure("schedules", "show", "nightly")).out
    assert "0 3 * * * Europe/Berlin; every 2h" in shown
    assert (await perdure("schedules", "pause", "nightly", "--note", "holidays")).out == "schedule nightly rests\n"
    listed = (await perdure("schedules", "list")).out
    assert "holidays" in listed
    assert (await perdure("schedules", "resume", "nightly", "--json")).out == '{"paused": false}\n'
    fired = await perdure("schedules", "trigger", "nightly", "--planned-time", "2030-01-01")
    assert fired.out == "schedule nightly: started letter/nightly@2030-01-01T00:00:00Z\n"
    assert (await perdure("schedules", "delete", "nightly")).code == 2, "nobody can be asked"
    assert (await perdure("schedules", "delete", "nightly", "--yes")).code == 0
    assert (await perdure("schedules", "put", "s", "letter")).code == 2


async def test_resources_and_namespaces(perdure: Command) -> None:
    assert (
        await perdure("resources", "put", "asr", "--capacity", "100", "--rate", "20/1s+5")
    ).out == "resource asr: 100 at once, 20/1s+5\n"
    assert "20/1s+5" in (await perdure("resources", "list")).out
    assert (await perdure("resources", "list", "-o", "name")).out == "asr\n"
    assert "0 of 100" in (await perdure("resources", "show", "asr")).out
    assert "100/1s" in (await perdure("resources", "put", "asr", "--rate", "fast")).err
    assert (await perdure("resources", "delete", "asr", "--yes")).code == 0
    assert (await perdure("resources", "show", "asr")).code == 5
    made = await perdure("namespaces", "put", "acme", "--open-workflows", "10", "--retention", "7d", "--label", "plan=gold")
    assert made.out == "namespace acme is made\n"
    assert json.loads((await perdure("namespaces", "show", "acme", "--json")).out)["limits"] == {"openWorkflows": "10"}
    assert "0/10" in (await perdure("namespaces", "list")).out


async def test_a_batch_asks_counts_and_is_followed(perdure: Command, client: Client, eventually: Eventually) -> None:
    await started(client, 3)
    assert "3 workflows match; nothing was changed" in (await perdure("batches", "start", "cancel", "letter", "--dry-run")).out
    refused = await perdure("batches", "start", "cancel", "letter")
    assert (refused.code, "--yes" in refused.err) == (2, True)
    assert (await perdure("batches", "start", "signal", "letter", "--yes")).code == 2, "which signal?"
    begun = await perdure("batches", "start", "cancel", "letter", "--label", "tenant=acme", "--yes", "--reason", "no need")
    found = re.search(r"batch (\S+) has begun", begun.out)
    assert found is not None

    async def is_done() -> bool:
        return "COMPLETED" in (await perdure("batches", "show", found[1])).out

    await eventually(is_done)
    assert "no need" in (await perdure("batches", "list", "--state", "completed")).out
    assert (await perdure("batches", "stop", found[1])).code == 4
    counted = await perdure("count", "letter", "--by", "state")
    assert counted.out == "3\tCANCELLED\n3\n"
    assert "3 workflows match" in (await perdure("purge", "letter", "--dry-run")).out
    redacted = await perdure("redact", "letter", "k0", "k1", "--kind", "input", "--yes", "--reason", "asked to")
    assert redacted.out == "letter/k0: 1 values are overwritten\nletter/k1: 1 values are overwritten\n"
    assert (await perdure("purge", "letter", "--yes")).code == 0

    async def is_empty() -> bool:
        return (await perdure("count", "letter")).out == "0\n"

    await eventually(is_empty)
    audit = await perdure("audit", "--method", "RedactPayloads", "--method", "StartBatch", "--method", "PurgeWorkflows")
    assert [line.split()[2] for line in audit.out.splitlines()[1:]] == [
        "PurgeWorkflows",
        "RedactPayloads",
        "RedactPayloads",
        "StartBatch",
    ]


async def test_a_workflow_leaves_as_a_file_and_comes_back_paused(perdure: Command, client: Client, tmp_path: Path) -> None:
    await started(client, 1)
    told = await perdure("export", "letter", "k0", "--no-payloads", "--to", "bare.perdure")
    assert "without its values" in told.out
    bare = (tmp_path / "bare.perdure").read_bytes()
    assert (b'"ann"' in bare, b'"payloads":false' in bare.splitlines()[0]) == (False, True)
    assert (await perdure("export", "letter", "k0", "--to", "whole.perdure")).code == 0
    assert (await perdure("import", "whole.perdure")).code == 4, "the key is in use"
    assert "could be imported" in (await perdure("import", "whole.perdure", "--key", "copy", "--dry-run")).out
    assert "letter/copy is imported" in (await perdure("import", "whole.perdure", "--key", "copy")).out
    assert (await client.get(letter, "copy")).phase == "PAUSED"
    await client.run(letter, "k0").cancel()
    assert (await perdure("export", "letter", "k0", "--to", "ended.perdure")).code == 0
    assert "letter/ended is imported; it has ended, CANCELLED" in (await perdure("import", "ended.perdure", "--key", "ended")).out


async def test_what_a_workflow_went_through(perdure: Command, client: Client) -> None:
    await started(client, 1)
    assert "Start a worker that serves letter/write" in (await perdure("why", "letter", "k0")).out
    assert re.search(r"default +letter +write +1", (await perdure("queues")).out)
    async with client.worker(letter, worker_id="w-1"):
        await client.run(letter, "k0").result()
        assert "w-1" in (await perdure("workers")).out
        assert (await perdure("workers", "-o", "name")).out == "w-1\n"
    assert "COMPLETED" in (await perdure("attempts", "letter", "k0")).out
    await client.start(letter, key="k0", input="bob", on_closed="new_round")
    rounds = (await perdure("rounds", "letter", "k0", "-o", "json")).out.splitlines()
    assert [json.loads(line)["workflow"]["round"] for line in rounds] == ["2", "1"]
    assert (await perdure("children", "letter", "k0")).err == "no workflow matches\n"
    piped = await perdure("list", "letter", "-o", "name")
    assert piped.out == "letter k0\n"
    changed = await perdure("update-step", "letter", "k0", "write", "--priority", "9", "--attempt-timeout", "10m", "--reason", "sooner")
    assert (changed.code, changed.out) == (0, "letter/k0: write has other options now\n")
    assert (await perdure("update-step", "letter", "k0", "write")).code == 2


async def test_definitions_rest_move_and_go(perdure: Command, client: Client, tmp_path: Path) -> None:
    await started(client, 1)
    fingerprint = (await client.definitions.get("letter")).fingerprint
    assert (await perdure("definitions", "pause", "letter", "--reason", "freeze")).code == 0
    told = (await perdure("why", "letter", "k0")).out
    assert "perdure definitions resume letter" in told
    assert "freeze" in told
    assert (await perdure("definitions", "resume", "letter")).out == "letter goes on\n"
    assert (await perdure("definitions", "delete", "letter", fingerprint, "--yes")).code == 4
    other = Definition("letter", version="2")
    other.step()(write.function)
    second = await client.definitions.register(other)
    moved = await perdure("definitions", "migrate", "letter", "--from", fingerprint, "--to", second.fingerprint, "--dry-run")
    assert moved.out == "1 match, 1 could be moved, 0 would lose something\n"
    (tmp_path / "letter.yaml").write_text("workflow_type: letter\nsteps:\n  write: {needs: [input]}\n")
    assert (await perdure("definitions", "test", "letter.yaml", "--input", "1")).out.splitlines()[-1].startswith("COMPLETED after")


async def test_top_tells_once_without_a_terminal(perdure: Command, client: Client) -> None:
    await started(client, 2)
    await client.resources.put("asr", capacity=5)
    shown = (await perdure("top")).out
    assert "2 open" in shown
    assert "queued 2" in shown
    assert re.search(r"default +letter +write +2", shown)
    assert re.search(r"asr +0 +5", shown)
    told = json.loads((await perdure("top", "--json")).out)
    assert (told["open"], told["phases"]["QUEUED"], told["queues"][0]["step"]) == (2, 2, "write")


async def test_tail_follows_changes_or_what_activities_say(perdure: Command, client: Client) -> None:
    await started(client, 1)
    lines = (await perdure("tail", "letter", "--existing", "--for", "0.5")).out
    assert "letter/k0 RUNNING" in lines
    told = (await perdure("tail", "--existing", "--json", "--for", "0.5")).out.splitlines()
    assert [json.loads(line)["event"] for line in told] == ["changed", "existingSent"]
    async with client.worker(letter):
        await client.run(letter, "k0").result()
        said = await perdure("tail", "letter", "--frames", "k0")
    assert said.out == "write: dear ann\nwrite: written\n"
    assert (await perdure("tail", "--frames", "k0")).code == 2


async def test_filters_say_how_times_are_written(perdure: Command, client: Client) -> None:
    await started(client, 1)
    assert (await perdure("list", "--started-after", "90m", "-o", "name")).out == "letter k0\n"
    assert (await perdure("list", "--started-before", "90m", "-o", "name")).out == ""
    wrong = await perdure("list", "--started-after", "yesterday")
    assert (wrong.code, "such as 90m" in wrong.err) == (2, True)
    assert (await perdure("list", "--ended-after", "2030-01-31", "--state", "completed")).code == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
async def test_a_shell_gets_its_script(perdure: Command, shell: str) -> None:
    script = await perdure("completion", shell)
    assert (script.code, "_PERDURE_COMPLETE" in script.out) == (0, True)


async def test_types_and_keys_are_completed_from_the_server(client: Client, address: str) -> None:
    await started(client, 2)
    shell = BashComplete(cli, {}, "perdure", completion.VARIABLE)

    async def words(*typed: str, where: str = address) -> list[str]:
        *before, incomplete = typed
        found = await asyncio.to_thread(shell.get_completions, [before[0], "--address", where, *before[1:]], incomplete)
        return sorted(item.value for item in found)

    assert await words("show", "l") == ["letter"]
    assert await words("show", "letter", "k") == ["k0", "k1"]
    assert await words("list", "l") == ["letter"]
    assert await words("show", "l", where="127.0.0.1:9") == []


async def test_info_and_states(perdure: Command, client: Client) -> None:
    shown = (await perdure("info")).out
    assert "lost with the process" in shown
    assert WorkflowState.RUNNING == "RUNNING"
    assert json.loads((await perdure("info", "-o", "json")).out)["store"]["backend"]["name"] == "memory"
