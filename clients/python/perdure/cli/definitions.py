"""perdure definitions apply / show / list / lint / activate / generate."""

from pathlib import Path

import click

from perdure import constants
from perdure.answers import RegisteredDefinition
from perdure.cli import versions
from perdure.cli.completion import complete_type
from perdure.cli.options import json_option
from perdure.cli.output import ago, echo_json, message_json
from perdure.cli.rows import Listing, Shown, list_options
from perdure.cli.session import NOT_COMPLETED, connected
from perdure.client import Client
from perdure.definition_file import dump_definition, load_definition
from perdure.errors import Unavailable
from perdure.v1 import definition_pb2

file_argument = click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))


DEFINITIONS = Listing[RegisteredDefinition](
    {
        "TYPE": lambda stored: stored.workflow_type,
        "VERSION": lambda stored: stored.version,
        "ACTIVE": lambda stored: "yes" if stored.active else "",
        "PAUSED": lambda stored: "yes" if stored.message.HasField("pause") else "",
        "REGISTERED": lambda stored: ago(stored.register_time),
        "FINGERPRINT": lambda stored: stored.fingerprint,
    },
    name=lambda stored: f"{stored.workflow_type} {stored.fingerprint}",
    message=lambda stored: stored.message,
    nothing="no definition",
)


@click.group()
def definitions() -> None:
    """Types of workflows: apply them from files, look at them, check them."""


@definitions.command()
@file_argument
@click.option("--activate", is_flag=True, help="New starts of the type use it from now on.")
@click.option("--update-policy", is_flag=True, help="If it is known already and its policies differ, take these.")
@json_option
@connected
async def apply(client: Client, *, file: Path, activate: bool, update_policy: bool, as_json: bool) -> None:
    """Register the definition in FILE; the same content again changes nothing."""
    stored = await client.definitions.register(load_definition(file), activate=activate, update_policy=update_policy)
    _warn(stored)
    if as_json:
        echo_json(_facts(stored))
        return
    what = "registered" if stored.created else "known already"
    click.echo(f"{stored.workflow_type} {what}, {'active' if stored.active else 'not active'}, fingerprint {stored.fingerprint}")
    if not stored.active:
        click.echo(f"hint: perdure definitions apply {file} --activate", err=True)


@definitions.command()
@click.argument("workflow_type", metavar="TYPE")
@click.option("--fingerprint", default="", help="Which version; default the active one.")
@json_option
@connected
async def show(client: Client, *, workflow_type: str, fingerprint: str, as_json: bool) -> None:
    """Print a definition, as the file that `apply` takes."""
    stored = await client.definitions.get(workflow_type, fingerprint)
    if as_json:
        click.echo(message_json(stored.message))
        return
    click.echo(
        f"# fingerprint {stored.fingerprint}, {'active' if stored.active else 'not active'}, policy revision {stored.policy_revision}"
    )
    click.echo(dump_definition(stored.message.definition), nl=False)


@definitions.command("list")
@click.argument("workflow_type", metavar="[TYPE]", required=False, shell_complete=complete_type)
@click.option("--active", "active_only", is_flag=True, help="Only those that new starts use.")
@list_options
@connected
async def list_definitions(client: Client, *, workflow_type: str | None, active_only: bool, shown: Shown, as_json: bool) -> None:
    """List definitions, of one type or all."""
    del as_json
    await DEFINITIONS.show(client.definitions.list(workflow_type or "", active_only=active_only), shown)


@definitions.command()
@click.argument("workflow_type", metavar="TYPE")
@click.argument("fingerprint")
@json_option
@connected
async def activate(client: Client, *, workflow_type: str, fingerprint: str, as_json: bool) -> None:
    """Make a registered version the one that new starts use."""
    stored = await client.definitions.activate(workflow_type, fingerprint)
    if as_json:
        echo_json(_facts(stored))
    else:
        click.echo(f"{stored.workflow_type} {stored.fingerprint} is active")


@definitions.command()
@file_argument
@click.option("--offline", is_flag=True, help="Ask no server.")
@json_option
@connected
async def lint(client: Client, *, file: Path, offline: bool, as_json: bool) -> None:
    """Name every fault of the definition in FILE; a server, where one is reached, checks it too. Stores nothing."""
    definition = load_definition(file)
    checked = None if offline else await _check(client, definition)
    if as_json:
        echo_json({"valid": True, "checkedBy": "server" if checked else "file only", **(_facts(checked) if checked else {})})
    elif checked is None:
        click.echo(f"{file}: no fault found without a server{'' if offline else ' (none was reached)'}")
    else:
        click.echo(f"{file}: valid, fingerprint {checked.fingerprint}")
    if checked is not None:
        _warn(checked)


@definitions.command()
@file_argument
@click.option("--language", required=True, type=click.Choice(list(constants.LANGUAGES)), help="What to write.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="File to write; default: standard output.")
@click.option("--package", default="", help="Go package, or Java class with its package [default: after the type or, in Java, the output].")
@click.option("--check", is_flag=True, help="Write nothing; fail if the output is not what would be written.")
@connected
async def generate(client: Client, *, file: Path, language: str, output: Path | None, package: str, check: bool) -> int:
    """Write the constants of the definition in FILE as source code: names of steps and signals, and, as the server computes them,
    fingerprint and step contracts. Stores nothing.

    perdure definitions generate note.yaml --language go --output note/note.go
    """
    if check and output is None:
        raise click.UsageError("--check compares with --output")
    if language == "java" and not package and output is not None:
        package = output.stem
    checked = await client.definitions.register(load_definition(file), validate_only=True)
    _warn(checked)
    made = constants.LANGUAGES[language](constants.facts_of(checked, file.name, package))
    return _put(made, output, check=check)


for command in (versions.pause, versions.resume, versions.delete, versions.migrate, versions.test):
    definitions.add_command(command)


def _put(made: str, output: Path | None, *, check: bool) -> int:
    """Writes it, or compares it with what is there: the exit code."""
    if output is None:
        click.echo(made, nl=False)
    elif not check:
        output.write_text(made, encoding="utf-8")
    elif not output.exists() or output.read_text(encoding="utf-8") != made:
        click.echo(f"error: {output} is stale: generate it anew", err=True)
        return NOT_COMPLETED
    return 0


async def _check(client: Client, definition: definition_pb2.Definition) -> RegisteredDefinition | None:
    try:
        return await client.definitions.register(definition, validate_only=True)
    except Unavailable:
        return None


def _warn(stored: RegisteredDefinition) -> None:
    for warning in stored.warnings:
        click.echo(f"warning: {warning}", err=True)


def _facts(stored: RegisteredDefinition) -> dict[str, object]:
    return {
        "workflowType": stored.workflow_type,
        "fingerprint": stored.fingerprint,
        "active": stored.active,
        "created": stored.created,
        "warnings": list(stored.warnings),
        "stepContracts": dict(stored.step_contracts),
    }
