"""What is measured in one round of one system, always on an empty store and in this order."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tools.bench.processes import Driver, Processes

IN_FLIGHT: Final = 64


@dataclass(frozen=True)
class Measure:
    """A figure: its key in the JSON, its heading, and whether more is better."""

    key: str
    heading: str
    more_is_better: bool = False


MEASURES: Final = (
    Measure("workflows_per_second", f"workflows/s, {IN_FLIGHT} in flight", more_is_better=True),
    Measure("cpu_seconds_per_1000", "CPU s per 1,000"),
    Measure("service_cpu_seconds_per_1000", "CPU s per 1,000, callers aside"),
    Measure("latency_p50_ms", "one at a time, p50 ms"),
    Measure("latency_p99_ms", "p99 ms"),
    Measure("starts_per_second", "starts/s", more_is_better=True),
    Measure("signal_p50_ms", "signal to resumed, p50 ms"),
    Measure("signal_p99_ms", "p99 ms"),
    Measure("waiting", "workflows waiting", more_is_better=True),
    Measure("waiting_memory_mib", "their memory, MiB"),
    Measure("waiting_cpu_percent", "their CPU, % of a core"),
)


@dataclass(frozen=True)
class Plan:
    """How long each part of a round takes; seconds. Slow systems do less in the time, none does more."""

    warm_up: float = 3
    throughput: float = 8
    latency: float = 4
    parked: int = 10_000
    parking: float = 20
    signals: int = 200
    signalling: float = 20
    settle: float = 3
    idle: float = 6


QUICK: Final = Plan(warm_up=2, throughput=5, latency=2, parked=1_000, parking=5, signals=50, settle=1, idle=3)


def measure(driver: Driver, processes: Processes, plan: Plan) -> tuple[dict[str, float], dict[str, float]]:
    """One round: the figures by key, and CPU milliseconds per workflow by process. Raises BenchFailed."""
    driver.do("run", seconds=plan.warm_up, in_flight=IN_FLIGHT)
    before = processes.cpu_seconds()
    done = driver.do("run", seconds=plan.throughput, in_flight=IN_FLIGHT)
    spent = _less(processes.cpu_seconds(), before)
    latency = driver.do("latency", seconds=plan.latency, most=1_000)
    parked = driver.do("park", count=plan.parked, seconds=plan.parking, in_flight=IN_FLIGHT)
    time.sleep(plan.settle)
    before, began = processes.cpu_seconds(), time.monotonic()
    time.sleep(plan.idle)
    idle = _less(processes.cpu_seconds(), before)
    seconds, memory = time.monotonic() - began, processes.memory_mib()
    signal = driver.do("signal", count=plan.signals, seconds=plan.signalling)
    figures = {
        "workflows_per_second": done["count"] / done["seconds"],
        "cpu_seconds_per_1000": sum(spent.values()) / done["count"] * 1_000,
        "service_cpu_seconds_per_1000": _of_service(spent) / done["count"] * 1_000,
        "latency_p50_ms": latency["p50_ms"],
        "latency_p99_ms": latency["p99_ms"],
        "starts_per_second": parked["count"] / parked["seconds"],
        "signal_p50_ms": signal["p50_ms"],
        "signal_p99_ms": signal["p99_ms"],
        "waiting": parked["count"],
        "waiting_memory_mib": _of_service(memory),
        "waiting_cpu_percent": _of_service(idle) / seconds * 100,
    }
    return figures, {name: seconds / done["count"] * 1_000 for name, seconds in spent.items()}


def _of_service(by_process: Mapping[str, float]) -> float:
    """The sum without the load program, which stands for the callers; where it is the worker, too, it counts."""
    return sum(of for name, of in by_process.items() if name != "load" or "worker-1" not in by_process)


def _less(after: Mapping[str, float], before: Mapping[str, float]) -> dict[str, float]:
    return {name: after[name] - before[name] for name in after}
