"""`perdure watch` and tables in a real pseudo-terminal."""

import re
from collections.abc import Awaitable, Callable

from perdure import Client
from tests.cli.conftest import Terminal
from tests.cli.test_commands import note

Open = Callable[..., Awaitable[Terminal]]


async def test_watch_is_live_and_ends_with_the_workflow(terminal: Open, client: Client) -> None:
    async with client.worker(note()):
        run = await client.start("note", key="n", input={"a": 1})
        live = await terminal("watch", "note", "n")
        await live.until("waits for choose")
        assert "\x1b[" in live.screen  # it draws, it does not scroll
        await run.signal("choose", 1)
        await live.until("publish COMPLETED")
        assert await live.exit_code() == 0
        await live.until("COMPLETED")


async def test_ctrl_c_leaves_a_watch_with_130_and_the_cursor_shown(terminal: Open, client: Client) -> None:
    await client.definitions.register(note(), activate=True)
    await client.start("note", key="n", input={"a": 1})
    live = await terminal("watch", "note", "n")
    await live.until("RUNNING")
    live.type("\x03")
    assert await live.exit_code() == 130
    assert live.screen.rstrip().endswith("\x1b[?25h") or "\x1b[?25h" in live.screen
    assert "Traceback" not in live.screen
    assert (await client.get("note", "n")).state == "RUNNING"  # a watcher's fate is not the workflow's


async def test_plain_lines_on_request(terminal: Open, client: Client) -> None:
    async with client.worker(note()):
        await client.start("note", key="n", input={"bad": 1})
        plain = await terminal("watch", "note", "n", "--plain")
        assert await plain.exit_code() == 1
        await plain.until("FAILED: asr.bad: no voice")


async def test_tables_have_colour_in_a_terminal_only(terminal: Open, client: Client) -> None:
    await client.definitions.register(note(), activate=True)
    await client.start("note", key="n", input={"a": 1})
    shown = await terminal("list")
    assert await shown.exit_code() == 0
    await shown.until("\x1b[36mRUNNING")


async def test_top_redraws_until_it_is_interrupted(terminal: Open, client: Client) -> None:
    await client.definitions.register(note(), activate=True)
    await client.start("note", key="n", input={"a": 1})
    live = await terminal("top", "--interval", "100ms")
    await live.until("1 open")
    await client.start("note", key="m", input={"a": 1})
    await live.until("2 open")
    live.type("\x03")
    assert await live.exit_code() == 130
    assert "\x1b[?1049l" in live.screen  # what was on the screen before is there again
    assert "Traceback" not in live.screen


async def test_a_narrow_terminal_without_colour_still_shows_the_graph(terminal: Open, client: Client) -> None:
    async with client.worker(note()):
        run = await client.start("note", key="n", input={"a": 1})
        live = await terminal("watch", "note", "n", settings={"COLUMNS": "40", "LINES": "12", "NO_COLOR": "1"})
        await live.until("1/3 steps")
        await live.until("transcribe")
        await run.signal("choose", 1)
        assert await live.exit_code() == 0
        await live.until("3/3 steps")
    assert re.search(r"\x1b\[[0-9;]*3[0-9]m", live.screen) is None


async def test_what_cannot_be_undone_is_asked_first(terminal: Open, client: Client) -> None:
    await client.definitions.register(note(), activate=True)
    await client.start("note", key="n", input={"a": 1})
    asked = await terminal("terminate", "note", "n")
    await asked.until("without its hooks? [y/N]")
    asked.type("n\n")
    assert await asked.exit_code() == 1
    assert (await client.get("note", "n")).state == "RUNNING"
