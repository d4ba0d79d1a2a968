"""All commands of `perdure`: ours are imported when they are used, others come by the entry point group `perdure.cli`."""

import importlib
import sys
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Final

import click

from perdure.cli.exits import exit_lines
from perdure.worker.plan import client_version

GROUP: Final = "perdure.cli"
"""Entry points of this group are click Commands; the name of the entry point is the command's."""

SECTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "Workflows": {
        "start": "perdure.cli.start:start",
        "signal": "perdure.cli.signal:signal",
        "watch": "perdure.cli.watch:watch",
        "result": "perdure.cli.result:result",
        "show": "perdure.cli.show:show",
        "list": "perdure.cli.listing:list_workflows",
        "count": "perdure.cli.listing:count",
        "why": "perdure.cli.why:why",
        "tail": "perdure.cli.tail:tail",
        "attempts": "perdure.cli.history:attempts",
        "rounds": "perdure.cli.history:rounds",
        "children": "perdure.cli.history:children",
    },
    "What a person decides": {
        "cancel": "perdure.cli.people:cancel",
        "pause": "perdure.cli.people:pause",
        "resume": "perdure.cli.people:resume",
        "resolve": "perdure.cli.people:resolve",
        "update-step": "perdure.cli.tuning:update_step",
        "replay": "perdure.cli.people:replay",
        "terminate": "perdure.cli.people:terminate",
        "delete": "perdure.cli.people:delete",
    },
    "Many at once, and for good": {
        "batches": "perdure.cli.batches:batches",
        "purge": "perdure.cli.batches:purge",
        "redact": "perdure.cli.batches:redact",
        "export": "perdure.cli.files:export",
        "import": "perdure.cli.files:import_workflow",
    },
    "What is set up": {
        "definitions": "perdure.cli.definitions:definitions",
        "schedules": "perdure.cli.schedules:schedules",
        "resources": "perdure.cli.resources:resources",
        "namespaces": "perdure.cli.resources:namespaces",
        "keys": "perdure.cli.keys:keys",
    },
    "Operate": {
        "top": "perdure.cli.top:top",
        "doctor": "perdure.cli.doctor:doctor",
        "bench": "perdure.cli.bench:bench",
        "queues": "perdure.cli.fleet:queues",
        "workers": "perdure.cli.fleet:workers",
        "audit": "perdure.cli.fleet:audit",
        "info": "perdure.cli.fleet:info",
        "completion": "perdure.cli.completion:completion",
    },
}
"""Where each command is, by the section of `perdure --help` that it stands in."""
OWN: Final[Mapping[str, str]] = {name: place for section in SECTIONS.values() for name, place in section.items()}
FROM_SERVER: Final[Mapping[str, str]] = {
    "dev": "everything on this machine, without configuration",
    "serve": "a server",
}


class Commands(click.Group):
    """Finds commands by name, so that one command does not pay for the imports of all."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Our own first, then those that other distributions add, then those that could be."""
        del ctx
        added = [point.name for point in _added() if point.name not in OWN]
        return list(dict.fromkeys([*OWN, *sorted(added), *FROM_SERVER]))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, or one that says what to install."""
        del ctx
        if cmd_name in OWN:
            module, _, name = OWN[cmd_name].partition(":")
            found: click.Command = getattr(importlib.import_module(module), name)
            return found
        for point in _added():
            if point.name == cmd_name:
                return _load(point)
        return _missing(cmd_name) if cmd_name in FROM_SERVER else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """By section; what other distributions bring stands last."""
        others = [name for name in self.list_commands(ctx) if name not in OWN]
        for title, names in {**SECTIONS, "Servers": others}.items():
            rows = [(name, command.get_short_help_str(100)) for name in names if (command := self.get_command(ctx, name)) is not None]
            with formatter.section(title):
                formatter.write_dl(rows)


HELP: Final = f"""Durable workflows: start them, watch them, signal them.

The server is found by --address, else PERDURE_ADDRESS, else 127.0.0.1:7463, where `perdure dev` listens. `-o json` is for programs.

\b
Exit codes:
{exit_lines()}
"""


@click.command(cls=Commands, help=HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(client_version(), prog_name="perdure")
def cli() -> None:
    """The root of all commands."""


def main() -> None:
    """The entry point of the distribution."""
    cli.main(prog_name="perdure")


def _added() -> list[EntryPoint]:
    return list(entry_points(group=GROUP))


def _load(point: EntryPoint) -> click.Command:
    try:
        found = point.load()
    except ImportError as error:
        return _broken(point, f"cannot be loaded: {error}")
    return found if isinstance(found, click.Command) else _broken(point, "is no click command")


def _broken(point: EntryPoint, problem: str) -> click.Command:
    where = point.dist.name if point.dist is not None else "an unknown distribution"

    @click.command(point.name, help=f"(broken: {problem})", context_settings={"ignore_unknown_options": True})
    @click.argument("arguments", nargs=-1)
    def broken(arguments: tuple[str, ...]) -> None:
        del arguments
        click.echo(f"error: `perdure {point.name}` of {where} ({point.value}) {problem}", err=True)
        sys.exit(70)

    return broken


def _missing(name: str) -> click.Command:
    text = f"(not installed) {FROM_SERVER[name]}; comes with `pip install 'perdure[server]'`"

    @click.command(name, help=text, context_settings={"ignore_unknown_options": True})
    @click.argument("arguments", nargs=-1)
    def missing(arguments: tuple[str, ...]) -> None:
        del arguments
        click.echo(f"error: `perdure {name}` comes with the server: pip install 'perdure[server]'", err=True)
        sys.exit(2)

    return missing
