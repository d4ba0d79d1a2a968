"""The one loop that loads every system alike: it reads commands as lines of JSON and answers with figures. Standard library only.

A driver program makes a `Subject` of its system and calls `drive`. Commands, with what they answer:
`run` {seconds, in_flight}: whole jobs, counted when their result has come; `latency` {seconds, most}: whole jobs, one at a time;
`park` {count, seconds, in_flight}: starts of jobs that wait for a signal, counted when they are stored;
`signal` {count, seconds}: from the signal to the first line of the step behind it, one at a time, on parked jobs.
"""

import asyncio
import json
import sys
import time
from contextlib import suppress
from itertools import count
from typing import Any, Protocol


class Subject(Protocol):
    """A system under load."""

    async def open(self) -> None:
        """Connect, and make sure that a worker serves."""

    async def run(self, key: str) -> None:
        """Start a job of three steps that do nothing, and wait for its result."""

    async def park(self, key: str) -> None:
        """Start a job that waits for a signal before its only step; returns when the start is stored."""

    async def wake(self, key: str) -> float:
        """Signal a parked job; returns time.time() as the step behind the wait saw it."""

    async def close(self) -> None:
        """Disconnect."""


def quantile(values: list[float], share: float) -> float:
    """The value below which `share` of them lie; nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Load:
    """Runs commands on one subject; every key is used once."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._numbers = count()
        self._parked: list[str] = []

    async def run(self, seconds: float, in_flight: int) -> dict[str, float]:
        """Closed loop: `in_flight` callers, each starts its next job when its last one is done."""
        began = time.perf_counter()
        ends: list[float] = []

        async def caller() -> None:
            while time.perf_counter() - began < seconds:
                await self._subject.run(f"run-{next(self._numbers)}")
                ends.append(time.perf_counter())

        await asyncio.gather(*(caller() for _ in range(in_flight)))
        return {"count": len(ends), "seconds": max(ends) - began}

    async def latency(self, seconds: float, most: int) -> dict[str, float]:
        """One job after the other."""
        began = time.perf_counter()
        taken: list[float] = []
        while time.perf_counter() - began < seconds and len(taken) < most:
            start = time.perf_counter()
            await self._subject.run(f"run-{next(self._numbers)}")
            taken.append((time.perf_counter() - start) * 1_000)
        return _quantiles(taken)

    async def park(self, count: int, seconds: float, in_flight: int) -> dict[str, float]:
        """At most `count` starts within about `seconds`."""
        began = time.perf_counter()
        left = iter(range(count))

        async def caller() -> None:
            for _ in left:
                key = f"wait-{next(self._numbers)}"
                await self._subject.park(key)
                self._parked.append(key)
                if time.perf_counter() - began > seconds:
                    return

        before = len(self._parked)
        await asyncio.gather(*(caller() for _ in range(in_flight)))
        return {"count": len(self._parked) - before, "seconds": time.perf_counter() - began}

    async def signal(self, count: int, seconds: float) -> dict[str, float]:
        """One after the other, on those parked last, for `seconds` in all; one that is cut off then counts with its time so far."""
        until = time.time() + seconds
        taken: list[float] = []
        while len(taken) < count and self._parked and (sent := time.time()) < until:
            woken = until
            with suppress(TimeoutError):
                async with asyncio.timeout(until - sent):
                    woken = await self._subject.wake(self._parked.pop())
            taken.append((woken - sent) * 1_000)
        return _quantiles(taken)


def _quantiles(taken: list[float]) -> dict[str, float]:
    return {"count": len(taken), "p50_ms": quantile(taken, 0.5), "p99_ms": quantile(taken, 0.99)}


async def drive(subject: Subject) -> None:
    """Answer the commands of `Load` until standard input ends."""
    await subject.open()
    await answer(Load(subject))
    await subject.close()


async def answer(commands: object) -> None:
    """Call the method that each line of standard input names, and write what it returns."""
    _say({"ready": True})
    while line := await asyncio.to_thread(sys.stdin.readline):
        command: dict[str, Any] = json.loads(line)
        try:
            _say(await getattr(commands, command.pop("do"))(**command))
        except Exception as error:  # noqa: BLE001 -- whatever the system's client raises is told to the one who measures
            _say({"error": f"{type(error).__name__}: {error}"[:500]})


def _say(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)
