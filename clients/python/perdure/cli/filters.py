"""Options that say which workflows: the same for every command on many of them."""

import functools
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final, ParamSpec, TypeVar, cast, get_args

import click

from perdure.cli.completion import complete_type
from perdure.cli.options import Label
from perdure.durations import parse_duration
from perdure.filtering import Filter, Phase
from perdure.view import WorkflowRef, WorkflowState

P = ParamSpec("P")
R = TypeVar("R")

STATES: Final = tuple(state.lower() for state in WorkflowState if state is not WorkflowState.UNKNOWN)
PHASES: Final = tuple(phase.lower() for phase in get_args(Phase))
ENDED: Final = tuple(state for state in WorkflowState if state.is_ended)


class Moment(click.ParamType[datetime]):
    """A time, or how long ago: `2030-01-31T12:00:00Z`, `2030-01-31`, `90m`."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """The time, in UTC where no zone is given."""
        if isinstance(value, datetime):
            return value
        text = str(value)
        try:
            return datetime.now(UTC) - parse_duration(text)
        except ValueError:
            pass
        try:
            found = datetime.fromisoformat(text)
        except ValueError:
            self.fail(f"{text!r} is no time: write 2030-01-31T12:00:00Z, 2030-01-31, or how long ago, such as 90m", param, ctx)
        return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def filter_options(command: Callable[P, R]) -> Callable[P, R]:
    """Adds [TYPE] and the options of a filter; the command is told `where`."""

    @click.argument("workflow_type", metavar="[TYPE]", required=False, shell_complete=complete_type)
    @click.option("--state", "states", type=click.Choice(STATES, case_sensitive=False), multiple=True, help="Only these; repeatable.")
    @click.option("--phase", "phases", type=click.Choice(PHASES, case_sensitive=False), multiple=True, help="Only open ones in these.")
    @click.option("--label", "labels", type=Label(), multiple=True, help="Only those with this label.")
    @click.option("--key", "keys", multiple=True, help="Only these business keys.")
    @click.option("--queue", "queues", multiple=True, help="Only those with a step that is ready or running in this queue.")
    @click.option("--started-after", type=Moment(), help="2030-01-31T12:00:00Z, or how long ago: 90m.")
    @click.option("--started-before", type=Moment(), help="The same.")
    @click.option("--ended-after", type=Moment(), help="The same; only ended ones.")
    @click.option("--ended-before", type=Moment(), help="The same; only ended ones.")
    @click.option("--failure-type", "failure_types", multiple=True, help="Only those that failed so, such as asr.quota.")
    @click.option("--fingerprint", "fingerprints", multiple=True, help="Only those that run by this definition.")
    @click.option("--schedule", "schedule_id", default="", help="Only those that this schedule started.")
    @click.option("--parent", nargs=2, metavar="TYPE KEY", help="Only children of this workflow.")
    @click.option("--paused/--unpaused", default=None, help="Only paused, or only unpaused ones.")
    @click.option("--archived", is_flag=True, help="Also earlier rounds.")
    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        options = cast("dict[str, Any]", kwargs)
        parent = options.pop("parent")
        options["where"] = Filter(
            workflow=options.pop("workflow_type") or (),
            states=[WorkflowState[state.upper()] for state in options.pop("states")],
            phases=[phase.upper() for phase in options.pop("phases")],
            labels=dict(options.pop("labels")),
            parent=WorkflowRef(*parent) if parent else None,
            include_archived=options.pop("archived"),
            **{name: options.pop(name) for name in _AS_THEY_ARE},
        )
        return command(*args, **kwargs)

    return run


_AS_THEY_ARE: Final = (
    *("keys", "queues", "started_after", "started_before", "ended_after", "ended_before", "failure_types", "fingerprints"),
    *("schedule_id", "paused"),
)
