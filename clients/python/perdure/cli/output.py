"""How values look: plain text for pipes, tables for terminals, JSON for programs."""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import click
from google.protobuf import json_format
from google.protobuf.message import Message
from rich.console import Console
from rich.table import Table
from rich.text import Text

from perdure import payloads
from perdure.v1 import payload_pb2
from perdure.view import StepView
from perdure.waits import WAIT_RESULT_TYPE, parse_wait_result

COLOURS = {
    "COMPLETED": "green",
    "RUNNING": "cyan",
    "EXECUTING": "cyan",
    "WAITING": "blue",
    "READY": "yellow",
    "QUEUED": "yellow",
    "BACKOFF": "yellow",
    "FAILING": "red",
    "FAILED": "red",
    "HELD": "red",
    "CANCELLING": "magenta",
    "CANCELLED": "magenta",
    "TERMINATED": "magenta",
    "BLOCKED": "bright_black",
    "SKIPPED": "bright_black",
}


class Screen(Console):
    """A console whose reader may leave: `perdure list | head` is no error."""

    def on_broken_pipe(self) -> None:
        """Leaves it to the command, as for what it prints by itself."""
        raise BrokenPipeError


def console() -> Console:
    """The terminal; plain and wide where there is none."""
    found = Screen(highlight=False)
    return found if found.is_terminal else Screen(highlight=False, width=200)


def coloured(state: str) -> Text:
    """A state in its colour."""
    return Text(state, style=COLOURS.get(state, ""))


def message_json(message: Message, *, indent: int | None = None) -> str:
    """A message of the wire in canonical protobuf JSON, on one line unless indented."""
    return json.dumps(json_format.MessageToDict(message), ensure_ascii=False, indent=indent)


def echo_json(value: object) -> None:
    """One JSON value on one line."""
    click.echo(json.dumps(value, ensure_ascii=False))


def payload_text(payload: payload_pb2.Payload | None) -> str:
    """A value for people: JSON as it was written, sizes for the rest."""
    if payload is None or payload.WhichOneof("data") is None:
        return ""
    return payload.json if payload.WhichOneof("data") == "json" else str(payloads.inline(payload))


def shortened(text: str, length: int) -> str:
    """The text on one line, cut with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"


def ago(time: datetime | None) -> str:
    """How long ago, such as `3m ago`; future times as `in 3m`."""
    if time is None:
        return ""
    distance = datetime.now(UTC) - time
    seconds = abs(distance.total_seconds())
    units: Sequence[tuple[float, str]] = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))
    size, unit = next(((size, unit) for size, unit in units if seconds >= size), (1, "s"))
    told = f"{int(seconds // size)}{unit}"
    return f"{told} ago" if distance >= timedelta() else f"in {told}"


def due(time: datetime | None) -> str:
    """When something is to happen: `in 3m`, or `now` for what is due and only not done yet."""
    told = ago(time)
    return told if told.startswith("in ") and told != "in 0s" else "now" if told else ""


def steps_table(steps: Iterable[StepView]) -> Table:
    """Steps of a workflow, one a row."""
    table = Table(box=None, header_style="bold")
    for title in ("STEP", "STATE", "ATTEMPT", "WORKER", "ABOUT"):
        table.add_column(title, overflow="fold")
    for step in steps:
        table.add_row(step.name, coloured(step.state), str(step.attempt or ""), step.worker_id, about(step))
    return table


def about(step: StepView) -> str:
    """What a step waits for, failed with, or gave."""
    parts: list[str] = []
    if step.waits_for:
        parts.append(f"waits for {' or '.join(step.waits_for)}")
    if step.next_time is not None:
        parts.append(f"{'times out' if step.state == 'RUNNING' else 'next'} {due(step.next_time)}")
    if step.failure is not None:
        parts.append(f"failed: {step.failure}")
    if step.phase_reason:
        parts.append(step.phase_reason)
    if step.message.HasField("output"):
        parts.append(_output_text(step.message.output))
    return shortened(", ".join(parts), 120)


def _output_text(output: payload_pb2.Payload) -> str:
    """What a step gave; of a wait, what ended it and what the signals carried."""
    if output.content_type != WAIT_RESULT_TYPE or output.WhichOneof("data") != "json":
        return payload_text(output)
    result = parse_wait_result(output)
    carried = [payload_text(wake.payload) for wake in result.wakes if wake.HasField("payload")]
    return f"ended by {result.condition}{': ' if carried else ''}{', '.join(carried)}"


def facts(pairs: Iterable[tuple[str, Any]]) -> Table:
    """Names and values, without those that are empty."""
    table = Table.grid(padding=(0, 2))
    for name, value in pairs:
        if value:
            table.add_row(Text(name, style="bold"), value if isinstance(value, Text) else str(value))
    return table
