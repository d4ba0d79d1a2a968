"""perdure why."""

import click

from perdure.cli.options import json_option, key_argument, type_argument
from perdure.cli.output import ago, coloured, console, message_json
from perdure.cli.session import connected
from perdure.client import Client
from perdure.v1 import workflow_service_pb2
from perdure.view import step_state, time_of


@click.command()
@type_argument
@key_argument
@click.option("--step", default="", help="Only this step; default: all that have not ended.")
@json_option
@connected
async def why(client: Client, *, workflow_type: str, key: str, step: str, as_json: bool) -> None:
    """Tell why a workflow is where it is: what each step waits for, since when, and what would move it."""
    answer = await client.run(workflow_type, key).explain(step)
    if as_json:
        click.echo(message_json(answer.message))
        return
    console().print(f"{workflow_type}/{key}: {answer.summary}", markup=False)
    for found in answer.steps:
        _print_step(found.message)
    for duty in answer.open_duties:
        console().print(f"  still to be done: {duty}", markup=False)


def _print_step(found: workflow_service_pb2.StepExplanation) -> None:
    terminal = console()
    since = ago(time_of(found.since_time)) if found.HasField("since_time") else ""
    terminal.print(f"\n{found.step}", coloured(step_state(found.state)), f"since {since}" if since else "", style="bold")
    terminal.print(f"  {found.summary}", markup=False)
    for blocker in found.blockers:
        terminal.print(f"  - {blocker.summary}", markup=False)
    if found.HasField("next_time"):
        terminal.print(f"  next: {ago(time_of(found.next_time))}", markup=False)
    for suggestion in found.suggestions:
        terminal.print(f"  try: {suggestion}", markup=False)
