"""`perdure watch` and tables in a real pseudo-terminal."""

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
