"""`perdure tokens`: makes bearer tokens and their lines for the access file. A plug-in of the `perdure` command; asks no server."""

import json
import sys
from pathlib import Path

import click

from perdure_server.rpc.doors.permissions import Role
from perdure_server.rpc.doors.tokens import new_token, token_line


@click.group()
def tokens() -> None:
    """Bearer tokens for the access file of a server (see docs/security.md)."""


@tokens.command()
@click.argument("name")
@click.option("--role", "roles", multiple=True, type=click.Choice([role.value for role in Role]), help="What it is; may be repeated.")
@click.option("--in", "namespaces", multiple=True, metavar="NAMESPACE", help="Where; may be repeated [default: default].")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write the token to this new file, which only you may read.")
def create(name: str, roles: tuple[str, ...], namespaces: tuple[str, ...], out: Path | None) -> None:
    """Make a token for the caller NAME: the token is shown once, what the access file gets of it is its hash."""
    token = new_token()
    if out is not None:
        try:
            out.touch(0o600, exist_ok=False)
        except OSError as error:
            raise click.ClickException(f"cannot make {out}: {error.strerror}") from error
        out.write_text(token + "\n", encoding="utf-8")
    else:
        click.echo(token)
    told = {role: list(namespaces or ("default",)) for role in roles}
    granted = ", ".join(f"{role} = {json.dumps(where)}" for role, where in told.items())
    lines = ["# For the access file; the token itself is nowhere else.", "[[callers]]", f"name = {json.dumps(name)}"]
    lines += [f'tokens = ["{token_line(token)}"]', f"roles = {{ {granted} }}" if granted else "roles = {}"]
    click.echo("\n".join(lines), err=out is None)


@tokens.command(name="hash")
def hash_token() -> None:
    """Read a token from standard input; print its line for the access file."""
    try:
        click.echo(token_line(sys.stdin.readline().strip()))
    except ValueError as error:
        raise click.ClickException(str(error)) from error
