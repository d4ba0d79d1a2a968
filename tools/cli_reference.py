"""Writes the reference part of docs/cli.md from the tree of commands, so that the two cannot differ.

python tools/cli_reference.py            write it
python tools/cli_reference.py --check    fail if it is stale
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import click

from perdure.cli.commands import FROM_SERVER, SECTIONS, cli
from perdure.cli.exits import EXITS
from perdure.cli.options import json_option
from perdure.cli.rows import list_options
from perdure.cli.session import connected
from perdure.client import Client

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "cli.md"
BEGIN: Final = "<!-- begin reference, made by `python tools/cli_reference.py` -->\n"
ESCAPED: Final = "\\|"
END: Final = "<!-- end reference -->\n"
SERVERS: Final = "These come with `pip install 'perdure[server]'`: see `perdure dev --help` and [configuration](configuration.md)."


def shared_options() -> list[click.Option]:
    """Options that every command has, or every list; told once."""

    @list_options
    @json_option
    @connected
    async def command(client: Client, /, **_: object) -> None:
        del client

    made = click.command()(command)
    seen: dict[str, click.Option] = {}
    for parameter in made.params:
        if isinstance(parameter, click.Option):
            seen.setdefault(parameter.opts[-1], parameter)
    return list(seen.values())


SHARED: Final = frozenset({"help", *(str(option.name) for option in shared_options())})


def page() -> str:
    """The page as it should be."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "\n" + "\n".join(reference()) + "\n" + END + after


def reference() -> Iterator[str]:
    """Exit codes, then every command by section."""
    yield from ("### Exit codes", "", "| code | means |", "| --- | --- |")
    yield from (f"| {code} | {meaning} |" for code, meaning in EXITS.items())
    yield from ("", "### Options of every command, and `--limit` of every list")
    root = click.Context(cli, info_name="perdure")
    yield from table(option for option in shared_options() if option.name != "chosen_format")
    for title, names in SECTIONS.items():
        yield from ("", f"### {title}")
        for name in names:
            command = cli.get_command(root, name)
            assert command is not None, name
            yield from described(command, click.Context(command, info_name=name, parent=root))
    yield from (
        "",
        "### Servers",
        "",
        "These come with `pip install 'perdure[server]'`: see `perdure dev --help` and [configuration](configuration.md).",
        "",
    )
    yield from (f"- `perdure {name}`: {text}" for name, text in FROM_SERVER.items())


def described(command: click.Command, context: click.Context) -> Iterator[str]:
    """One command, or all commands of a group."""
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None, name
            yield from described(found, click.Context(found, info_name=name, parent=context))
        return
    arguments = " ".join(part for part in command.collect_usage_pieces(context) if part != "[OPTIONS]")
    yield from (
        "",
        f"#### `{f'{context.command_path} {arguments}'.strip()}`",
        "",
    )
    lines = [line.strip() for line in (command.help or "").replace("\b\n", "").strip().splitlines()]
    yield from (f"    {line}" if line.startswith(("perdure ", "bash:", "zsh:", "fish:")) else line for line in lines)
    yield from table(option for option in command.params if isinstance(option, click.Option) and option.name not in SHARED)


def table(options: Iterable[click.Option]) -> Iterator[str]:
    """Options with what they mean; nothing if there are none."""
    context = click.Context(cli, info_name="perdure")
    records = [record for option in options if (record := option.get_help_record(context)) is not None]
    if records:
        yield from ("", "| option | means |", "| --- | --- |")
        yield from (f"| `{name.replace('|', ESCAPED)}` | {text} |" for name, text in records)


def main() -> int:
    """Writes the page, or with `--check` compares it; 1 if it is stale."""
    made = page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(made, encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != made:
        print("docs/cli.md is stale: run `python tools/cli_reference.py`")
        return 1
    print("docs/cli.md is fresh")
    return 0


if __name__ == "__main__":
    sys.exit(main())
