"""perdure why."""

from collections.abc import Iterator

import click
from google.protobuf.timestamp_pb2 import Timestamp

from perdure.cli.options import json_option, key_argument, type_argument
from perdure.cli.output import ago, coloured, console, due, message_json
from perdure.cli.session import connected
from perdure.client import Client
from perdure.explanation import Blocker, StepExplanation
from perdure.run import Run
from perdure.view import StepState, time_of


@click.command()
@type_argument
@key_argument
@click.option("--step", default="", help="Only this step; default: all that have not ended.")
@json_option
@connected
async def why(client: Client, *, workflow_type: str, key: str, step: str, as_json: bool) -> None:
    """Tell why a workflow is where it is: what each step waits for, since when, who is ahead, and what would move it."""
    run = client.run(workflow_type, key)
    answer = await run.explain(step)
    if as_json:
        click.echo(message_json(answer.message))
        return
    console().print(f"{workflow_type}/{key}: {answer.summary}", markup=False)
    for found in answer.steps:
        _print_step(run, found)
    for duty in answer.open_duties:
        console().print(f"  still to be done: {duty}", markup=False)


def _print_step(run: Run, found: StepExplanation) -> None:
    terminal = console()
    phase = f"({found.phase.replace('_', ' ').lower()})" if found.phase else ""
    since = f"since {ago(found.since)}" if found.since is not None else ""
    terminal.print(f"\n{found.step}", coloured(found.state), phase, since, style="bold")
    if not found.blockers:
        terminal.print(f"  {found.summary}", markup=False)
    for blocker in found.blockers:
        terminal.print(f"  - {blocker.summary}", markup=False)
        for detail in _details(blocker):
            terminal.print(f"      {detail}", markup=False)
    if found.next_time is not None:
        terminal.print(f"  moves by itself {due(found.next_time)}", markup=False)
    for command in dict.fromkeys(_commands(run, found)):
        terminal.print(f"  try: {command}", markup=False)


def _details(blocker: Blocker) -> Iterator[str]:
    message = blocker.message
    if blocker.kind == "permit" and message.permit.holders:
        names = ", ".join(f"{holder.workflow_type}/{holder.business_key}" for holder in message.permit.holders[:5])
        yield f"held by {names}{' and others' if len(message.permit.holders) > 5 else ''}"
    elif blocker.kind == "claim":
        if message.claim.HasField("alive_time"):
            yield f"last sign of life {_time(message.claim.alive_time)}"
        if message.claim.HasField("attempt_end_time"):
            yield f"fenced by its timeout {_time(message.claim.attempt_end_time)}"
        if message.claim.HasField("lease_end_time"):
            yield f"its worker is missed {_time(message.claim.lease_end_time)} unless it renews"
    elif blocker.kind == "person" and message.person.reason:
        yield f"{message.person.actor or 'because'}: {message.person.reason}"


def _time(timestamp: Timestamp) -> str:
    return ago(time_of(timestamp))


def _commands(run: Run, found: StepExplanation) -> Iterator[str]:
    """What to type; where no command would help, what the server suggests."""
    name = f"{run.ref.workflow_type} {run.key}"
    told = False
    for blocker in found.blockers:
        command = _command(name, found, blocker)
        if command:
            told = True
            yield command
    if not told:
        yield from found.suggestions


def _command(name: str, found: StepExplanation, blocker: Blocker) -> str:
    workflow_type, _, key = name.partition(" ")
    message = blocker.message
    resource = message.permit.resource
    if blocker.kind == "person" and found.state is StepState.HELD:
        return f"perdure resolve {name} {found.step} retry|complete|fail|pass --reason ..."
    paused = any("definition" in suggestion for suggestion in found.suggestions)
    commands = {
        "person": f"perdure definitions resume {workflow_type}" if paused else f"perdure resume {name}",
        "signal_name": f"perdure signal {name} {message.signal_name}",
        "children": f"perdure children {name} --step {found.step} --state running --state failing",
        "permit": f"perdure resources show {resource}" if message.permit.capacity else f"perdure resources put {resource} --capacity N",
        "claim": f"perdure tail {workflow_type} --frames {key}",
    }
    return commands.get(blocker.kind, "")
