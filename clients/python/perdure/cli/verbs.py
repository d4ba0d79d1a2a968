"""What one verb on one workflow needs: TYPE, KEY, a reason, a request id, a format and a server; and how its answer is told."""

import functools
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Concatenate, ParamSpec

import click

from perdure.cli.options import json_option, key_argument, type_argument
from perdure.cli.output import echo_json
from perdure.cli.session import connected
from perdure.client import Client
from perdure.run import Run

P = ParamSpec("P")


@dataclass(frozen=True)
class Words:
    """What a person says along with a verb."""

    reason: str
    """Why, for people and the audit trail."""
    request_id: str
    """Makes a repeat recognisable; empty: a new one."""


@dataclass(frozen=True)
class Told:
    """What a command says when it is done: a line for people, facts for programs."""

    text: str
    facts: dict[str, Any] = field(default_factory=dict[str, Any])

    def say(self, *, as_json: bool) -> None:
        """Prints one of the two."""
        if as_json:
            echo_json(self.facts)
        else:
            click.echo(self.text)


reason_option = click.option("--reason", default="", help="Why, for people and the audit trail.")
request_option = click.option("--request-id", default="", help="Makes a repeat recognisable.")
yes_option = click.option("--yes", is_flag=True, help="Do not ask.")


def workflow_verb(command: Callable[Concatenate[Run, Words, P], Awaitable[Told]]) -> click.Command:
    """Makes the command of a verb: `async def verb(run, words, *, its own options) -> Told`, whose options stand below this decorator."""
    own = {parameter.name for parameter in getattr(command, "__click_params__", ())}

    @functools.wraps(command)
    async def conduct(client: Client, /, *args: P.args, **kwargs: P.kwargs) -> None:
        as_json = bool(kwargs.pop("as_json"))
        run = client.run(str(kwargs.pop("workflow_type")), str(kwargs.pop("key")))
        words = Words(str(kwargs.pop("reason")), str(kwargs.pop("request_id")))
        (await command(run, words, *args, **kwargs)).say(as_json=as_json)

    # The lowest first: TYPE and KEY stand before arguments of the verb's own.
    made = click.command()(type_argument(key_argument(reason_option(request_option(json_option(connected(conduct)))))))
    made.params.sort(key=lambda option: isinstance(option, click.Option) and option.name not in own)  # its own options first
    return made


def name_of(run: Run) -> str:
    """TYPE/KEY."""
    return f"{run.ref.workflow_type}/{run.key}"


def sure(question: str, *, yes: bool) -> None:
    """Asks where there is a person; a script must say --yes."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError("this cannot be undone: give --yes")
    click.confirm(question, abort=True, err=True)
