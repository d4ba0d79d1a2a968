"""Whether Perdure stays flat as the work grows, and its limits; prints figures, asserts nothing. See docs/performance.md.

`python -m tools.bench.flat [SCENE...]`; scenes: waiting, graphs, timers, burst, watchers, workers, children, permits, servers.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

from tools.bench.measures import IN_FLIGHT
from tools.bench.preload import preload
from tools.bench.processes import BenchFailed, Driver, Processes
from tools.bench.systems import Perdure

Figures = dict[str, float]

ROUNDS: Final = 5
SECONDS: Final = 5.0


@contextmanager
def running(system: Perdure, scenes: bool = True) -> Iterator[tuple[Driver, Processes]]:
    """A system on an empty store; `scenes`: with the worker and the load of the scenes."""
    with tempfile.TemporaryDirectory(prefix="perdure-bench-") as scratch, Processes(Path(scratch)) as processes:
        yield (system.start_scenes(processes) if scenes else system.start(processes)), processes


def waiting(count: int) -> Figures:
    """Two installations side by side, one empty, one with `count` waiting workflows; load on one, then on the other, in turn."""
    with running(Perdure("empty"), scenes=False) as (empty, _), running(Perdure("full"), scenes=False) as (full, processes):
        full.do("park", count=1, seconds=60, in_flight=1)
        preload(f"mongodb://127.0.0.1:{processes.port('store')}/?directConnection=true&retryWrites=false", "parked", count)
        _speeds("empty", empty), _speeds("full", full)  # warm up
        rounds = [{**_speeds("empty", empty), **_speeds("full", full)} for _ in range(ROUNDS)]
        medians = {key: median(each[key] for each in rounds) for key in rounds[0]}
        rate, late = (medians[f"full_{key}"] / medians[f"empty_{key}"] for key in ("workflows_per_second", "latency_p50_ms"))
        return {"waiting": count, **medians, "throughput_ratio": rate, "latency_ratio": late}


def _speeds(name: str, driver: Driver) -> Figures:
    done = driver.do("run", seconds=SECONDS, in_flight=IN_FLIGHT)
    latency = driver.do("latency", seconds=SECONDS / 2, most=500)
    return {f"{name}_workflows_per_second": done["count"] / done["seconds"], f"{name}_latency_p50_ms": latency["p50_ms"]}


def servers() -> Figures:
    """One server, and two on one store, in turn: CPU milliseconds per workflow of everything, and workflows per second."""
    figures: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        for count in (1, 2):
            with running(Perdure("servers", servers=count), scenes=False) as (driver, processes):
                driver.do("run", seconds=SECONDS / 2, in_flight=IN_FLIGHT)
                before = sum(processes.cpu_seconds().values())
                done = driver.do("run", seconds=SECONDS, in_flight=IN_FLIGHT)
                spent = sum(processes.cpu_seconds().values()) - before
                figures.setdefault(f"{count}_cpu_ms", []).append(spent / done["count"] * 1_000)
                figures.setdefault(f"{count}_workflows_per_second", []).append(done["count"] / done["seconds"])
    medians = {key: median(values) for key, values in figures.items()}
    return {**medians, "cpu_ratio": medians["2_cpu_ms"] / medians["1_cpu_ms"]}


def scene(what: str, **arguments: float) -> Callable[[], Figures]:
    """A scene of tools/bench/load/perdure_scenes.py, with the memory of every process after it."""

    def run() -> Figures:
        with running(Perdure(what)) as (driver, processes):
            figures = driver.do(what, **arguments)
            if what == "workers":
                done = driver.do("run", seconds=SECONDS, in_flight=IN_FLIGHT)
                figures["workflows_per_second"] = done["count"] / done["seconds"]
            return {**figures, **{f"{name}_mib": size for name, size in processes.memory_mib().items()}}

    return run


SCENES: Final[dict[str, tuple[Callable[[], Figures], ...]]] = {
    "waiting": tuple(partial(waiting, count) for count in (0, 10_000, 100_000, 1_000_000)),
    "graphs": (scene("graphs", rounds=ROUNDS),),
    "timers": (scene("timers", per_second=1_000, seconds=10),),
    "burst": (scene("burst", count=10_000),),
    "watchers": (scene("watchers", count=10_000, workflows=100),),
    "workers": (scene("workers", count=1_000),),
    "children": (scene("children", count=100_000),),
    "permits": (scene("permits", count=10_000, capacity=100),),
    "servers": (servers,),
}


def main() -> int:
    """Returns the exit code: 1 if a scene failed."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.flat", description=__doc__)
    parser.add_argument("scenes", nargs="*", choices=[*SCENES, []], help="default: all")
    parser.add_argument("--json", type=Path, help="write the figures there")
    given = parser.parse_args()
    found: dict[str, list[Figures]] = {}
    failed = 0
    for name in given.scenes or SCENES:
        for run in SCENES[name]:
            try:
                figures = run()
            except (BenchFailed, OSError) as error:
                failed = 1
                print(f"{name}: FAILED: {error}", flush=True)
                continue
            found.setdefault(name, []).append(figures)
            print(f"{name}: " + ", ".join(f"{key} {value:,.6g}" for key, value in figures.items()), flush=True)
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")
    return failed


if __name__ == "__main__":
    sys.exit(main())
