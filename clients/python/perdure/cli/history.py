"""What a workflow has gone through: perdure rounds, attempts, children."""

import click

from perdure.attempts import Attempt
from perdure.cli.filters import STATES
from perdure.cli.listing import WORKFLOWS
from perdure.cli.options import key_argument, type_argument
from perdure.cli.output import ago, coloured, shortened
from perdure.cli.rows import Listing, Shown, list_options
from perdure.cli.session import connected
from perdure.client import Client
from perdure.view import WorkflowState


def _took(attempt: Attempt) -> str:
    if attempt.start_time is None or attempt.end_time is None:
        return ""
    return f"{(attempt.end_time - attempt.start_time).total_seconds():.3f}s"


ATTEMPTS = Listing[Attempt](
    {
        "STEP": lambda attempt: attempt.step,
        "CLAIM": lambda attempt: str(attempt.claim_no),
        "ATTEMPT": lambda attempt: str(attempt.attempt),
        "OUTCOME": lambda attempt: coloured(attempt.outcome or "RUNNING"),
        "CHARGED": lambda attempt: "yes" if attempt.charged else "no",
        "BEGAN": lambda attempt: ago(attempt.start_time),
        "TOOK": _took,
        "WORKER": lambda attempt: attempt.worker_id,
        "FAILURE": lambda attempt: shortened(str(attempt.failure), 120) if attempt.failure is not None else "",
        "TRACE": lambda attempt: attempt.trace_id,
    },
    name=lambda attempt: f"{attempt.step} {attempt.claim_no}",
    message=lambda attempt: attempt.message,
    nothing="no step was claimed yet",
)


@click.command()
@type_argument
@key_argument
@list_options
@connected
async def rounds(client: Client, *, workflow_type: str, key: str, shown: Shown, as_json: bool) -> None:
    """List the rounds of a key that are kept, newest first."""
    del as_json
    await WORKFLOWS.show(client.run(workflow_type, key).rounds(), shown)


@click.command()
@type_argument
@key_argument
@click.option("--step", default="", help="Only those of this step.")
@list_options
@connected
async def attempts(client: Client, *, workflow_type: str, key: str, step: str, shown: Shown, as_json: bool) -> None:
    """List the last claims of a workflow's steps, newest first: who had them and how they ended."""
    del as_json
    await ATTEMPTS.show(client.run(workflow_type, key).attempts(step), shown)


@click.command()
@type_argument
@key_argument
@click.option("--step", default="", help="Only those of this map or child step.")
@click.option("--state", "states", type=click.Choice(STATES, case_sensitive=False), multiple=True, help="Only these; repeatable.")
@list_options
@connected
async def children(
    client: Client, *, workflow_type: str, key: str, step: str, states: tuple[str, ...], shown: Shown, as_json: bool
) -> None:
    """List the workflows that a workflow's map and child steps run."""
    del as_json
    wanted = [WorkflowState[state.upper()] for state in states]
    await WORKFLOWS.show(client.run(workflow_type, key).children(step, states=wanted), shown)
