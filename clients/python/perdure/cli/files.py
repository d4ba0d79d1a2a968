"""perdure export and import: one workflow as a file, for a report of a fault."""

import asyncio
import sys
from pathlib import Path
from typing import BinaryIO

import click

from perdure.cli.options import json_option, key_argument, type_argument
from perdure.cli.output import echo_json
from perdure.cli.session import connected
from perdure.cli.verbs import Told
from perdure.client import Client


@click.command()
@type_argument
@key_argument
@click.option("--round", "round_number", type=int, help="Which round of the key; default the current one.")
@click.option("--no-payloads", is_flag=True, help="Leave values out; their sizes and digests stay. The file says so.")
@click.option("--with-rounds", is_flag=True, help="Also earlier rounds, for reading.")
@click.option("--to", "target", type=click.Path(dir_okay=False, path_type=Path), help="File; default: standard output.")
@json_option
@connected
async def export(
    client: Client,
    *,
    workflow_type: str,
    key: str,
    round_number: int | None,
    no_payloads: bool,
    with_rounds: bool,
    target: Path | None,
    as_json: bool,
) -> None:
    """Write one workflow with its definition, history and values into a file, without tokens or secrets.

    perdure export note note-42 --no-payloads --to note-42.perdure
    """
    if target is None and sys.stdout.isatty():
        raise click.UsageError("give --to FILE, or redirect the output")
    run = client.run(workflow_type, key, round=round_number)
    file = b"".join([piece async for piece in run.export(with_payloads=not no_payloads, with_rounds=with_rounds)])
    if target is None:
        sys.stdout.buffer.write(file)
        sys.stdout.buffer.flush()
        return
    await asyncio.to_thread(target.write_bytes, file)
    what = "without its values" if no_payloads else "with its values: look before you send it to anyone"
    facts = {"file": str(target), "bytes": len(file), "payloads": not no_payloads}
    Told(f"{workflow_type}/{key} is in {target} ({len(file)} bytes), {what}", facts).say(as_json=as_json)


@click.command("import")
@click.argument("file", type=click.File("rb"))
@click.option("--key", default="", help="Its key here; default as exported.")
@click.option("--dry-run", is_flag=True, help="Check, and store nothing.")
@json_option
@connected
async def import_workflow(client: Client, *, file: BinaryIO, key: str, dry_run: bool, as_json: bool) -> None:
    """Put an exported workflow from FILE (or -) into the namespace, paused: no step runs before `perdure resume`.

    perdure import note-42.perdure --key note-42-copy
    """
    stored = await client.import_workflow(file.read(), key=key, validate_only=dry_run)
    if as_json:
        echo_json({"workflowType": stored.workflow_type, "businessKey": stored.business_key, "state": stored.state, "dryRun": dry_run})
        return
    name = f"{stored.workflow_type}/{stored.business_key}"
    if dry_run:
        click.echo(f"{name} could be imported")
    elif stored.end_time is not None:
        click.echo(f"{name} is imported; it has ended, {stored.state}")
    else:
        click.echo(f"{name} is imported and paused; `perdure why` tells where it is, `perdure resume` lets it go on")
