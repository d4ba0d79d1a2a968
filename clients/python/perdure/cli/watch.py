"""perdure watch: live in a terminal, a line per event otherwise."""

import asyncio
from collections import deque

import click
from google.protobuf import json_format
from google.protobuf.message import Message
from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from perdure.cli.options import json_option, key_argument, type_argument
from perdure.cli.output import COLOURS, coloured, console, echo_json, shortened, steps_table
from perdure.cli.session import NOT_COMPLETED, connected
from perdure.client import Client
from perdure.events import Change, End, Event, Frame, FramesReset, Gap, Snapshot
from perdure.run import Run
from perdure.view import Workflow, WorkflowState
from perdure.watching import Watching

_LOG_LINES = 12
_TEXT_LENGTH = 400


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
    """Watch a workflow until its end. Exit code 1 if it did not end well; --json prints one JSON object a line."""
    run = client.run(workflow_type, key)
    events = run.watch(frames=frames, follow=follow, resume_token=resume_token)
    if as_json:
        return await _lines(events, as_json=True)
    if plain or not console().is_terminal:
        return await _lines(events, as_json=False)
    return await _live(run, events)


async def _lines(events: Watching, *, as_json: bool) -> int:
    code = 0
    async for event in events:
        if as_json:
            echo_json(event_json(event))
        else:
            click.echo(str(event))
        code = _code(event, code)
    return code


async def _live(run: Run, events: Watching) -> int:
    board = Board(f"{run.ref.workflow_type}/{run.key}")
    code = 0
    with Live(board.render(), console=console(), auto_refresh=False) as live:
        async for event in events:
            board.take(event)
            if isinstance(event, Change):
                # A change tells what moved, not all that a row shows: the row is read anew.
                board.workflow = await run.get()
            live.update(board.render(), refresh=True)
            code = _code(event, code)
            await asyncio.sleep(0)
    return code


class Board:
    """What a live watch shows: steps, running texts, the last events."""

    def __init__(self, name: str) -> None:
        self.workflow: Workflow | None = None
        self._name = name
        self._texts: dict[tuple[str, int], str] = {}
        self._log: deque[str] = deque(maxlen=_LOG_LINES)

    def take(self, event: Event) -> None:
        """Notes one event."""
        if isinstance(event, Snapshot):
            self.workflow = event.workflow
            self._texts.clear()
        elif isinstance(event, Frame) and event.kind == "TEXT":
            place = (event.step, event.claim_no)
            self._texts[place] = self._texts.get(place, "") + event.text
            return
        elif isinstance(event, Frame) and event.kind == "PROGRESS":
            self._texts[event.step, event.claim_no] = event.text
            return
        elif isinstance(event, FramesReset):
            self._texts = {place: text for place, text in self._texts.items() if place[0] != event.step or place[1] > event.claim_no}
        self._log.append(str(event))

    def render(self) -> RenderableType:
        """The board as it is now."""
        parts: list[RenderableType] = []
        if self.workflow is None:
            parts.append(Text(f"{self._name}: connecting", style=COLOURS["BLOCKED"]))
        else:
            head = Text.assemble((self._name, "bold"), " ", coloured(self.workflow.state), f" round {self.workflow.round}")
            parts += [head, steps_table(self.workflow.steps.values())]
        parts += [Text(f"{step}: {shortened(text[-_TEXT_LENGTH:], _TEXT_LENGTH)}") for (step, _), text in self._texts.items()]
        parts.append(Text("\n".join(self._log), style=COLOURS["BLOCKED"]))
        return Group(*parts)


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
