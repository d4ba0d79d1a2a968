"""perdure show."""

import click

from perdure.cli.options import json_option, key_argument, type_argument
from perdure.cli.output import ago, coloured, console, due, facts, message_json, payload_text, shortened, steps_table
from perdure.cli.session import connected
from perdure.client import Client
from perdure.view import Workflow, time_of


@click.command()
@type_argument
@key_argument
@click.option("--round", "round_number", type=int, help="Which round of the key; default the current one.")
@json_option
@connected
async def show(client: Client, *, workflow_type: str, key: str, round_number: int | None, as_json: bool) -> None:
    """Show a workflow with its steps, as it is now."""
    workflow = await client.run(workflow_type, key, round=round_number).get()
    if as_json:
        click.echo(message_json(workflow.message))
        return
    print_workflow(workflow)


def print_workflow(workflow: Workflow) -> None:
    """A workflow for people."""
    message = workflow.message
    terminal = console()
    terminal.print(
        facts(
            (
                ("workflow", f"{workflow.workflow_type}/{workflow.business_key}"),
                ("state", coloured(workflow.state)),
                ("phase", " ".join(part for part in (workflow.phase, workflow.phase_reason) if part)),
                ("round", f"{workflow.round}, fence {workflow.fence}, run {workflow.run_id}"),
                ("definition", f"{message.definition_version or '(no version)'} {workflow.definition_fingerprint[:16]}"),
                ("labels", " ".join(f"{name}={value}" for name, value in workflow.labels.items())),
                ("started", ago(workflow.start_time)),
                ("ended", ago(workflow.end_time)),
                ("next", due(workflow.next_time)),
                ("input", shortened(payload_text(message.input), 160)),
                ("output", shortened(payload_text(message.output), 160)),
                (
                    "failure",
                    f"{workflow.failure}{f' in {workflow.failed_step}' if workflow.failed_step else ''}" if workflow.failure else "",
                ),
                ("stop asked", _stop(workflow)),
                ("inbox", ", ".join(f"{signal.count} x {signal.signal_name}" for signal in message.pending_signals)),
            )
        )
    )
    if workflow.steps:
        terminal.print()
        terminal.print(steps_table(workflow.steps.values()))


def _stop(workflow: Workflow) -> str:
    """Who asked for the end of a cancelled or terminated one, and why."""
    asked = workflow.message.cancel
    who = f"by {asked.actor}" if asked.actor else ""
    grace = "" if workflow.state.is_ended or not asked.HasField("grace_end_time") else f"(grace ends {due(time_of(asked.grace_end_time))})"
    told = " ".join(part for part in (ago(time_of(asked.request_time)), who, grace) if part)
    return f"{told}: {asked.reason}" if asked.reason and told else told or asked.reason
