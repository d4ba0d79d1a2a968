"""perdure top: what is queued, runs, waits, lacks permits, is parked or held; permits and workers. Redraws in place."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeVar

import click
from google.protobuf import json_format
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from perdure.cli.fleet import QUEUES, WORKERS, age
from perdure.cli.listing import WORKFLOWS
from perdure.cli.options import Duration, json_option
from perdure.cli.output import COLOURS, console, echo_json
from perdure.cli.resources import RESOURCES
from perdure.cli.session import connected
from perdure.client import Client
from perdure.counting import Count
from perdure.errors import Unavailable
from perdure.filtering import Filter
from perdure.operation_values import Queue, WorkerSession
from perdure.resource_values import Resource
from perdure.view import Workflow, WorkflowState

T = TypeVar("T")

OPEN: Final = tuple(state for state in WorkflowState if not state.is_ended and state is not WorkflowState.UNKNOWN)
PHASES: Final = {
    "EXECUTING": "executing",
    "QUEUED": "queued",
    "THROTTLED": "throttled",
    "WAITING": "waiting",
    "BACKING_OFF": "backing off",
    "PAUSED": "paused",
    "NEEDS_ATTENTION": "held",
    "NO_WORKER": "no worker",
    "INCOMPATIBLE": "incompatible",
}
"""How the phases are called, from what moves to what a person must look at."""
ALARMING: Final = frozenset({"NEEDS_ATTENTION", "NO_WORKER", "INCOMPATIBLE"})
_SHOWN: Final = 200  # of each kind, before they are cut to the screen
_HEADINGS: Final = 8  # lines that are no rows


@dataclass(frozen=True)
class Figures:
    """What is known of a namespace at one moment."""

    time: datetime
    phases: Count
    queues: list[Queue]
    resources: list[Resource]
    workers: list[WorkerSession]
    held: list[Workflow]

    @property
    def oldest(self) -> Queue | None:
        """The queue whose first step has been ready for longest."""
        waiting = [queue for queue in self.queues if queue.oldest_wait is not None]
        return max(waiting, key=lambda queue: queue.oldest_wait or timedelta(), default=None)


async def look(client: Client) -> Figures:
    """Asks for everything at once. Raises PerdureError."""
    async with asyncio.TaskGroup() as group:
        phases = group.create_task(client.count(Filter(states=OPEN), group_by="phase"))
        queues = group.create_task(_some(client.operations.queues()))
        resources = group.create_task(_some(client.resources.list()))
        workers = group.create_task(_some(client.operations.workers()))
        held = group.create_task(_some(client.list(where=Filter(phases=["NEEDS_ATTENTION"])), 5))
    return Figures(datetime.now().astimezone(), phases.result(), queues.result(), resources.result(), workers.result(), held.result())


async def _some(found: AsyncIterator[T], most: int = _SHOWN) -> list[T]:
    taken: list[T] = []
    async for one in found:
        taken.append(one)
        if len(taken) == most:
            break
    return taken


@click.command()
@click.option("--once", is_flag=True, help="Print once and end; so it is without a terminal.")
@click.option("--interval", type=Duration(), default="2s", show_default=True, help="How often it looks.")
@json_option
@connected
async def top(client: Client, *, once: bool, interval: timedelta, as_json: bool) -> None:
    """Show what a namespace does: phases, queues with their oldest age, permits, workers, and what needs a person."""
    figures = await _looked(client)
    if as_json:
        echo_json(facts_of(figures))
        return
    screen = console()
    if once or not screen.is_terminal:
        screen.print(board(figures, client.config.namespace, None))
        return
    with Live(_fitted(screen, client, figures), console=screen, auto_refresh=False, screen=True) as live:
        while True:
            await asyncio.sleep(max(0.1, interval.total_seconds()))
            try:
                figures = await _looked(client)
            except Unavailable as error:
                lost = Text(f"no answer since {figures.time:%H:%M:%S}: {error.message}", style="red")
                live.update(Group(lost, _fitted(screen, client, figures)), refresh=True)
                continue
            live.update(_fitted(screen, client, figures), refresh=True)


async def _looked(client: Client) -> Figures:
    try:
        return await look(client)
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None


def _fitted(screen: Console, client: Client, figures: Figures) -> RenderableType:
    return board(figures, client.config.namespace, screen.height)


def board(figures: Figures, namespace: str, height: int | None) -> RenderableType:
    """The whole picture, cut to `height` lines (None: as long as it is)."""
    parts: list[RenderableType] = [_heading(figures, namespace), _phases(figures), _oldest(figures)]
    queues = sorted(figures.queues, key=lambda queue: (-queue.ready, -queue.running, queue.queue, queue.step))
    used = sorted(figures.resources, key=lambda resource: (-resource.waiting, -resource.in_use, resource.name))
    workers = sorted(figures.workers, key=lambda worker: (-worker.held, worker.worker_id))
    rows = len(queues) + len(used) + len(workers) + len(figures.held)
    left = rows + 8 if height is None else max(4, height - _HEADINGS - 4)  # each kind has two lines of its own
    for title, listing, found in (
        ("held: a person must decide", WORKFLOWS, figures.held),
        ("queues", QUEUES, queues),
        ("permits", RESOURCES, used),
        ("workers", WORKERS, workers),
    ):
        if not found or left <= 0:
            continue
        cut = found[: max(1, min(left, len(found) if height is None else -(-left // 2)))]
        left -= len(cut) + 2
        more = f" ({len(found) - len(cut)} more)" if len(cut) < len(found) else ""
        parts += [Text(""), Text(f"{title}{more}", style="bold"), listing.table(cut)]  # type: ignore[arg-type]  # each with its own kind
    return Group(*parts)


def _heading(figures: Figures, namespace: str) -> Text:
    sign = "~" if figures.phases.is_estimate else ""
    return Text.assemble((f"perdure {namespace}", "bold"), f"  {figures.time:%H:%M:%S}  {sign}{figures.phases.count} open")


def _phases(figures: Figures) -> Text:
    told = Text()
    for phase, name in PHASES.items():
        number = figures.phases.groups.get(phase, 0)
        style = ("bold red" if phase in ALARMING else COLOURS.get(phase, "")) if number else COLOURS["BLOCKED"]
        told.append(f"{name} {number}   ", style=style)
    return told


def _oldest(figures: Figures) -> Text:
    queue = figures.oldest
    if queue is None:
        return Text("nothing is ready and waits", style=COLOURS["BLOCKED"])
    return Text(f"oldest ready step: {age(queue.oldest_wait) or '0s'}, {queue.workflow_type} {queue.step} in queue {queue.queue}")


def facts_of(figures: Figures) -> dict[str, object]:
    """The same for programs."""
    oldest = figures.oldest.oldest_wait if figures.oldest is not None else None
    return {
        "time": figures.time.isoformat(),
        "open": figures.phases.count,
        "openIsEstimate": figures.phases.is_estimate,
        "phases": {phase: figures.phases.groups.get(phase, 0) for phase in PHASES},
        "oldestReadySeconds": oldest.total_seconds() if oldest is not None else None,
        "queues": [json_format.MessageToDict(queue.message) for queue in figures.queues],
        "resources": [json_format.MessageToDict(resource.message) for resource in figures.resources],
        "workers": [json_format.MessageToDict(worker.message) for worker in figures.workers],
    }
