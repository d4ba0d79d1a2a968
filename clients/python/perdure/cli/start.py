"""perdure start."""

from datetime import datetime, timedelta

import click

from perdure.cli.options import Duration, Json, Label, json_option, key_argument, type_argument
from perdure.cli.output import echo_json
from perdure.cli.result import print_result
from perdure.cli.session import connected
from perdure.client import Client
from perdure.payloads import Payload
from perdure.starting import OnClosed, OnOpen


@click.command()
@type_argument
@key_argument
@click.option("--input", "payload", type=Json(), help="The input, as JSON; @FILE and - read it from there.")
@click.option("--label", "labels", type=Label(), multiple=True, help="To find it by; several times for several.")
@click.option("--request-id", default="", help="Makes a repeat of this very request recognisable.")
@click.option("--on-open", type=click.Choice(["use_existing", "reject", "supersede"]), help="What if it is open already.")
@click.option(
    "--on-closed", type=click.Choice(["use_existing", "new_round", "new_round_if_failed", "reject"]), help="What if it has ended."
)
@click.option("--priority", type=click.IntRange(0, 9), help="Higher is sooner; default 5.")
@click.option("--queue", default="", help="Queue of all steps.")
@click.option("--delay", type=Duration(), help="The first step waits so long, such as 10m.")
@click.option("--timeout", type=Duration(), help="It must have ended within this time.")
@click.option("--wait", is_flag=True, help="Wait for the end and print the result.")
@json_option
@connected
async def start(
    client: Client,
    *,
    workflow_type: str,
    key: str,
    payload: Payload | None,
    labels: tuple[tuple[str, str], ...],
    request_id: str,
    on_open: OnOpen | None,
    on_closed: OnClosed | None,
    priority: int | None,
    queue: str,
    delay: timedelta | None,
    timeout: timedelta | None,  # noqa: ASYNC109 -- the workflow's, not this call's
    wait: bool,
    as_json: bool,
) -> int:
    """Start the workflow KEY of type TYPE; a repeat answers the same workflow.

    Nobody here knows the type of the input: one that a step cannot take fails in the worker.

    perdure start note note-42 --input '{"url": "s3://a.mp3"}' --label tenant=acme
    """
    start_at = None if delay is None else datetime.now().astimezone() + delay
    run = await client.start(
        workflow_type,
        key=key,
        input=payload,
        labels=dict(labels),
        request_id=request_id,
        on_open=on_open,
        on_closed=on_closed,
        priority=priority,
        queue=queue,
        start_at=start_at,
        workflow_timeout=timeout,
    )
    started = run.started
    if wait:
        return await print_result(run, None, as_json=as_json)
    if as_json and started is not None:
        told = {"workflowType": workflow_type, "businessKey": key, "round": run.ref.round, "created": started.created}
        echo_json(told | {"runId": started.run_id, "fence": started.fence, "state": started.state})
    elif started is not None:
        what = "started" if started.created else f"was started before, is {started.state}"
        click.echo(f"{workflow_type}/{key} {what} (round {run.ref.round})")
    return 0
