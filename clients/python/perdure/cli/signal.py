"""perdure signal."""

import click

from perdure.cli.options import Json, json_option
from perdure.cli.output import echo_json
from perdure.cli.session import connected
from perdure.client import Client
from perdure.payloads import Payload


@click.command()
@click.argument("arguments", nargs=-1, metavar="TYPE KEY NAME")
@click.option("--payload", type=Json(), help="What it carries, as JSON; @FILE and - read it from there.")
@click.option("--id", "signal_id", default="", help="Makes it count once, however often it is sent.")
@click.option("--wake-token", default="", help="Instead of TYPE and KEY: the token that a step gave away.")
@json_option
@connected
async def signal(
    client: Client, *, arguments: tuple[str, ...], payload: Payload | None, signal_id: str, wake_token: str, as_json: bool
) -> None:
    """Send the signal NAME to the workflow KEY of type TYPE; done when it is stored.

    Nobody here knows its type: a payload that the step behind the wait cannot take fails in the worker.

    perdure signal note note-42 choose --payload 1
    """
    if wake_token and len(arguments) == 1:
        sent = await client.signal(wake_token, arguments[0], payload, signal_id=signal_id)
    elif not wake_token and len(arguments) == 3:
        workflow_type, key, name = arguments
        sent = await client.run(workflow_type, key).signal(name, payload, signal_id=signal_id)
    else:
        raise click.UsageError("give TYPE KEY NAME, or --wake-token TOKEN and NAME")
    if as_json:
        echo_json({"signalId": sent.signal_id, "duplicate": sent.duplicate, "consumed": sent.consumed})
    elif sent.duplicate:
        click.echo("stored before; it counts once")
    else:
        click.echo("stored; a wait took it" if sent.consumed else "stored; nothing waits for it yet, it is kept in the inbox")
