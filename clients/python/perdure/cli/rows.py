"""Lists: a table for people, an object a line or bare names for programs, no more than asked for."""

import functools
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, ParamSpec, TypeVar, cast

import click
from google.protobuf.message import Message
from rich.table import Table
from rich.text import Text

from perdure.cli.output import console, message_json

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

FORMATS: Final = ("table", "json", "name")


@dataclass(frozen=True)
class Shown:
    """How much of a list is shown, and how."""

    form: str
    limit: int


@dataclass(frozen=True)
class Listing(Generic[T]):
    """How one kind of thing is listed."""

    columns: Mapping[str, Callable[[T], str | Text]]
    name: Callable[[T], str]
    """What `-o name` prints: what other commands take."""
    message: Callable[[T], Message]
    """What `-o json` prints."""
    nothing: str = "nothing matches"

    async def show(self, found: AsyncIterator[T], shown: Shown) -> None:
        """Prints what is found, up to the limit, and says on standard error if there is more or nothing."""
        rows: list[T] = []
        more = False
        async for one in found:
            if len(rows) == shown.limit:
                more = True
                break
            rows.append(one)
            if shown.form != "table":
                click.echo(self.name(one) if shown.form == "name" else message_json(self.message(one)))
        if not rows:
            click.echo(self.nothing, err=True)
        elif shown.form == "table":
            console().print(self.table(rows))
        if more:
            click.echo(f"(more than {shown.limit}: --limit shows more)", err=True)

    def table(self, rows: list[T]) -> Table:
        """The rows; columns that are empty in all of them are left out, but not the first."""
        cells = [[cell(row) for cell in self.columns.values()] for row in rows]
        made = Table(box=None, header_style="bold", pad_edge=False)
        kept = [place for place, _ in enumerate(self.columns) if place == 0 or any(str(row[place]) for row in cells)]
        titles = list(self.columns)
        for place in kept:
            made.add_column(titles[place], overflow="fold")
        for row in cells:
            made.add_row(*(row[place] for place in kept))
        return made


def list_options(command: Callable[P, R]) -> Callable[P, R]:
    """Adds `-o table|json|name`, `--json` for short, and `--limit`; the command is told `shown`."""

    @click.option("-o", "--format", "form", type=click.Choice(FORMATS), help="json: one object a line; name: for pipes [default: table].")
    @click.option("--json", "as_json", is_flag=True, help="The same as `-o json`.")
    @click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="How many at most.")
    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        options = cast("dict[str, Any]", kwargs)
        form = options.pop("form") or ("json" if options["as_json"] else "table")
        options["shown"] = Shown(form, options.pop("limit"))
        options["as_json"] = form == "json"  # how errors are told
        return command(*args, **kwargs)

    return run
