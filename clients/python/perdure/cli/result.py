"""perdure result."""

import sys
from datetime import timedelta

import click

from perdure.cli.options import Duration, json_option, key_argument, type_argument
from perdure.cli.output import echo_json
from perdure.cli.session import NOT_COMPLETED, connected
from perdure.client import Client
from perdure.codec import undecodable
from perdure.errors import WorkflowFailed, WorkflowNotCompleted
from perdure.payloads import Payload
from perdure.run import Run


@click.command()
@type_argument
@key_argument
@click.option("--round", "round_number", type=int, help="Which round of the key; default the current one.")
@click.option("--timeout", type=Duration(), help="Wait no longer, such as 30s; default for ever. 0s: do not wait.")
@json_option
@connected
async def result(
    client: Client,
    *,
    workflow_type: str,
    key: str,
    round_number: int | None,
    timeout: timedelta | None,  # noqa: ASYNC109 -- bounds the server's wait too
    as_json: bool,
) -> int:
    """Wait for the end of the workflow and print its output. Exit code 1 if it did not end well."""
    return await print_result(client.run(workflow_type, key, round=round_number), timeout, as_json=as_json)


async def print_result(run: Run, within: timedelta | None, *, as_json: bool) -> int:
    """Waits for the end and prints it; returns the exit code."""
    try:
        output = await run.result(Payload, timeout=within)
    except WorkflowNotCompleted as error:
        failure = error.failure if isinstance(error, WorkflowFailed) else None
        if not as_json:
            click.echo(error.message, err=True)
            return NOT_COMPLETED
        told = {"type": failure.type, "message": failure.message, "details": failure.details} if failure is not None else None
        echo_json({"state": str(error.reason), "message": error.message, "failure": told})
        return NOT_COMPLETED
    if output.encoding:
        raise undecodable(output.to_message())
    if as_json:
        # The output's own text, so that every number stays as it was written.
        text = "null" if output.json is None else output.json
        click.echo(f'{{"state": "COMPLETED", "output": {text}}}')
    elif output.json is not None:
        click.echo(output.json)
    elif output.binary is not None:
        sys.stdout.buffer.write(output.binary)
    return 0
