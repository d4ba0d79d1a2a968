"""perdure bench: a quick load, to judge an installation."""

import asyncio
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import click

from perdure import limits
from perdure.cli.options import json_option
from perdure.cli.output import echo_json
from perdure.cli.session import connected
from perdure.client import Client
from perdure.context import Context
from perdure.definition import Definition

TYPE: Final = "perdure-bench"
PERCENTILES: Final = (50, 99)


def plan() -> Definition:
    """Three steps in a row that do nothing; each result is stored before the next step begins."""
    definition = Definition(TYPE, version="1")

    @definition.step()
    async def first(ctx: Context[None], input: int) -> int:
        del ctx
        return input

    @definition.step()
    async def second(ctx: Context[None], first: int) -> int:
        del ctx
        return first

    @definition.step()
    async def third(ctx: Context[None], second: int) -> int:
        del ctx
        return second

    return definition


@dataclass(frozen=True)
class Load:
    """What was measured; times in seconds."""

    workflows: int
    in_flight: int
    elapsed: float
    cpu: float
    """Of this process: client and worker."""
    starts: Sequence[float]
    """Until a start was stored, each."""
    ends: Sequence[float]
    """Until its result was here, each."""

    def facts(self) -> dict[str, object]:
        """The figures for programs; times in ms."""
        told: dict[str, object] = {
            "workflows": self.workflows,
            "inFlight": self.in_flight,
            "workflowsPerSecond": round(self.workflows / self.elapsed, 1),
            "cpuSecondsPer1000": round(self.cpu / self.workflows * 1000, 3),
        }
        for name, times in (("start", self.starts), ("result", self.ends)):
            told |= {f"{name}P{share}Ms": round(percentile(times, share) * 1000, 2) for share in PERCENTILES}
        return told


def percentile(times: Sequence[float], share: int) -> float:
    """The time that `share` percent of them do not exceed."""
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, len(ordered) * share // 100)]


@click.command()
@click.option("--workflows", type=click.IntRange(1, 100_000), default=300, show_default=True, help="How many are measured.")
@click.option("--in-flight", type=click.IntRange(1, 1_000), default=64, show_default=True, help="How many at once; 1 measures latency.")
@click.option("--warm-up", type=click.IntRange(0, 10_000), default=20, show_default=True, help="How many run before, unmeasured.")
@json_option
@connected
async def bench(client: Client, *, workflows: int, in_flight: int, warm_up: int, as_json: bool) -> None:
    """Run workflows of three steps that do nothing, with a worker in this process, and print rate, times and CPU.

    They are of the type perdure-bench in the namespace, and gone an hour later. The figures hold for this machine's client and worker, too.
    """
    definition = plan()
    info = await client.server_info()  # a worker would wait longer for a server that is not there
    async with client.worker(definition, slots=in_flight * 2, handle_signals=False):
        await _run(client, warm_up, in_flight)
        load = await _run(client, workflows, in_flight)
    if as_json:
        echo_json(load.facts())
        return
    click.echo(f"{workflows} workflows of 3 steps, {in_flight} in flight, on {info.store} ({info.durability}), {info.coordination}")
    click.echo(f"  {workflows / load.elapsed:,.0f} workflows/s")
    for name, times in (("start to stored", load.starts), ("start to result", load.ends)):
        click.echo(f"  {name}: {', '.join(f'p{share} {percentile(times, share) * 1000:.1f} ms' for share in PERCENTILES)}")
    click.echo(f"  CPU of client and worker: {load.cpu / workflows * 1000:.2f} s per 1,000 workflows")


async def _run(client: Client, count: int, in_flight: int) -> Load:
    batch = uuid.uuid4().hex[:12]
    starts: list[float] = []
    ends: list[float] = []
    numbers = iter(range(count))
    began, cpu = time.perf_counter(), time.process_time()
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(in_flight, count)):
                group.create_task(_one_after_another(client, batch, numbers, starts, ends))
    except BaseExceptionGroup as together:
        raise together.exceptions[0] from None
    return Load(count, in_flight, time.perf_counter() - began, time.process_time() - cpu, starts, ends)


async def _one_after_another(client: Client, batch: str, numbers: Iterator[int], starts: list[float], ends: list[float]) -> None:
    for number in numbers:
        began = time.perf_counter()
        retention = timedelta(seconds=limits.BENCH_RETENTION)
        run = await client.start(TYPE, key=f"{batch}-{number}", input=number, retention=retention)
        starts.append(time.perf_counter() - began)
        await run.result(int)
        ends.append(time.perf_counter() - began)
