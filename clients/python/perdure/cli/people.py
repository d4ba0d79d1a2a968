"""What a person decides about a workflow: perdure pause, resume, terminate, replay, resolve, delete."""

import sys

import click

from perdure.cli.output import echo_json
from perdure.cli.session import Json, connected, json_option, key_argument, type_argument
from perdure.client import Client
from perdure.failure import Failure
from perdure.payloads import Payload
from perdure.resolution import Resolution

reason_option = click.option("--reason", default="", help="Why, for people and the audit trail.")
request_option = click.option("--request-id", default="", help="Makes a repeat recognisable.")


@click.command()
@type_argument
@key_argument
@reason_option
@request_option
@json_option
@connected
async def pause(client: Client, *, workflow_type: str, key: str, reason: str, request_id: str, as_json: bool) -> None:
    """Begin no step of a workflow any more, until it is resumed; what runs goes on."""
    await client.run(workflow_type, key).pause(reason, request_id=request_id)
    _said(f"{workflow_type}/{key} is paused; `perdure resume {workflow_type} {key}` ends that", {"paused": True}, as_json=as_json)


@click.command()
@type_argument
@key_argument
@reason_option
@request_option
@json_option
@connected
async def resume(client: Client, *, workflow_type: str, key: str, reason: str, request_id: str, as_json: bool) -> None:
    """Let a paused workflow go on."""
    await client.run(workflow_type, key).resume(reason, request_id=request_id)
    _said(f"{workflow_type}/{key} goes on", {"paused": False}, as_json=as_json)


@click.command()
@type_argument
@key_argument
@click.option("--yes", is_flag=True, help="Do not ask.")
@reason_option
@request_option
@json_option
@connected
async def terminate(client: Client, *, workflow_type: str, key: str, yes: bool, reason: str, request_id: str, as_json: bool) -> None:
    """End a workflow at once: no hook runs, nothing is compensated. `perdure cancel` ends it in order."""
    _sure(f"Terminate {workflow_type}/{key} without its hooks?", yes=yes)
    await client.run(workflow_type, key).terminate(reason, request_id=request_id)
    _said(f"{workflow_type}/{key} is TERMINATED", {"state": "TERMINATED"}, as_json=as_json)


@click.command()
@type_argument
@key_argument
@click.option("--reopen", multiple=True, metavar="STEP", help="A completed step to do again, with what comes after it; repeatable.")
@click.option("--fence", type=int, help="Only if this is its fence: then it happens once, however often it is sent.")
@reason_option
@request_option
@json_option
@connected
async def replay(
    client: Client,
    *,
    workflow_type: str,
    key: str,
    reopen: tuple[str, ...],
    fence: int | None,
    reason: str,
    request_id: str,
    as_json: bool,
) -> None:
    """Let an ended workflow go on: what did not complete is done again, what completed is kept."""
    steps = await client.run(workflow_type, key, expected_fence=fence).replay(reopen=reopen, reason=reason, request_id=request_id)
    _said(f"{workflow_type}/{key} goes on with {', '.join(steps) or 'nothing'}", {"reopenedSteps": list(steps)}, as_json=as_json)


@click.command()
@type_argument
@key_argument
@click.argument("step")
@click.argument("decision", type=click.Choice(["retry", "complete", "fail", "pass"]))
@click.option("--reason", required=True, help="Why, for people and the audit trail.")
@click.option("--output", type=Json(), help="For `complete`: what dependants get, as JSON; @FILE and - read it from there.")
@click.option("--branch", multiple=True, help="For `complete`: a branch that is taken; may be repeated.")
@request_option
@json_option
@connected
async def resolve(
    client: Client,
    *,
    workflow_type: str,
    key: str,
    step: str,
    decision: str,
    reason: str,
    output: Payload | None,
    branch: tuple[str, ...],
    request_id: str,
    as_json: bool,
) -> None:
    """Decide about a step that needs a person: retry it, or count it as completed, failed, or passed.

    perdure resolve payout p-42 pay complete --output '"paid in cash"' --reason "done by hand"
    """
    if decision != "complete" and (output is not None or branch):
        raise click.UsageError("--output and --branch go with `complete`")
    match decision:
        case "retry":
            resolution = Resolution.retry()
        case "complete":
            resolution = Resolution.completed(output, branches=branch)
        case "fail":
            resolution = Resolution.failed(Failure("perdure.resolved", reason))
        case _:
            resolution = Resolution.pass_over()
    await client.run(workflow_type, key).resolve(step, resolution, reason=reason, request_id=request_id)
    _said(f"{workflow_type}/{key}: {step} is resolved ({decision})", {"step": step, "decision": decision}, as_json=as_json)


@click.command()
@type_argument
@key_argument
@click.option("--yes", is_flag=True, help="Do not ask.")
@reason_option
@request_option
@json_option
@connected
async def delete(client: Client, *, workflow_type: str, key: str, yes: bool, reason: str, request_id: str, as_json: bool) -> None:
    """Remove an ended workflow with all its rounds and values."""
    _sure(f"Delete {workflow_type}/{key} for good?", yes=yes)
    await client.run(workflow_type, key).delete(reason, request_id=request_id)
    _said(f"{workflow_type}/{key} is deleted", {"deleted": True}, as_json=as_json)


def _sure(question: str, *, yes: bool) -> None:
    """Asks where there is a person; a script must say --yes."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError("this cannot be undone: give --yes")
    click.confirm(question, abort=True, err=True)


def _said(text: str, facts: dict[str, object], *, as_json: bool) -> None:
    if as_json:
        echo_json(facts)
    else:
        click.echo(text)
