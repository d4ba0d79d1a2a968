"""Runs the job on Perdure under the same kills as the old way, and gathers what the report counts."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import redis.asyncio

from examples.documents import kills
from examples.documents.activities import INDEX, JOURNAL
from examples.documents.config import AIM_SECONDS, LEASE_SECONDS, RESTART_SECONDS, Settings
from examples.documents.corpus import Document
from examples.documents.counting import Count, count
from examples.documents.index import Index
from examples.documents.journal import Reader, Record
from examples.documents.kills import Wave
from examples.documents.narration import Narrator
from examples.documents.perdure_way.extras import STARTS, Watched, late_complete, start_many_times, watch_and_cut
from examples.documents.perdure_way.plan import CORPUS, DOCUMENT, PUBLISH, Job
from examples.documents.perdure_way.worker import CONNECTED
from examples.documents.processes import Process, ProcessError, free_port, python
from perdure import Client, Unavailable
from perdure_server.embedded import EmbeddedOptions, EmbeddedServices, embedded_services

T = TypeVar("T")
WORKERS = 2
LOOK_SECONDS = 0.05
LONGEST_SECONDS = 120.0
MILLISECONDS = 1000


@dataclass(frozen=True)
class Outcome:
    """What Perdure came to. `stored` names, per document and step, the claim whose result is stored."""

    count: Count
    stored: dict[tuple[int, str], int]
    killed: frozenset[int]
    created: int
    refusal: str
    watched: Watched
    store: str
    model: str
    seconds: float


class PerdureWay:
    """The processes and files of one run; everything happens in the main thread, since children end with the thread that made them."""

    def __init__(self, story: Narrator, settings: Settings, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._story = story
        self._settings = settings
        self._directory = directory
        self._index = Index(directory / INDEX)
        self._log = Reader(directory / JOURNAL)
        self._port = free_port()
        self._killed: set[int] = set()

    async def run(self, documents: Sequence[Document]) -> Outcome:
        """Does the whole job. Raises MissedError, ProcessError."""
        self._index.create()
        options = EmbeddedOptions(self._directory / "perdure", self._settings.environment)
        async with embedded_services(options) as services:
            self._story.event(
                f"store: {services.store.kind} {services.store.version}, pid {services.store.pid}: {services.store.durability_text}"
            )
            if services.redis is not None:
                self._story.event(f"redis: {services.redis.kind} {services.redis.version}, pid {services.redis.pid}")
            self._story.line(f"A worker that is not heard of for {LEASE_SECONDS:.0f} s is missed (by default 30 s).")
            async with self._processes(services) as (server, workers), Client(self._address) as client:
                outcome = await self._work(client, documents, services, server, workers)
                if self._settings.keep:
                    await self._keep(client)
                return outcome

    @property
    def _address(self) -> str:
        return f"127.0.0.1:{self._port}"

    @contextlib.asynccontextmanager
    async def _processes(self, services: EmbeddedServices) -> AsyncIterator[tuple[Process, list[Process]]]:
        arguments = [
            *("serve", "--port", str(self._port), "--mongo-url", services.store.url),
            *("--redis-url", services.redis.url if services.redis is not None else ""),
            *("--session-lease-ms", str(int(LEASE_SECONDS * MILLISECONDS)), "--log-level", "warning"),
        ]
        server = Process("server", python("perdure_server", *arguments), self._directory)
        workers = [
            Process(f"worker-{number}", self._worker_command(f"worker-{number}"), self._directory) for number in range(1, WORKERS + 1)
        ]
        try:
            self._story.event(f"server is {server.start()}, on {self._address}")
            await self._until(server, "perdure serves")
            for worker in workers:
                self._story.event(f"{worker.name} is {worker.start()}")
            for worker in workers:
                await self._until(worker, CONNECTED)
            yield server, workers
        finally:
            for process in [*workers, server]:
                await asyncio.to_thread(process.stop)

    def _worker_command(self, name: str) -> list[str]:
        return python("examples.documents.perdure_way.worker", self._address, str(self._directory), str(self._settings.pace_seconds), name)

    async def _until(self, process: Process, text: str) -> None:
        deadline = time.monotonic() + AIM_SECONDS
        while text not in process.last_lines():
            process.check()
            if time.monotonic() > deadline:
                raise ProcessError(f"{process.name} did not come up; the end of {process.log}:\n{process.last_lines()}")
            await asyncio.sleep(LOOK_SECONDS)

    async def _work(
        self, client: Client, documents: Sequence[Document], services: EmbeddedServices, server: Process, workers: list[Process]
    ) -> Outcome:
        started = time.monotonic()
        model = await (await client.start(CORPUS, key="fit", input=list(documents))).result(str)
        self._story.event("fit is done: the vectoriser knows the corpus")
        late = asyncio.ensure_future(late_complete(self._address, LEASE_SECONDS))
        if self._settings.kill_by_hand:
            created, watched = await self._under_a_hand(client, documents, model, [server, *workers])
        else:
            created, watched = await self._under_kills(client, kills.waves(documents), model, services, server, workers)
        await self._all_published(len(documents))
        stored = await self._stored_claims(client, documents)
        self._log.news()
        counted = count([document.number for document in documents], self._log.records, self._index.contents())
        refusal = await late
        store = f"{services.store.kind} {services.store.version}, {services.store.durability_text}"
        seconds = time.monotonic() - started
        return Outcome(counted, stored, frozenset(self._killed), created, refusal, watched, store, model, seconds)

    async def _under_kills(
        self, client: Client, waves: Sequence[Wave], model: str, services: EmbeddedServices, server: Process, workers: list[Process]
    ) -> tuple[int, Watched]:
        """A worker in the middle of `summarise`, the server while documents arrive, and then Redis flushed."""
        first, second, third = waves
        async with asyncio.TaskGroup() as group:
            group.create_task(self._hand_in(client, first, model))
            cut = await asyncio.to_thread(kills.in_the_middle, self._log, first, "summarise")
            await self._kill(next(worker for worker in workers if worker.pid == cut.pid), cut)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._hand_in(client, second, model))
            middle = await asyncio.to_thread(kills.in_the_middle, self._log, second, "clean")
            await self._kill(server, middle)
        again = await asyncio.to_thread(kills.begun_again, self._log, cut, "summarise")
        self._story.event(f"{kills.describe(again)}; read, clean not run again" if self._only_after(cut) else kills.describe(again))
        async with asyncio.TaskGroup() as group:
            job = Job(third.documents[0], model)
            many = group.create_task(start_many_times(client, job))
            created = await many
            self._story.event(f"one key started {STARTS} times at once: {created} workflow")
            watching = group.create_task(watch_and_cut(client, job.document.key))
            group.create_task(self._hand_in(client, third, model))
            await asyncio.to_thread(kills.any_begun, self._log, third)
            await self._flush(services)
        return created, watching.result()

    def _only_after(self, cut: Record) -> bool:
        later = [
            record for record in self._log.records if record.document == cut.document and record.event == "begin" and record.time > cut.time
        ]
        return not any(record.step in {"read", "clean"} for record in later)

    async def _hand_in(self, client: Client, wave: Wave, model: str) -> None:
        """Starts a workflow per document and clicks `publish` for every second one; tries again until the server answers."""
        for document in wave.documents:
            start = partial(client.start, DOCUMENT, key=document.key, input=Job(document, model), labels={"demo": "documents"})
            run = await _insist(start)
            if document.number % 2 == 0:
                await _insist(partial(run.signal, PUBLISH, signal_id=f"click-{run.key}"))

    async def _kill(self, process: Process, begun: Record) -> None:
        killed = process.pid
        process.kill()
        self._killed.add(killed)
        if begun.pid == killed:
            kills.check_hit(self._log, begun)
        self._story.event(f"kill -9 {process.name} {killed} in the middle of {kills.describe(begun)}")
        await asyncio.sleep(RESTART_SECONDS)
        self._story.event(f"{process.name} is {process.start()}")

    async def _flush(self, services: EmbeddedServices) -> None:
        if services.redis is None:
            self._story.event("no Redis here: coordination is in-process, and there is nothing to flush")
            return
        async with redis.asyncio.Redis.from_url(services.redis.url) as connection:
            async with asyncio.timeout(AIM_SECONDS):
                while not (keys := await connection.dbsize()):
                    await asyncio.sleep(LOOK_SECONDS)
            await connection.flushall()
        self._story.event(f"FLUSHALL of Redis, with {keys} keys in it")

    async def _under_a_hand(
        self, client: Client, documents: Sequence[Document], model: str, processes: Sequence[Process]
    ) -> tuple[int, Watched]:
        """Hands everything in and starts again what the reader kills, until all is published."""
        names = ", ".join(f"{process.name} {process.pid}" for process in processes)
        self._story.line(f"Kill what you like with kill -9: {names}. What dies is started again {RESTART_SECONDS:.0f} s later.")
        self._story.line(
            f"So that you have time to aim, each step waits {self._settings.pace_seconds:.0f} s before its work; nothing else is slowed."
        )
        created = await start_many_times(client, Job(documents[0], model))
        watching = asyncio.ensure_future(watch_and_cut(client, documents[0].key))
        handing_in = asyncio.ensure_future(self._hand_in(client, Wave(documents), model))
        while not handing_in.done() or len(self._index.contents().published) < len(documents):
            for process in [process for process in processes if not process.is_running]:
                self._killed.add(process.pid)
                self._story.event(f"{process.name} {process.pid} is dead")
                await asyncio.sleep(RESTART_SECONDS)
                self._story.event(f"{process.name} is {process.start()}")
            await asyncio.sleep(LOOK_SECONDS)
        await handing_in
        return created, await watching

    async def _all_published(self, documents: int) -> None:
        deadline = time.monotonic() + LONGEST_SECONDS
        while len(self._index.contents().published) < documents and time.monotonic() < deadline:
            await asyncio.sleep(LOOK_SECONDS)

    async def _stored_claims(self, client: Client, documents: Sequence[Document]) -> dict[tuple[int, str], int]:
        """Waits for every workflow's end and reads which claim's result is stored for each step."""
        found: dict[tuple[int, str], int] = {}
        for document in documents:
            run = client.run(DOCUMENT, document.key)
            await _insist(run.result)
            for name, step in (await run.get()).steps.items():
                found[document.number, name] = step.claim_no
        return found

    async def _keep(self, client: Client) -> None:
        self._story.chapter("Kept running (KEEP=1); Ctrl-C ends it")
        self._story.line(f"  export PERDURE_ADDRESS={client.config.address}")
        self._story.line("  .venv/bin/perdure list --type document")
        self._story.line("  .venv/bin/perdure show document doc-01")
        self._story.line("  .venv/bin/perdure watch document doc-01")
        with contextlib.suppress(asyncio.CancelledError, KeyboardInterrupt):
            await asyncio.Event().wait()


async def _insist(call: Callable[[], Awaitable[T]]) -> T:
    """The call's answer, however often the server is away."""
    while True:
        try:
            return await call()
        except Unavailable:
            await asyncio.sleep(LOOK_SECONDS)
