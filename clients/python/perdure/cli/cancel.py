"""perdure cancel."""

import click

from perdure.cli.output import echo_json
from perdure.cli.session import connected, json_option, key_argument, type_argument
from perdure.client import Client


@click.command()
@type_argument
@key_argument
@click.option("--reason", default="", help="Why, for people.")
@click.option("--request-id", default="", help="Makes a repeat recognisable.")
@json_option
@connected
async def cancel(client: Client, *, workflow_type: str, key: str, reason: str, request_id: str, as_json: bool) -> None:
    """Ask a workflow to cancel: running steps are told to stop, no new ones begin."""
    state = await client.run(workflow_type, key).cancel(reason, request_id=request_id)
    if as_json:
        echo_json({"state": state})
    else:
        click.echo(f"{workflow_type}/{key} is {state}")
