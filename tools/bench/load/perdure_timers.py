"""Durable waits whose end is the last thing that their workflows do: set, then measured.

How late they are is told twice. `late`: each of them, by what is stored: when its workflow ended, less when it was due. `seen_late`: a
sample, by callers that wait for the result, so after the write was acknowledged. Both by one clock, as everything runs on one machine.
"""

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count

from perdure import Client, Definition, PerdureError, Start, Workflow, WorkflowState
from tools.bench.load.driving import quantile

HOUR = timedelta(hours=1)
SLICES = 4  # waits of so many lengths, so that the rate of the starts is this fraction of that of their ends
LEAD = 6  # seconds between the last start and the first end
BURST_STARTS = 300  # per second, that are counted on
TOGETHER = 10  # starts per call
SAMPLED = 1_000  # of them, at most, are waited for by callers
CALLERS = 32


@dataclass(frozen=True)
class Nap:
    """A definition of one wait: so many seconds from the start, or until a time."""

    name: str
    seconds: float = 0
    until: float = 0

    def definition(self) -> Definition:
        """As it is registered."""
        made = Definition(self.name, version="1")
        if self.until:
            made.wait("nap", at=datetime.fromtimestamp(self.until, UTC))
        else:
            made.wait("nap", timeout=timedelta(seconds=self.seconds))
        return made

    def due(self, row: Workflow) -> float:
        """When this one should have ended."""
        assert row.start_time is not None, "it is stored"
        return self.until or row.start_time.timestamp() + self.seconds


class Timers:
    """Sets waits, then waits for them."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._numbers = count()
        self._naps: list[Nap] = []
        self._callers: list[asyncio.Task[None]] = []
        self._seen: dict[tuple[str, str], float] = {}

    async def set_rate(self, per_second: int, seconds: int) -> dict[str, float]:
        """Waits that end at this rate; returns a second before the first."""
        first = time.time() + 1
        self._naps = [Nap(self._name(), seconds=(SLICES - number) * seconds + LEAD) for number in range(SLICES)]
        every = TOGETHER * SLICES / per_second
        calls = per_second * seconds // SLICES // TOGETHER
        plan = [(first + number * seconds + call * every, nap) for number, nap in enumerate(self._naps) for call in range(calls)]
        return await self._set(plan, first + SLICES * seconds + LEAD)

    async def set_burst(self, count: int) -> dict[str, float]:
        """Waits that all end at one moment; returns a second before it."""
        due = time.time() + count / BURST_STARTS + LEAD
        self._naps = [Nap(self._name(), until=due)]
        return await self._set([(0.0, self._naps[0])] * (count // TOGETHER), due)

    async def fired(self) -> dict[str, float]:
        """Wait until all have ended."""
        await asyncio.gather(*self._callers)
        is_open = True
        while is_open:
            is_open = any([(await self._client.definitions.count_open(nap.name)).count for nap in self._naps])
            await asyncio.sleep(0.5 if is_open else 0)
        return {"ended_at": time.time()}

    async def lateness(self) -> dict[str, float]:
        """How late they were, in ms."""
        due: list[float] = []
        late: list[float] = []
        seen: list[float] = []
        for nap in self._naps:
            # Of one state, as an index gives its order: of all, each page would be sorted anew.
            async for row in self._client.list(nap.name, states=[WorkflowState.COMPLETED]):
                assert row.end_time is not None, "it has ended"
                due.append(nap.due(row))
                late.append((row.end_time.timestamp() - due[-1]) * 1_000)
                if (nap.name, row.business_key) in self._seen:
                    seen.append((self._seen[nap.name, row.business_key] - due[-1]) * 1_000)
        span = max(due) - min(due)
        return {
            "timers": len(late),
            **({"due_per_second": len(late) / span} if span else {}),
            "fired_per_second": len(late) / (span + max(late) / 1_000),
            "earliest_ms": min(*late, *seen),
            **_told("late", late),
            **_told("seen_late", seen),
        }

    async def _set(self, plan: Sequence[tuple[float, Nap]], first_due: float) -> dict[str, float]:
        self._seen.clear()
        for nap in self._naps:
            await self._client.definitions.register(nap.definition(), activate=True)
        sampled: list[tuple[str, str]] = []
        calls = iter(plan)
        await asyncio.gather(*(self._start(calls, sampled) for _ in range(CALLERS)))
        done = time.time()
        sampled = sampled[:: -(-len(sampled) // SAMPLED)]
        self._callers = [asyncio.create_task(self._wait(*each)) for each in sampled]
        await asyncio.sleep(max(0.0, first_due - 1 - time.time()))
        return {"started_in_time": float(done < first_due - 1)}

    async def _start(self, calls: Iterator[tuple[float, Nap]], sampled: list[tuple[str, str]]) -> None:
        for at, nap in calls:
            await asyncio.sleep(max(0.0, at - time.time()))
            starts = [Start(workflow=nap.name, key=self._name()) for _ in range(TOGETHER)]
            for made in await self._client.start_many(starts):
                if isinstance(made, PerdureError):
                    raise made
            sampled.append((nap.name, starts[0].key))

    async def _wait(self, name: str, key: str) -> None:
        await self._client.run(name, key).result(timeout=HOUR)
        self._seen[name, key] = time.time()

    def _name(self) -> str:
        return f"nap-{next(self._numbers)}"


def _told(name: str, late: list[float]) -> dict[str, float]:
    return {f"{name}_p50_ms": quantile(late, 0.5), f"{name}_p99_ms": quantile(late, 0.99), f"{name}_max_ms": max(late)}
