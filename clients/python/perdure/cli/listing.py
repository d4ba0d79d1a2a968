"""perdure list and count."""

import click

from perdure.cli.filters import filter_options
from perdure.cli.options import json_option
from perdure.cli.output import ago, coloured, echo_json
from perdure.cli.rows import Listing, Shown, list_options
from perdure.cli.session import connected
from perdure.client import Client
from perdure.counting import GroupBy
from perdure.filtering import Filter
from perdure.view import Workflow

WORKFLOWS = Listing[Workflow](
    {
        "TYPE": lambda workflow: workflow.workflow_type,
        "KEY": lambda workflow: workflow.business_key,
        "ROUND": lambda workflow: str(workflow.round),
        "STATE": lambda workflow: coloured(workflow.state),
        "PHASE": lambda workflow: workflow.phase,
        "STARTED": lambda workflow: ago(workflow.start_time),
        "LABELS": lambda workflow: " ".join(f"{name}={value}" for name, value in workflow.labels.items()),
    },
    name=lambda workflow: f"{workflow.workflow_type} {workflow.business_key}",
    message=lambda workflow: workflow.message,
    nothing="no workflow matches",
)


@click.command("list")
@filter_options
@click.option("--oldest-first", is_flag=True, help="Default: newest first.")
@list_options
@connected
async def list_workflows(client: Client, *, where: Filter, oldest_first: bool, shown: Shown, as_json: bool) -> None:
    """List workflows, newest first.

    perdure list note --state running -o name | xargs -n 2 perdure cancel
    """
    del as_json
    await WORKFLOWS.show(client.list(where=where, oldest_first=oldest_first), shown)


@click.command()
@filter_options
@click.option("--by", type=click.Choice(["state", "workflow_type", "phase"]), help="Also split the number.")
@json_option
@connected
async def count(client: Client, *, where: Filter, by: GroupBy | None, as_json: bool) -> None:
    """Count workflows. `~` before a number: it is an estimate."""
    found = await client.count(where, group_by=by)
    if as_json:
        echo_json({"count": found.count, "estimate": found.is_estimate, "groups": dict(found.groups)})
        return
    sign = "~" if found.is_estimate else ""
    for group, number in found.groups.items():
        click.echo(f"{sign}{number}\t{group}")
    click.echo(f"{sign}{found.count}")
