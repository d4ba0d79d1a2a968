"""The scenes of tools/bench/flat.py: what each measures, at full size and small, and what the figures should be."""

import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from perdure_server.kernel.workflow import WorkflowKey
from tools.bench.measures import IN_FLIGHT
from tools.bench.preload import preload
from tools.bench.processes import Driver, Processes
from tools.bench.systems import Perdure

Figures = dict[str, float]
Report = Callable[[str, Figures], None]  # told the size, and what was measured, as soon as it is known


@dataclass(frozen=True)
class Limit:
    """What a figure should be: at least `least`, at most `most`."""

    figure: str
    least: float | None = None
    most: float | None = None

    def says(self, value: float) -> str:
        """In words, and whether it is met."""
        met = (self.least is None or value >= self.least) and (self.most is None or value <= self.most)
        wanted = f"at least {self.least:g}" if self.least is not None else f"at most {self.most:g}"
        return f"{self.figure} {value:,.4g}, wanted {wanted}: {'met' if met else 'NOT MET'}"


@dataclass(frozen=True)
class Scene:
    """One scene: `run` reports its figures. `full` and `small` are its sizes, `seconds` how long it may take at full size."""

    title: str
    run: Callable[[Report, "Sizes"], None]
    full: "Sizes"
    small: "Sizes"
    seconds: int
    limits: tuple[Limit, ...] = field(default=())


@dataclass(frozen=True)
class Sizes:
    """How much: `counts` one after the other, `rounds` to take medians of, each of `seconds`; the rest as the scene says."""

    counts: tuple[int, ...] = (0,)
    rounds: int = 5
    seconds: float = 5.0
    more: int = 0


@contextmanager
def running(system: Perdure, scenes: bool = True) -> Iterator[tuple[Driver, Processes]]:
    """A system on an empty store; `scenes`: with the worker and the load of the scenes."""
    with TemporaryDirectory(prefix="perdure-bench-") as scratch, Processes(Path(scratch)) as processes:
        yield (system.start_scenes(processes) if scenes else system.start(processes)), processes


def waiting(report: Report, sizes: Sizes) -> None:
    """Two installations side by side, one empty, one with more and more waiting workflows; load on one, then on the other, in turn."""
    with running(Perdure("empty"), scenes=False) as (empty, _), running(Perdure("full"), scenes=False) as (full, processes):
        url = f"mongodb://127.0.0.1:{processes.port('store')}/?directConnection=true&retryWrites=false"
        there = 0
        for count in sizes.counts:
            preload(url, WorkflowKey("default", "parked", "first"), range(there, count))
            there = count
            _speeds("empty", empty, sizes.seconds / 2), _speeds("full", full, sizes.seconds / 2)  # warm up
            rounds = [{**_speeds("empty", empty, sizes.seconds), **_speeds("full", full, sizes.seconds)} for _ in range(sizes.rounds)]
            figures = {key: median(each[key] for each in rounds) for key in rounds[0]}
            figures["throughput_ratio"] = figures["full_workflows_per_second"] / figures["empty_workflows_per_second"]
            figures["latency_ratio"] = figures["full_latency_p50_ms"] / figures["empty_latency_p50_ms"]
            report(f"{count:,} waiting", {**figures, **_memory(processes)})


def _speeds(name: str, driver: Driver, seconds: float) -> Figures:
    done = driver.do("run", seconds=seconds, in_flight=IN_FLIGHT)
    latency = driver.do("latency", seconds=seconds / 2, most=500)
    return {f"{name}_workflows_per_second": done["count"] / done["seconds"], f"{name}_latency_p50_ms": latency["p50_ms"]}


def idle(report: Report, sizes: Sizes) -> None:
    """The CPU of every process while nothing happens, with so many waiting workflows; the load program, which stands for callers, aside."""
    with running(Perdure("idle"), scenes=False) as (driver, processes):
        there = 0
        for count in sizes.counts:
            if count:
                driver.do("park", count=count - there, seconds=120, in_flight=IN_FLIGHT)
            there = count
            time.sleep(15)  # what follows the last start: batches, views, and sessions that are let go
            before, began = processes.cpu_seconds(), time.monotonic()
            time.sleep(sizes.seconds)
            after, seconds = processes.cpu_seconds(), time.monotonic() - began
            spent = {name: (after[name] - before[name]) / seconds * 100 for name in after if name != "load"}
            figures = {f"{name}_cpu_percent": of for name, of in spent.items()}
            report(f"{count:,} waiting", {"cpu_percent": sum(spent.values()), **figures, **_memory(processes)})


def servers(report: Report, sizes: Sizes) -> None:
    """One server, and two on one store, in turn: CPU milliseconds per workflow of all processes, with as many in flight per server."""
    found: dict[str, list[float]] = {}
    for number in range(2 * sizes.rounds):
        count, name = ((1, "one"), (2, "two"))[number % 2]
        for key, value in _with_servers(count, sizes).items():
            found.setdefault(f"{name}_{key}", []).append(value)
    medians = {key: median(values) for key, values in found.items()}
    report("one and two", {"cpu_ratio": medians["two_cpu_ms"] / medians["one_cpu_ms"], **medians})


def _with_servers(count: int, sizes: Sizes) -> Figures:
    system = Perdure("servers", servers=count, metrics=True)
    with running(system, scenes=False) as (driver, processes):
        driver.do("run", seconds=sizes.seconds / 2, in_flight=count * sizes.more)
        before, written = processes.cpu_seconds(), _written(system)
        done = driver.do("run", seconds=sizes.seconds, in_flight=count * sizes.more)
        spent = {part: of - before[part] for part, of in processes.cpu_seconds().items()}
        made = {key: of - written[key] for key, of in _written(system).items()}
    kinds = dict.fromkeys((part.partition("-")[0] for part in spent), 0.0)
    for part, of in spent.items():
        kinds[part.partition("-")[0]] += of / done["count"] * 1_000
    return {
        "cpu_ms": sum(kinds.values()),
        **{f"cpu_ms_of_{kind}": of for kind, of in kinds.items()},
        "workflows_per_second": done["count"] / done["seconds"],
        "conflicts_per_1000_writes": made["conflicts"] / made["writes"] * 1_000,
        "writes_per_batch": made["writes"] / made["batches"],
    }


_METRICS: Final = {
    "perdure_commit_conflicts_total": "conflicts",
    "perdure_commit_batch_size_sum": "writes",
    "perdure_commit_batch_size_count": "batches",
}


def _written(system: Perdure) -> Figures:
    """What the servers' metrics say of their writes."""
    found = dict.fromkeys(_METRICS.values(), 0.0)
    for line in (line for port in system.metrics_ports for line in _metrics(port)):
        key = _METRICS.get(line.partition("{")[0].partition(" ")[0])
        if key is not None:
            found[key] += float(line.rpartition(" ")[2])
    return found


def _metrics(port: int) -> list[str]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        text: str = answer.read().decode()
    return text.splitlines()


def loaded(what: str, counts: str, **others: str) -> Callable[[Report, Sizes], None]:
    """A scene of tools/bench/load/perdure_scenes.py: its argument `counts` takes each count, `others` name what takes the other sizes."""

    def run(report: Report, sizes: Sizes) -> None:
        for count in sizes.counts:
            with running(Perdure(what)) as (driver, processes):
                figures = driver.do(what, **{counts: count}, **{name: getattr(sizes, size) for name, size in others.items()})
                if what == "workers":
                    done = driver.do("run", seconds=sizes.seconds, in_flight=IN_FLIGHT)
                    figures["workflows_per_second"] = done["count"] / done["seconds"]
                report(f"{count:,}", {**figures, **_memory(processes)})

    return run


def timers(command: str, counts: str, **others: str) -> Callable[[Report, Sizes], None]:
    """Durable waits that `command` of tools/bench/load/perdure_timers.py sets; arguments as for `loaded`. With the CPU while they end."""

    def run(report: Report, sizes: Sizes) -> None:
        for count in sizes.counts:
            with running(Perdure("timers")) as (driver, processes):
                figures = driver.do(command, **{counts: count}, **{name: getattr(sizes, size) for name, size in others.items()})
                before = processes.cpu_seconds()
                driver.do("fired")
                spent = {name: of - before[name] for name, of in processes.cpu_seconds().items()}
                figures |= driver.do("lateness")
                figures |= {f"{name}_cpu_ms_per_timer": of / figures["timers"] * 1_000 for name, of in spent.items() if name != "load"}
                report(f"{count:,}", {**figures, **_memory(processes)})

    return run


def _memory(processes: Processes) -> Figures:
    return {f"{name}_mib": size for name, size in processes.memory_mib().items()} | {
        f"{name}_peak_mib": size for name, size in processes.peak_memory_mib().items()
    }


_FLAT: Final = (Limit("throughput_ratio", least=0.85), Limit("latency_ratio", most=1.15))
_IN_TIME: Final = (Limit("started_in_time", least=1), Limit("earliest_ms", least=0))
_QUICK: Final = (Limit("late_p99_ms", most=250), Limit("seen_late_p99_ms", most=250))

SCENES: Final[dict[str, Scene]] = {
    "idle": Scene(
        "CPU while nothing happens, of server, store, Redis and worker",
        idle,
        Sizes(counts=(0, 10_000), seconds=30),
        Sizes(counts=(0, 500), seconds=10),
        180,
        (Limit("cpu_percent", most=2.0),),
    ),
    "graphs": Scene(
        "a step of a graph of 1,000 steps against one of a graph of 10",
        loaded("graphs", "rounds"),
        Sizes(counts=(5,)),
        Sizes(counts=(1,)),
        150,
        (Limit("step_ratio", most=3.0),),
    ),
    "timers": Scene(
        "1,000 durable waits that end per second, for ten seconds: how late",
        timers("set_rate", "per_second", seconds="seconds"),
        Sizes(counts=(1_000,), seconds=10),
        Sizes(counts=(100,), seconds=3),
        120,
        (*_IN_TIME, *_QUICK),
    ),
    "burst": Scene(
        "so many durable waits that end at one moment",
        timers("set_burst", "count"),
        Sizes(counts=(10_000,)),
        Sizes(counts=(500,)),
        300,
        _IN_TIME,
    ),
    "delayed": Scene(
        "delayed starts, 1,000 a second for ten seconds: how late a worker begins their first step",
        loaded("delayed", "per_second", seconds="seconds"),
        Sizes(counts=(1_000,), seconds=10),
        Sizes(counts=(100,), seconds=3),
        150,
        _IN_TIME,
    ),
    "delayed-burst": Scene(
        "so many delayed starts due at one moment",
        loaded("delayed_burst", "count"),
        Sizes(counts=(10_000,)),
        Sizes(counts=(500,)),
        240,
        _IN_TIME,
    ),
    "watchers": Scene(
        "so many streams that watch 100 workflows of one server",
        loaded("watchers", "count", workflows="more"),
        Sizes(counts=(10_000,), more=100),
        Sizes(counts=(200,), more=10),
        180,
    ),
    "workers": Scene(
        "so many connected workers of one slot each",
        loaded("workers", "count"),
        Sizes(counts=(1_000,)),
        Sizes(counts=(50,), seconds=2),
        120,
    ),
    "permits": Scene(
        "so many claims under one resource of 100 units, in workflows of one step and in chains of ten; a line for one permit",
        loaded("permits", "count", capacity="more"),
        Sizes(counts=(10_000,), more=100),
        Sizes(counts=(500,), more=100),
        240,
        (
            Limit("acquisitions_per_second", least=1_000),
            Limit("acquisitions_in_chains_per_second", least=1_000),
            Limit("hand_over_p99_ms", most=100),
        ),
    ),
    "servers": Scene(
        "two servers on one store against one, as many workflows in flight at each",
        servers,
        Sizes(rounds=5, seconds=4, more=IN_FLIGHT),
        Sizes(rounds=1, seconds=2, more=IN_FLIGHT),
        240,
        (Limit("cpu_ratio", most=1.15),),
    ),
    "waiting": Scene(
        "throughput and latency beside an installation that has so many waiting workflows",
        waiting,
        Sizes(counts=(0, 10_000, 100_000, 1_000_000), seconds=3),
        Sizes(counts=(0, 2_000), rounds=1, seconds=2),
        720,
        _FLAT,
    ),
    "children": Scene(
        "one map step over so many children",
        loaded("children", "count"),
        Sizes(counts=(5_000, 100_000)),
        Sizes(counts=(1_000,)),
        900,
    ),
}
