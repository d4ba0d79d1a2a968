"""Arguments and options that commands share: what they are called, what they take, and what is wrong with a value."""

import functools
import json
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn, ParamSpec, TypeVar, cast

import click

from perdure.cli.completion import complete_key, complete_type
from perdure.durations import parse_duration
from perdure.payloads import Payload

P = ParamSpec("P")
R = TypeVar("R")


class Duration(click.ParamType[timedelta]):
    """A duration with its unit, such as 30s."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        """The duration, or a usage error that says how to write one."""
        if isinstance(value, timedelta):
            return value
        try:
            return parse_duration(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Json(click.ParamType[Payload]):
    """A JSON value: itself, `@file`, or `-` for standard input. It travels as it was written."""

    name = "json"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Payload:
        """The payload, or a usage error."""
        if isinstance(value, Payload):
            return value
        text = self._read(str(value), param, ctx)
        try:
            json.loads(text, parse_constant=_refuse_constant)
        except ValueError as error:
            self.fail(f"not JSON: {error}. Text needs its own quotes, such as '\"text\"'", param, ctx)
        return Payload(json=text.strip())

    def _read(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value == "-":
            return sys.stdin.read()
        if not value.startswith("@"):
            return value
        try:
            return Path(value[1:]).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            self.fail(f"cannot read {value[1:]}: {error}", param, ctx)


class Label(click.ParamType[tuple[str, str]]):
    """name=value."""

    name = "name=value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Name and value, or a usage error."""
        if isinstance(value, tuple):
            return cast("tuple[str, str]", value)
        name, separator, content = str(value).partition("=")
        if not name or not separator:
            self.fail(f"{value!r} is not name=value", param, ctx)
        return name, content


def json_option(command: Callable[P, R]) -> Callable[P, R]:
    """Adds `-o json`, and `--json` for short; the command is told `as_json`."""

    @click.option("-o", "--format", "chosen_format", type=click.Choice(["text", "json"]), help="What is printed [default: text].")
    @click.option("--json", "as_json", is_flag=True, help="The same as `-o json`.")
    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        kwargs["as_json"] = kwargs.pop("chosen_format", None) == "json" or bool(kwargs["as_json"])
        return command(*args, **kwargs)

    return run


type_argument = click.argument("workflow_type", metavar="TYPE", shell_complete=complete_type)
key_argument = click.argument("key", metavar="KEY", shell_complete=complete_key)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
