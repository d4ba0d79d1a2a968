"""The load of the scenes: commands as lines of JSON, see `Scenes`."""

import asyncio
import itertools
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from datetime import UTC, datetime, timedelta
from itertools import count

import grpc

from perdure import Client, Definition, NotFound
from perdure.v1 import claim_pb2, worker_service_pb2, worker_service_pb2_grpc
from tools.bench.load.driving import answer, quantile
from tools.bench.load.perdure_job import job, parked
from tools.bench.load.perdure_scene_jobs import CALLS, LONG, SHORT, chained, family, limited, long, short, single, timed, unlimited
from tools.bench.load.perdure_timers import Timers

HOUR = timedelta(hours=1)
CONNECTIONS = 20  # that so many streams are spread over
RENEW_SECONDS = 10


class Scenes:
    """One server under loads that are not a simple chain of steps. Seconds and milliseconds are wall time."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._client = Client(address)
        self._timers = Timers(self._client)
        self._numbers = count()
        self._held: list[asyncio.Task[None]] = []
        self._channels: list[grpc.aio.Channel] = []

    async def open(self) -> None:
        """Until the worker has registered what is started here."""
        await self._client.definitions.register(job, activate=True)  # it has workers in one scene only
        until = time.monotonic() + 30
        for definition in (timed, short, long, family, limited, unlimited, chained, single, parked):
            while not await self._is_known(definition):
                if time.monotonic() > until:
                    raise RuntimeError(f"no worker has registered {definition.workflow_type}")
                await asyncio.sleep(0.05)

    async def set_rate(self, per_second: int, seconds: int) -> dict[str, float]:
        """As Timers does."""
        return await self._timers.set_rate(per_second, seconds)

    async def set_burst(self, count: int) -> dict[str, float]:
        """As Timers does."""
        return await self._timers.set_burst(count)

    async def fired(self) -> dict[str, float]:
        """As Timers does."""
        return await self._timers.fired()

    async def lateness(self) -> dict[str, float]:
        """As Timers does."""
        return await self._timers.lateness()

    async def delayed(self, per_second: int, seconds: int) -> dict[str, float]:
        """Starts that are due one after the other at this rate: how late a worker began each, in ms."""
        total = per_second * seconds
        first = time.time() + total / 400 + 3
        return await self._due([first + number / per_second for number in range(total)])

    async def delayed_burst(self, count: int) -> dict[str, float]:
        """The same of starts that are all due at one moment."""
        due = time.time() + count / 400 + 3
        return await self._due([due] * count)

    async def graphs(self, rounds: int) -> dict[str, float]:
        """Milliseconds per step of a graph of ten steps (a hundred at once, so that as many steps run) and of one of a thousand."""
        figures: dict[str, list[float]] = {"short": [], "long": []}
        for _ in range(rounds):
            began = time.perf_counter()
            await self._many(LONG // SHORT, lambda: self._whole(short))
            figures["short"].append((time.perf_counter() - began) * 1_000 / LONG)
            began = time.perf_counter()
            await self._whole(long)
            figures["long"].append((time.perf_counter() - began) * 1_000 / LONG)
        medians = {f"{name}_ms_per_step": quantile(values, 0.5) for name, values in figures.items()}
        return {**medians, "step_ratio": medians["long_ms_per_step"] / medians["short_ms_per_step"]}

    async def children(self, count: int) -> dict[str, float]:
        """One map step over so many children."""
        began = time.perf_counter()
        run = await self._client.start(family, key=self._key(), input=count)
        await run.result(timeout=HOUR)
        seconds = time.perf_counter() - began
        return {"seconds": seconds, "children_per_second": count / seconds}

    async def permits(self, count: int, capacity: int) -> dict[str, float]:
        """So many calls under one resource, as fast as they go: in workflows of one step, and in chains; then a line for one permit."""
        figures = await self.acquire(count, capacity)
        figures |= await self.unlimited(count)
        figures |= await self.chains(count, capacity)
        return {**figures, **await self.turns(min(count, 500))}

    async def acquire(self, count: int, capacity: int) -> dict[str, float]:
        """Workflows of one step that needs a permit, 256 at once."""
        await self._client.resources.put("downstream", capacity=capacity)
        return {"acquisitions_per_second": await self._rate(count, lambda: self._whole(limited))}

    async def unlimited(self, count: int) -> dict[str, float]:
        """The same without a permit."""
        return {"without_permits_per_second": await self._rate(count, lambda: self._whole(unlimited))}

    async def chains(self, count: int, capacity: int) -> dict[str, float]:
        """So many acquisitions in workflows of ten steps."""
        await self._client.resources.put("downstream", capacity=capacity)
        return {"acquisitions_in_chains_per_second": CALLS * await self._rate(count // CALLS, lambda: self._whole(chained))}

    async def turns(self, count: int) -> dict[str, float]:
        """One permit, a hundred in line: milliseconds from the end of an activity to the beginning of the next."""
        await self._client.resources.put("single", capacity=1)
        turns: list[tuple[float, float]] = []

        async def act() -> None:
            run = await self._client.start(single, key=self._key())
            began, ended = await run.result(list[float], timeout=HOUR)
            turns.append((began, ended))

        await self._many(count, act, at_once=100)
        turns.sort()
        gaps = [(after[0] - before[1]) * 1_000 for before, after in itertools.pairwise(turns)]
        figures = {f"hand_over_p{round(100 * share)}_ms": quantile(gaps, share) for share in (0.5, 0.9, 0.99)}
        return {"earliest_hand_over_ms": min(gaps), **figures, "hand_over_most_ms": max(gaps)}

    async def _rate(self, count: int, act: Callable[[], Awaitable[object]]) -> float:
        began = time.perf_counter()
        await self._many(count, act, at_once=256)
        return count / (time.perf_counter() - began)

    async def watchers(self, count: int, workflows: int) -> dict[str, float]:
        """Watch workflows by so many streams until all have seen the end, which comes to all at once."""
        clients = [Client(self._address) for _ in range(CONNECTIONS)]
        keys = [self._key() for _ in range(workflows)]
        unstarted = iter(keys)
        await self._many(len(keys), lambda: self._client.start(parked, key=next(unstarted)))
        seen, ended, first = 0, 0, asyncio.Event()

        async def watch(number: int) -> None:
            nonlocal seen, ended
            snapshot = True
            async for _ in clients[number % CONNECTIONS].run(parked, keys[number % workflows]).watch(frames=False):
                if snapshot:
                    snapshot, seen = False, seen + 1
                    if seen == count:
                        first.set()
            ended += 1

        began = time.perf_counter()
        tasks = [asyncio.create_task(watch(number)) for number in range(count)]
        await asyncio.wait_for(first.wait(), 300)
        opened = time.perf_counter() - began
        began = time.perf_counter()
        for key in keys:
            await self._client.run(parked, key).signal("go")
        await asyncio.wait_for(asyncio.gather(*tasks), 300)
        told = time.perf_counter() - began
        for client in clients:
            await client.close()
        return {"watchers": ended, "seconds_to_open": opened, "seconds_from_signals_to_all_ends": told}

    async def workers(self, count: int) -> dict[str, float]:
        """Connect so many workers for `job`, each of one slot, which answer at once; they stay."""
        self._channels = [grpc.aio.insecure_channel(self._address) for _ in range(CONNECTIONS)]
        connected = [asyncio.Event() for _ in range(count)]
        began = time.perf_counter()
        self._held = [
            asyncio.create_task(_work(self._channels[number % CONNECTIONS], f"w{number}", event)) for number, event in enumerate(connected)
        ]
        await asyncio.wait_for(asyncio.gather(*(event.wait() for event in connected)), 120)
        return {"workers": count, "seconds_to_connect": time.perf_counter() - began}

    async def run(self, seconds: float, in_flight: int) -> dict[str, float]:
        """Whole `job`s, as driving.Load does."""
        began = time.perf_counter()
        done = 0

        async def caller() -> None:
            nonlocal done
            while time.perf_counter() - began < seconds:
                await self._whole(job)
                done += 1

        await asyncio.gather(*(caller() for _ in range(in_flight)))
        return {"count": done, "seconds": time.perf_counter() - began}

    async def close(self) -> None:
        """All connections."""
        for task in self._held:
            task.cancel()
        await asyncio.gather(*self._held, return_exceptions=True)
        for channel in self._channels:
            await channel.close(None)
        await self._client.close()

    async def _due(self, times: list[float]) -> dict[str, float]:
        keys = {self._key(): due for due in times}
        starts = iter(keys.items())

        async def start() -> None:
            key, due = next(starts)
            await self._client.start(timed, key=key, start_at=datetime.fromtimestamp(due, UTC))

        await self._many(len(keys), start)
        late_starts = time.time() - min(times)
        waiting = iter(keys.items())
        late: list[float] = []

        async def fired() -> None:
            key, due = next(waiting)
            late.append((await self._client.run(timed, key).result(float, timeout=HOUR) - due) * 1_000)

        await self._many(len(keys), fired, at_once=256)
        span = max(late) / 1_000 + max(times) - min(times)
        return {
            "timers": len(late),
            "started_in_time": float(late_starts < 0),
            "earliest_ms": min(late),
            "late_p50_ms": quantile(late, 0.5),
            "late_p99_ms": quantile(late, 0.99),
            "per_second": len(late) / span,
        }

    async def _is_known(self, definition: Definition) -> bool:
        try:
            await self._client.start(definition, key="first", input=0, validate_only=True)
        except NotFound:
            return False
        return True

    async def _whole(self, definition: Definition) -> None:
        run = await self._client.start(definition, key=self._key())
        await run.result(timeout=HOUR)

    async def _many(self, count: int, act: Callable[[], Awaitable[object]], at_once: int = 64) -> None:
        left = iter(range(count))

        async def caller() -> None:
            for _ in left:
                await act()

        await asyncio.gather(*(caller() for _ in range(at_once)))

    def _key(self) -> str:
        return f"key-{next(self._numbers)}"


async def _work(channel: grpc.aio.Channel, worker_id: str, connected: asyncio.Event) -> None:
    """A worker of one slot on the generated stub: every claim is completed at once, and its slot offered again."""
    outgoing: asyncio.Queue[worker_service_pb2.ClaimRequest] = asyncio.Queue()

    async def requests() -> AsyncIterator[worker_service_pb2.ClaimRequest]:
        while True:
            try:
                yield await asyncio.wait_for(outgoing.get(), RENEW_SECONDS)
            except TimeoutError:
                yield worker_service_pb2.ClaimRequest(renew=worker_service_pb2.Renew(renew_id=1))

    pool = claim_pb2.Pool(pool="p", workflow_type=job.workflow_type, any_contract=True)
    hello = worker_service_pb2.Hello(worker_id=worker_id, pools=[pool], capabilities=("pools", "go_away"))
    outgoing.put_nowait(worker_service_pb2.ClaimRequest(hello=hello))
    async for message in worker_service_pb2_grpc.WorkerServiceStub(channel).Claim(requests()):
        kind = message.WhichOneof("message")
        if kind == "welcome":
            connected.set()
            outgoing.put_nowait(worker_service_pb2.ClaimRequest(credit=worker_service_pb2.Credit(pool="p", count=1)))
        elif kind == "claims":
            _complete(outgoing, message.claims.claims)
        elif kind == "settled":
            claims = [claim for settled in message.settled.settled for claim in settled.next_claims]
            _complete(outgoing, claims)
            if freed := len(message.settled.settled) - len(claims):
                outgoing.put_nowait(worker_service_pb2.ClaimRequest(credit=worker_service_pb2.Credit(pool="p", count=freed)))


def _complete(outgoing: "asyncio.Queue[worker_service_pb2.ClaimRequest]", claims: Iterable[claim_pb2.Claim]) -> None:
    for claim in claims:
        result = worker_service_pb2.Result(claim_token=claim.claim_token, result_id=claim.claim_no, want_next=True)
        result.completed.SetInParent()
        outgoing.put_nowait(worker_service_pb2.ClaimRequest(results=worker_service_pb2.Results(results=[result])))


async def main() -> None:
    """Answer commands until standard input ends."""
    scenes = Scenes(sys.argv[1])
    await scenes.open()
    await answer(scenes)
    await scenes.close()


if __name__ == "__main__":
    asyncio.run(main())
