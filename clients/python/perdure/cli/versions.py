"""perdure definitions pause / resume / delete / migrate / test: what a running version goes through."""

from pathlib import Path
from typing import Any

import click

from perdure.cli.completion import complete_type
from perdure.cli.filters import filter_options
from perdure.cli.options import Json, json_option
from perdure.cli.output import echo_json, message_json
from perdure.cli.session import connected
from perdure.cli.verbs import Told, reason_option, request_option, sure, yes_option
from perdure.client import Client
from perdure.definition_file import load_definition
from perdure.durations import format_duration
from perdure.filtering import Filter
from perdure.payloads import Payload

type_argument = click.argument("workflow_type", metavar="TYPE", shell_complete=complete_type)
LOSSES = ("completed_output", "open_wait", "checkpoint", "held_permit", "running_claim", "open_children")


@click.command()
@type_argument
@click.option("--fingerprint", default="", help="Which version; default all of the type.")
@reason_option
@json_option
@connected
async def pause(client: Client, *, workflow_type: str, fingerprint: str, reason: str, as_json: bool) -> None:
    """Begin no step of a type's workflows any more; starts and signals are still accepted."""
    await client.definitions.pause(workflow_type, fingerprint, reason=reason)
    Told(f"{workflow_type} is paused; `perdure definitions resume {workflow_type}` ends that", {"paused": True}).say(as_json=as_json)


@click.command()
@type_argument
@click.option("--fingerprint", default="", help="Which version; default all of the type.")
@reason_option
@json_option
@connected
async def resume(client: Client, *, workflow_type: str, fingerprint: str, reason: str, as_json: bool) -> None:
    """End such a pause."""
    await client.definitions.resume(workflow_type, fingerprint, reason=reason)
    Told(f"{workflow_type} goes on", {"paused": False}).say(as_json=as_json)


@click.command()
@type_argument
@click.argument("fingerprint")
@yes_option
@json_option
@connected
async def delete(client: Client, *, workflow_type: str, fingerprint: str, yes: bool, as_json: bool) -> None:
    """Remove a version that is not active and has no kept workflow."""
    sure(f"Delete the definition {workflow_type} {fingerprint}?", yes=yes)
    await client.definitions.delete(workflow_type, fingerprint)
    Told(f"{workflow_type} {fingerprint} is deleted", {"deleted": True}).say(as_json=as_json)


@click.command()
@filter_options
@click.option("--from", "from_fingerprint", required=True, help="Fingerprint of the version that they run by.")
@click.option("--to", "to_fingerprint", required=True, help="Fingerprint of the version that they should run by; registered.")
@click.option(
    "--step", "steps", type=(str, str), multiple=True, metavar="OLD NEW", help='A step that changes its name; "" as NEW drops it.'
)
@click.option("--accept", type=click.Choice(LOSSES), multiple=True, help="A loss that is accepted; repeatable.")
@click.option("--max-per-second", type=click.FloatRange(0), default=0.0, help="Workflows per second; 0: the server's limit.")
@click.option("--dry-run", is_flag=True, help="Count and list what would be lost, and change nothing.")
@reason_option
@request_option
@json_option
@connected
async def migrate(client: Client, /, *, where: Filter, dry_run: bool, as_json: bool, **options: Any) -> None:
    """Move open workflows of TYPE from one version to another, in the background; what would lose something is left alone and listed."""
    types = list(where.to_message().workflow_types)
    if not types:
        raise click.UsageError("which TYPE?")
    accepted = [loss.upper() for loss in options["accept"]]
    given = {name: options[name] for name in ("max_per_second", "reason", "request_id")}
    source, target = options["from_fingerprint"], options["to_fingerprint"]
    done = await client.definitions.migrate(
        types[0], source, target, steps=dict(options["steps"]), where=where, accept=accepted, validate_only=dry_run, **given
    )
    if as_json:
        click.echo(message_json(done.message))
        return
    sign = "about " if done.is_estimate else ""
    click.echo(f"{sign}{done.matched} match, {done.movable} {'could be' if dry_run else 'are'} moved, {done.refused} would lose something")
    for issue in done.issues:
        click.echo(f"  {issue.workflow.business_key} {issue.step}: {issue.loss.lower()} ({issue.description})")
    if done.batch is not None:
        click.echo(f"`perdure batches show {done.batch.batch_id}` tells how far it is")


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--input", "payload", type=Json(), help="Input of the workflow, as JSON; @FILE and - read it from there.")
@click.option("--seed", type=int, default=0, help="Of the jitter; 0: none.")
@json_option
@connected
async def test(client: Client, *, file: Path, payload: Payload | None, seed: int, as_json: bool) -> None:
    """Run the definition in FILE in the server's memory, every step completing without a value, and print what happens. Stores nothing."""
    trial = await client.definitions.test(load_definition(file), input=payload, seed=seed)
    if as_json:
        echo_json({"state": trial.workflow.state, "fingerprint": trial.fingerprint, "warnings": list(trial.warnings)})
        return
    for change in trial.changes:
        failure = f" ({change.failure})" if change.failure is not None else ""
        click.echo(f"{format_duration(change.after):>8}  {change.step or 'workflow'} {change.state} {change.reason}{failure}")
    click.echo(f"{trial.workflow.state} after {format_duration(trial.elapsed)}")
    for warning in trial.warnings:
        click.echo(f"warning: {warning}", err=True)
