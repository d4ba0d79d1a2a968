"""perdure list."""

import click

from perdure.cli.options import Label, json_option
from perdure.cli.output import console, message_json, workflows_table
from perdure.cli.session import connected
from perdure.client import Client
from perdure.view import Workflow, WorkflowState

_STATES = [state.lower() for state in WorkflowState if state is not WorkflowState.UNKNOWN]


@click.command("list")
@click.argument("workflow_type", metavar="[TYPE]", required=False)
@click.option(
    "--state", "states", type=click.Choice(_STATES, case_sensitive=False), multiple=True, help="Only these; several times for several."
)
@click.option("--label", "labels", type=Label(), multiple=True, help="Only those with this label.")
@click.option("--key", "keys", multiple=True, help="Only these business keys.")
@click.option("--oldest-first", is_flag=True, help="Default: newest first.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="How many at most.")
@json_option
@connected
async def list_workflows(
    client: Client,
    *,
    workflow_type: str | None,
    states: tuple[str, ...],
    labels: tuple[tuple[str, str], ...],
    keys: tuple[str, ...],
    oldest_first: bool,
    limit: int,
    as_json: bool,
) -> None:
    """List workflows, newest first; with --json one JSON object a line."""
    found: list[Workflow] = []
    more = False
    wanted = [WorkflowState[state.upper()] for state in states]
    async for workflow in client.list(workflow_type, states=wanted, labels=dict(labels), keys=keys, oldest_first=oldest_first):
        if len(found) == limit:
            more = True
            break
        found.append(workflow)
        if as_json:
            click.echo(message_json(workflow.message))
    if as_json:
        return
    if not found:
        click.echo("no workflow matches", err=True)
        return
    console().print(workflows_table(found))
    if more:
        click.echo(f"(more than {limit}: --limit shows more)", err=True)
