"""perdure tail: what changes in a namespace, or what the activities of one workflow say."""

import asyncio
from datetime import datetime

import click
from rich.text import Text

from perdure.cli.filters import filter_options
from perdure.cli.options import json_option
from perdure.cli.output import coloured, console, echo_json, message_json
from perdure.cli.session import connected
from perdure.client import Client
from perdure.events import Event, Frame, FramesReset
from perdure.filtering import Filter
from perdure.many_events import ExistingSent, ManyEvent, StartOver, WorkflowChanged, WorkflowRemoved
from perdure.view import Workflow

HELP = """Follow what changes: a line per change of a workflow that matches, until Ctrl-C.

\b
perdure tail                            everything that is open
perdure tail order --label tenant=acme  open orders of one tenant
perdure tail note --frames note-42      what activities of note/note-42 say
"""


@click.command(help=HELP)
@filter_options
@click.option("--existing", is_flag=True, help="Also what there is at the beginning.")
@click.option("--frames", "frames_of", default="", metavar="KEY", help="Instead: text, progress and log lines of this workflow of TYPE.")
@click.option("--for", "seconds", type=click.FloatRange(0), help="Stop after so many seconds; default never.")
@json_option
@connected
async def tail(client: Client, *, where: Filter, existing: bool, frames_of: str, seconds: float | None, as_json: bool) -> None:
    """Prints changes as they come, or the frames of one workflow."""
    try:
        async with asyncio.timeout(seconds):
            if frames_of:
                await _frames(client, where, frames_of, as_json=as_json)
            else:
                await _changes(client, where, existing=existing, as_json=as_json)
    except TimeoutError:
        return


async def _changes(client: Client, where: Filter, *, existing: bool, as_json: bool) -> None:
    async for event in client.watch_many(where, skip_existing=not existing):
        if as_json:
            _echo_event(event)
        elif isinstance(event, WorkflowChanged):
            console().print(_line(event.workflow))
        elif isinstance(event, WorkflowRemoved):
            name = f"{event.ref.workflow_type}/{event.ref.business_key}"
            console().print(Text.assemble(_clock(None), " ", (name, "bold"), " matches no more, or is gone"))
        elif isinstance(event, StartOver):
            click.echo(f"(something was missed: {event.reason}; what there is comes again)", err=True)


def _line(workflow: Workflow) -> Text:
    message = workflow.message
    name = f"{workflow.workflow_type}/{workflow.business_key}"
    told = Text.assemble(_clock(workflow.end_time), " ", (name, "bold"), " ", coloured(workflow.state))
    if workflow.phase:
        told.append(f" {workflow.phase}")
    if workflow.phase_reason:
        told.append(f" ({workflow.phase_reason})")
    if message.HasField("failure"):
        told.append(f" {workflow.failure}")
    return told


def _clock(time: datetime | None) -> str:
    return (time.astimezone() if time is not None else datetime.now().astimezone()).strftime("%H:%M:%S")


def _echo_event(event: ManyEvent) -> None:
    match event:
        case WorkflowChanged():
            click.echo(f'{{"event": "changed", "workflow": {message_json(event.workflow.message)}}}')
        case WorkflowRemoved():
            echo_json({"event": "removed", "workflowType": event.ref.workflow_type, "businessKey": event.ref.business_key})
        case ExistingSent():
            echo_json({"event": "existingSent", "count": event.count})
        case StartOver():
            echo_json({"event": "startOver", "reason": event.reason})
        case _:
            echo_json({"event": type(event).__name__})


async def _frames(client: Client, where: Filter, key: str, *, as_json: bool) -> None:
    types = list(where.to_message().workflow_types)
    if not types:
        raise click.UsageError("--frames needs the TYPE too: perdure tail TYPE --frames KEY")
    speaking = ""
    async for event in client.run(types[0], key).watch():
        if as_json:
            if isinstance(event, Frame):
                echo_json({"event": "frame", "step": event.step, "claimNo": event.claim_no, "seq": event.seq, "text": event.text})
            continue
        speaking = _say(event, speaking)
    if speaking and not as_json:
        click.echo()


def _say(event: Event, speaking: str) -> str:
    """Prints an event's words; returns the claim whose text the cursor stands behind."""
    new_line = "\n" if speaking else ""
    if isinstance(event, FramesReset):
        click.echo(f"{new_line}({event.step}: what was said up to claim {event.claim_no} is void)")
        return ""
    if not isinstance(event, Frame):
        return speaking
    claim = f"{event.step}.{event.claim_no}"
    if event.kind == "TEXT":  # pieces of one text go on behind each other
        if speaking != claim:
            click.echo(f"{new_line}{event.step}: ", nl=False)
        click.echo(event.text, nl=False)
        return claim
    click.echo(f"{new_line}{event.step}: {event.text}")
    return ""
