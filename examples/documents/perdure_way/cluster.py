"""The processes of the half on Perdure: a store, Redis, one server, two workers. Started together, killed one by one, ended together."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path

import redis.asyncio

from examples.documents.config import (
    AIM_SECONDS,
    DEFAULT_LEASE_SECONDS,
    LEASE_SECONDS,
    LOOK_SECONDS,
    MILLISECONDS,
    POLL_SECONDS,
    RESTART_SECONDS,
    Settings,
)
from examples.documents.kills import MissedError
from examples.documents.narration import Narrator
from examples.documents.perdure_way.worker import CONNECTED
from examples.documents.processes import Process, ProcessError, free_port, python
from perdure_server.embedded import EmbeddedEvent, EmbeddedOptions, EmbeddedServices, Happening, embedded_services

WORKERS = 2
SERVES = "perdure serves"
TOLD = {Happening.ENDED, Happening.READY, Happening.FAILED}


class Cluster:
    """What runs. Everything happens in the main thread, since on Linux children end with the thread that made them."""

    def __init__(self, story: Narrator, settings: Settings, directory: Path, services: EmbeddedServices) -> None:
        self.directory = directory
        self.services = services
        self.address = f"127.0.0.1:{free_port()}"
        arguments = [
            *("serve", "--port", self.address.rpartition(":")[2], "--mongo-url", services.store.url),
            *("--redis-url", services.redis.url if services.redis is not None else ""),
            *("--session-lease-ms", str(int(LEASE_SECONDS * MILLISECONDS)), "--log-level", "warning"),
        ]
        self.server = Process("server", python("perdure_server", *arguments), directory)
        names = [f"worker-{number}" for number in range(1, WORKERS + 1)]
        worker = "examples.documents.perdure_way.worker"
        self.workers = [
            Process(name, python(worker, self.address, str(directory), str(settings.pace_seconds), name), directory) for name in names
        ]
        self.killed: set[int] = set()
        """Pids of what was killed."""
        self._story = story

    @property
    def processes(self) -> list[Process]:
        return [self.server, *self.workers]

    @property
    def pids(self) -> dict[str, int]:
        """Of everything that runs, by name; what is embedded is named after its program."""
        embedded = [value for value in (self.services.store, self.services.redis) if value is not None]
        return {process.name: process.pid for process in self.processes} | {str(value.kind): value.pid for value in embedded}

    async def start(self) -> None:
        """Starts server and workers; returns when the workers are connected. Raises ProcessError."""
        self._story.event(f"server is {self.server.start()}, on {self.address}")
        await self.until_up(self.server)
        for worker in self.workers:
            self._story.event(f"{worker.name} is {worker.start()}")
        for worker in self.workers:
            await self.until_up(worker)
        self._story.line(
            f"Session lease {LEASE_SECONDS:.0f} s (default {DEFAULT_LEASE_SECONDS:.0f} s): a worker that is silent for longer is dead."
        )

    async def stop(self) -> None:
        """Ends the workers, then the server."""
        await asyncio.gather(*(asyncio.to_thread(worker.stop) for worker in self.workers))
        await asyncio.to_thread(self.server.stop)

    async def until_up(self, process: Process) -> None:
        """Waits until the server serves, or the worker is connected. Raises ProcessError."""
        deadline = time.monotonic() + AIM_SECONDS
        while not process.has_printed(SERVES if process is self.server else CONNECTED):
            process.check()
            if time.monotonic() > deadline:
                raise ProcessError(f"{process.name} did not come up; the end of {process.log}:\n{process.last_lines()}")
            await asyncio.sleep(LOOK_SECONDS)

    def check(self) -> None:
        """Raises ProcessError if server or a worker ended by itself."""
        for process in self.processes:
            process.check()

    async def restart(self, process: Process) -> None:
        """Starts what is dead again, as a service manager does."""
        self.killed.add(process.pid)
        await asyncio.sleep(RESTART_SECONDS)
        self._story.event(f"{process.name} is {process.start()}")

    async def restart_what_is_dead(self) -> None:
        """Looks once; for when somebody else does the killing."""
        for process in self.processes:
            if not process.is_running:
                self._story.event(f"{process.name} {process.pid} is dead")
                await self.restart(process)

    async def flush_redis(self) -> None:
        """FLUSHALL while there are keys. Raises MissedError if there are none in time."""
        if self.services.redis is None:
            self._story.event("no Redis here: coordination is in-process, and there is nothing to flush")
            return
        async with redis.asyncio.Redis.from_url(self.services.redis.url, decode_responses=True) as connection:
            deadline = time.monotonic() + AIM_SECONDS
            while not (held := await _held(connection)):
                if time.monotonic() > deadline:
                    raise MissedError("Redis had nothing to flush")
                await asyncio.sleep(POLL_SECONDS)
            await connection.flushall()
        self._story.event(f"FLUSHALL of Redis, with {', '.join(f'{count} {kind}' for kind, count in sorted(held.items()))} in it")


@contextlib.asynccontextmanager
async def running_cluster(story: Narrator, settings: Settings, directory: Path) -> AsyncIterator[Cluster]:
    """Everything, until the block is left, however it is left. Raises ProcessError, EmbeddedError."""
    up: list[Cluster] = []

    def tell(event: EmbeddedEvent) -> None:
        if up and event.happening in TOLD:
            story.event(event.text)

    async with embedded_services(EmbeddedOptions(directory / "embedded", settings.environment, on_event=tell)) as services:
        store = services.store
        story.event(f"store is {store.pid}: {store.kind} {store.version}; {store.durability_text}")
        if services.redis is not None:
            story.event(f"redis is {services.redis.pid}: {services.redis.kind} {services.redis.version}; it keeps nothing over a restart")
        cluster = Cluster(story, settings, directory, services)
        try:
            await cluster.start()
            up.append(cluster)
            yield cluster
        finally:
            up.clear()
            await cluster.stop()


async def _held(connection: redis.asyncio.Redis) -> dict[str, int]:
    """How many timers and how many ready steps Redis holds; what else there is, by keys."""
    held: dict[str, int] = {}
    for key in map(str, await connection.keys()):
        is_sorted_set = await connection.type(key) == "zset"
        kind = "timers" if "{timers" in key else "ready steps" if key.endswith(":ready") else "other keys"
        held[kind] = held.get(kind, 0) + (await connection.zcard(key) if is_sorted_set else 1)
    return held
