"""perdure watch: a graph with bars that redraws in place in a terminal, a line per event otherwise."""

import asyncio
import time

import click
from google.protobuf import json_format
from google.protobuf.message import Message
from rich.console import Group
from rich.live import Live
from rich.text import Text

from perdure import limits
from perdure.cli.board import Board
from perdure.cli.options import json_option, key_argument, type_argument
from perdure.cli.output import console, echo_json
from perdure.cli.session import NOT_COMPLETED, connected
from perdure.client import Client
from perdure.errors import PerdureError
from perdure.events import Change, End, Event, Frame, FramesReset, Gap, Snapshot
from perdure.run import Run
from perdure.view import WorkflowState
from perdure.watching import Watching


@click.command()
@type_argument
@key_argument
@click.option("--frames/--no-frames", default=True, help="Also progress of activities.")
@click.option("--follow", is_flag=True, help="Go on into the next rounds.")
@click.option("--resume-token", default="", help="Go on behind the event with this token (see --json).")
@click.option("--plain", is_flag=True, help="A line per event, in a terminal too.")
@json_option
@connected
async def watch(
    client: Client, *, workflow_type: str, key: str, frames: bool, follow: bool, resume_token: str, plain: bool, as_json: bool
) -> int:
    """Watch a workflow until its end: its steps as a graph, with progress. Exit code 1 if it did not end well.

    Without a terminal, or with --plain, it is a line per event; with --json one JSON object a line.
    """
    run = client.run(workflow_type, key)
    events = run.watch(frames=frames, follow=follow, resume_token=resume_token)
    if as_json:
        return await _lines(events, as_json=True)
    if plain or not console().is_terminal:
        return await _lines(events, as_json=False)
    return await _live(client, run, events)


async def _lines(events: Watching, *, as_json: bool) -> int:
    code = 0
    async for event in events:
        if as_json:
            echo_json(event_json(event))
        else:
            click.echo(str(event))
        code = _code(event, code)
    return code


async def _live(client: Client, run: Run, events: Watching) -> int:
    screen = console()
    board = Board(f"{run.ref.workflow_type}/{run.key}")
    code = 0
    with Live(Text(""), console=screen, auto_refresh=False, vertical_overflow="crop") as live:
        painter = Painter(client, run, board, live)
        drawing = asyncio.create_task(painter.paint())
        try:
            async for event in events:
                board.take(event)
                painter.news(event)
                code = _code(event, code)
        finally:
            drawing.cancel()
            await asyncio.gather(drawing, return_exceptions=True)
        await painter.look()
        painter.draw()
    return code


class Painter:
    """Redraws when there is news, a few times a second at most; asks for what events do not tell: order of steps and phases."""

    def __init__(self, client: Client, run: Run, board: Board, live: Live) -> None:
        self._client = client
        self._run = run
        self._board = board
        self._live = live
        self._changed = asyncio.Event()
        self._arranged = ""
        self._stale = False

    def news(self, event: Event) -> None:
        """Something is to be shown."""
        self._stale = self._stale or isinstance(event, Change)
        self._changed.set()

    async def paint(self) -> None:
        """Draws until it is cancelled."""
        looked = time.monotonic()
        while True:
            try:
                async with asyncio.timeout(limits.REDRAW_IDLE_TIMEOUT):
                    await self._changed.wait()
            except TimeoutError:
                pass  # the times on the screen go on
            self._changed.clear()
            await self._arrange()
            if self._stale and time.monotonic() - looked > limits.REDRAW_IDLE_TIMEOUT:
                await self.look()
                looked = time.monotonic()
            self.draw()
            await asyncio.sleep(limits.REDRAW_INTERVAL)

    def draw(self) -> None:
        """Draws once."""
        width, height = self._live.console.size
        self._live.update(Group(*self._board.lines(width, height - 1)), refresh=True)

    async def look(self) -> None:
        """Reads phases and times, which changes do not tell."""
        self._stale = False
        try:
            self._board.show(await self._run.get(with_values=False))
        except PerdureError:
            return  # the watch itself tells what is wrong

    async def _arrange(self) -> None:
        workflow = self._board.workflow
        if workflow is None or workflow.definition_fingerprint == self._arranged:
            return
        self._arranged = workflow.definition_fingerprint
        try:
            stored = await self._client.definitions.get(workflow.workflow_type, workflow.definition_fingerprint)
        except PerdureError:
            return  # without it, the steps are a list
        self._board.arrange({step.name: tuple(step.depends_on) for step in stored.message.definition.steps})


def event_json(event: Event) -> dict[str, object]:
    """An event for programs: its kind, its token, and the wire's own message in canonical protobuf JSON."""
    message: Message | None = None
    kind = ""
    match event:
        case Snapshot():
            kind, message = "snapshot", event.workflow.message
        case Change():
            kind, message = "change", event.message
        case Frame():
            kind, message = "frame", event.message
        case End():
            kind, message = "end", event.message
        case FramesReset():
            return {"event": "framesReset", "resumeToken": event.resume_token, "step": event.step, "claimNo": event.claim_no}
        case Gap():
            gap = {"changes": event.changes, "frames": event.frames, "reason": event.reason}
            return {"event": "gap", "resumeToken": event.resume_token, **gap}
        case _:
            return {"event": type(event).__name__, "resumeToken": event.resume_token}
    return {"event": kind, "resumeToken": event.resume_token, kind: json_format.MessageToDict(message)}


def _code(event: Event, before: int) -> int:
    if not isinstance(event, End):
        return before
    return 0 if event.state is WorkflowState.COMPLETED else NOT_COMPLETED
