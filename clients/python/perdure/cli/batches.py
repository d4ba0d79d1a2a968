"""perdure batches start / show / list / stop, and what is done with many or for good: perdure purge, redact."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, ParamSpec, TypeVar, get_args

import click

from perdure.batch_values import Batch, BatchOperation, BatchStart, BatchState
from perdure.batches import PayloadKind
from perdure.cli.filters import filter_options
from perdure.cli.options import Json, json_option
from perdure.cli.output import ago, coloured, console, echo_json, facts, message_json
from perdure.cli.rows import Listing, Shown, list_options
from perdure.cli.session import connected
from perdure.cli.verbs import reason_option, request_option, sure, yes_option
from perdure.client import Client
from perdure.failure import Failure
from perdure.filtering import Filter
from perdure.payloads import Payload
from perdure.resolution import Resolution
from perdure.view import WorkflowRef

P = ParamSpec("P")
R = TypeVar("R")

PLAIN: Final = {
    "cancel": BatchOperation.cancel,
    "terminate": BatchOperation.terminate,
    "pause": BatchOperation.pause,
    "resume": BatchOperation.resume,
    "delete": BatchOperation.delete,
}
KINDS: Final = tuple(kind.lower() for kind in get_args(PayloadKind))
BATCHES = Listing[Batch](
    {
        "BATCH": lambda batch: batch.batch_id,
        "OPERATION": lambda batch: batch.operation,
        "STATE": lambda batch: coloured(batch.state),
        "DONE": lambda batch: f"{batch.succeeded}/{'~' if batch.matched_is_estimate else ''}{batch.matched}",
        "REFUSED": lambda batch: str(batch.failed or ""),
        "STARTED": lambda batch: ago(batch.start_time),
        "BY": lambda batch: batch.actor,
        "REASON": lambda batch: batch.reason,
    },
    name=lambda batch: batch.batch_id,
    message=lambda batch: batch.message,
    nothing="no batch",
)


@dataclass(frozen=True)
class Deed:
    """What a batch is started with, besides its filter."""

    operation: str
    name: str
    payload: Payload | None
    reopen: tuple[str, ...]

    def made(self, reason: str) -> BatchOperation:
        """The operation. Raises UsageError if a part is missing."""
        if self.operation in PLAIN:
            return PLAIN[self.operation]()
        if self.operation == "replay":
            return BatchOperation.replay(reopen=self.reopen)
        if not self.name:
            raise click.UsageError(f"`{self.operation}` needs --name: the signal's or the step's")
        if self.operation == "signal":
            return BatchOperation.signal(self.name, self.payload)
        ways = {"retry": Resolution.retry, "pass": Resolution.pass_over}
        way = self.operation.removesuffix("-step")
        return BatchOperation.resolve(self.name, ways[way]() if way in ways else Resolution.failed(Failure("perdure.resolved", reason)))


def many_options(command: Callable[P, R]) -> Callable[P, R]:
    """Adds what every command that does something to many workflows takes."""
    for decorate in (connected_options, json_option, request_option, reason_option, filter_options):
        command = decorate(command)
    return command


def connected_options(command: Callable[P, R]) -> Callable[P, R]:
    """How fast, whether at all, and whether to ask."""
    rate = click.option("--max-per-second", type=click.FloatRange(0), default=0.0, help="Workflows per second; 0: the server's limit.")
    dry = click.option("--dry-run", is_flag=True, help="Count, and change nothing.")
    return rate(dry(yes_option(command)))


@click.group()
def batches() -> None:
    """One deed on many workflows, in the background; it survives restarts."""


@batches.command()
@click.argument("operation", type=click.Choice([*PLAIN, "replay", "signal", "retry-step", "pass-step", "fail-step"]))
@click.option("--name", default="", help="The signal's name, or the step's.")
@click.option("--payload", type=Json(), help="What the signal carries, as JSON; @FILE and - read it from there.")
@click.option("--reopen", multiple=True, metavar="STEP", help="For `replay`: a completed step to do again; repeatable.")
@many_options
@connected
async def start(client: Client, /, *, where: Filter, dry_run: bool, yes: bool, reason: str, as_json: bool, **options: Any) -> None:
    """Do OPERATION to every workflow that matches, such as all failed ones of a type.

    perdure batches start replay order --state failed --reason "the bank is back"
    """
    deed = Deed(options["operation"], options["name"], options["payload"], options["reopen"])
    operation = deed.made(reason)
    if not dry_run:
        counted = await client.batches.start(where, operation, validate_only=True)
        about = f"{'about ' if counted.matched_is_estimate else ''}{counted.matched} workflows"
        sure(f"{deed.operation.capitalize()} {about}?", yes=yes)
    rate, request_id = options["max_per_second"], options["request_id"]
    batch = await client.batches.start(where, operation, reason=reason, max_per_second=rate, validate_only=dry_run, request_id=request_id)
    if as_json:
        click.echo(message_json(batch.message))
    elif dry_run:
        click.echo(f"{'about ' if batch.matched_is_estimate else ''}{batch.matched} workflows match; nothing was changed")
    else:
        click.echo(f"batch {batch.batch_id} has begun ({batch.matched} match); `perdure batches show {batch.batch_id}` tells how far it is")


@batches.command()
@click.argument("batch_id", metavar="BATCH")
@json_option
@connected
async def show(client: Client, *, batch_id: str, as_json: bool) -> None:
    """Show how far a batch is, and what it was refused."""
    _show(await client.batches.get(batch_id), as_json=as_json)


@batches.command("list")
@click.option("--state", "states", type=click.Choice(["running", "completed", "stopped", "failed"]), multiple=True, help="Only these.")
@list_options
@connected
async def list_batches(client: Client, *, states: tuple[str, ...], shown: Shown, as_json: bool) -> None:
    """List batches, newest first."""
    del as_json
    await BATCHES.show(client.batches.list(states=[BatchState[state.upper()] for state in states]), shown)


@batches.command()
@click.argument("batch_id", metavar="BATCH")
@reason_option
@request_option
@json_option
@connected
async def stop(client: Client, *, batch_id: str, reason: str, request_id: str, as_json: bool) -> None:
    """Stop a batch; what is done stays done."""
    _show(await client.batches.stop(batch_id, reason=reason, request_id=request_id), as_json=as_json)


@click.command()
@many_options
@connected
async def purge(client: Client, /, *, where: Filter, dry_run: bool, yes: bool, reason: str, as_json: bool, **options: Any) -> None:
    """Delete ended workflows that match, before their retention; open ones are left alone.

    perdure purge note --ended-before 30d --dry-run
    """
    counted = await client.batches.purge(where, validate_only=True)
    if dry_run or not counted.matched:
        _began(counted, "nothing was deleted", as_json=as_json)
        return
    sure(f"Delete {'about ' if counted.is_estimate else ''}{counted.matched} ended workflows for good?", yes=yes)
    rate, request_id = options["max_per_second"], options["request_id"]
    _began(await client.batches.purge(where, reason=reason, max_per_second=rate, request_id=request_id), "", as_json=as_json)


@click.command()
@click.argument("workflow_type", metavar="TYPE")
@click.argument("keys", metavar="KEY...", nargs=-1, required=True)
@click.option("--kind", "kinds", type=click.Choice(KINDS), multiple=True, help="Only these values.")
@click.option("--step", "steps", multiple=True, help="Only of these steps.")
@click.option("--dry-run", is_flag=True, help="Count, and change nothing.")
@yes_option
@reason_option
@json_option
@connected
async def redact(
    client: Client, /, *, workflow_type: str, keys: tuple[str, ...], yes: bool, dry_run: bool, reason: str, as_json: bool, **options: Any
) -> None:
    """Overwrite values with personal data for good, in all rounds of the keys; the workflows stay.

    perdure redact order order-42 --kind input --kind output --reason "asked to by the customer" --yes
    """
    if not dry_run:
        sure(f"Overwrite values of {workflow_type} {', '.join(keys)} for good?", yes=yes)
    kinds = [kind.upper() for kind in options["kinds"]]
    for key in keys:
        target = WorkflowRef(workflow_type, key)
        done = await client.batches.redact(target, kinds=kinds, steps=options["steps"], reason=reason, validate_only=dry_run)
        if as_json:
            echo_json({"workflowType": workflow_type, "businessKey": key, "redacted": done.redacted, "dryRun": dry_run})
        else:
            click.echo(f"{workflow_type}/{key}: {done.redacted} values {'would be' if dry_run else 'are'} overwritten")


def _began(done: BatchStart, otherwise: str, *, as_json: bool) -> None:
    batch = done.batch
    if as_json:
        echo_json({"matched": done.matched, "estimate": done.is_estimate, "batchId": batch.batch_id if batch is not None else ""})
    elif batch is None:
        click.echo(f"{'about ' if done.is_estimate else ''}{done.matched} workflows match; {otherwise or 'nothing is left to do'}")
    else:
        click.echo(f"batch {batch.batch_id} has begun ({batch.matched} match); `perdure batches show {batch.batch_id}` tells how far it is")


def _show(batch: Batch, *, as_json: bool) -> None:
    if as_json:
        click.echo(message_json(batch.message))
        return
    console().print(
        facts(
            (
                ("batch", batch.batch_id),
                ("operation", batch.operation),
                ("state", coloured(batch.state)),
                ("matched", f"{'about ' if batch.matched_is_estimate else ''}{batch.matched}"),
                ("done", str(batch.succeeded)),
                ("refused", str(batch.failed)),
                ("started", ago(batch.start_time)),
                ("ended", ago(batch.end_time)),
                ("by", batch.actor),
                ("reason", batch.reason),
            )
        )
    )
    for error in batch.errors:
        click.echo(f"  {error.workflow.workflow_type}/{error.workflow.business_key}: {error.message}")
