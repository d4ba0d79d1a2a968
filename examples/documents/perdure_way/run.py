"""Runs the job on Perdure under the same kills as the old way, and gathers what the report counts."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from examples.documents import kills
from examples.documents.activities import INDEX, JOURNAL
from examples.documents.config import AGE_SECONDS, LIMIT_SECONDS, LONGEST_SECONDS, LOOK_SECONDS, Settings
from examples.documents.corpus import Document
from examples.documents.counting import Count, count
from examples.documents.index import Index
from examples.documents.journal import Reader, Record
from examples.documents.kills import Wave
from examples.documents.narration import Narrator
from examples.documents.perdure_way.cluster import Cluster
from examples.documents.perdure_way.patience import insist
from examples.documents.perdure_way.plan import CORPUS, DOCUMENT, PUBLISH, Job
from examples.documents.perdure_way.promises import STARTS, Late, Started, Watched, late_complete, start_many_times, watch_and_cut
from examples.documents.perdure_way.stored import Stored, what_is_stored
from examples.documents.processes import Process, ProcessError
from perdure import Client, WorkflowNotCompleted

T = TypeVar("T")


@dataclass(frozen=True)
class Outcome:
    """What Perdure came to."""

    count: Count
    records: Sequence[Record]
    """The whole activity log."""
    stored: Stored
    killed: frozenset[int]
    outages: Sequence[tuple[float, float]]
    """When there was no server: Unix times in seconds."""
    started: Started
    late: Late
    watched: Watched
    store: str
    model: str
    """Where the fitted vectoriser is saved."""


class PerdureWay:
    """One run of the job on a cluster that is up."""

    def __init__(self, story: Narrator, settings: Settings, cluster: Cluster, client: Client) -> None:
        self._story = story
        self._settings = settings
        self._cluster = cluster
        self._client = client
        self._index = Index(cluster.directory / INDEX)
        self._log = Reader(cluster.directory / JOURNAL)
        self._outages: list[tuple[float, float]] = []

    async def run(self, documents: Sequence[Document]) -> Outcome:
        """Does the whole job. Raises MissedError, ProcessError, PerdureError."""
        try:
            async with asyncio.timeout(None if self._settings.kill_by_hand else LIMIT_SECONDS):
                return await self._run(documents)
        except TimeoutError:
            raise ProcessError(f"the job was not done within {LIMIT_SECONDS:.0f} s") from None
        finally:
            self._log.abandoned.set()

    async def _run(self, documents: Sequence[Document]) -> Outcome:
        self._index.create()
        model = await (await self._client.start(CORPUS, key="fit", input=list(documents))).result(str)
        self._story.event("fit is done: the vectoriser knows the corpus")
        async with _beside(late_complete(self._cluster.address)) as late:
            if self._settings.kill_by_hand:
                started, watched = await self._under_a_hand(documents, model)
            else:
                started, watched = await self._under_kills(kills.waves(documents), model)
            async with _beside(self._ends(documents)) as ends:
                await self._look_after(ends)
            self._story.event("all have ended")
        stored = await what_is_stored(self._cluster.address, documents)
        self._log.news()
        store = self._cluster.services.store
        return Outcome(
            count=count([document.number for document in documents], self._log.records, self._index.contents()),
            records=self._log.records,
            stored=stored,
            killed=frozenset(self._cluster.killed),
            outages=self._outages,
            started=started,
            late=late.result(),
            watched=watched,
            store=f"{store.kind} {store.version}; {store.durability_text}",
            model=model,
        )

    async def _under_kills(self, waves: Sequence[Wave], model: str) -> tuple[Started, Watched]:
        """A worker in the middle of `summarise`; once that runs again, the server while documents arrive; then Redis flushed."""
        first, second, third = waves
        async with _beside(self._hand_in(first, model)):
            cut = await self._strike(first, "summarise", self._cluster.workers, AGE_SECONDS)
            again = await asyncio.to_thread(kills.begun_after, self._log, cut, "summarise")
            charged = "" if again.attempt > cut.attempt else " (the first was not charged: its worker had not yet said that it had it)"
            self._story.event(f"{kills.describe(again)}{charged}; {self._run_again(cut, 'read', 'clean')}")
        async with _beside(self._hand_in(second, model)):
            cut = await self._strike(second, "clean", [self._cluster.server])
            following = await asyncio.to_thread(kills.begun_after, self._log, cut, "summarise")
            self._story.event(f"{kills.describe(following)}; {self._run_again(cut, 'clean')}")
            return await self._under_a_flush(third, model)

    async def _under_a_flush(self, wave: Wave, model: str) -> tuple[Started, Watched]:
        """Redis flushed when half of the wave has begun; its first document is the one that is started many times, and watched."""
        job = Job(wave.documents[0], model)
        async with _beside(watch_and_cut(self._client, job.document.key)) as watching:
            started = await start_many_times(self._client, job)
            self._story.event(f"one key started {STARTS} times at once: {started.runs} workflow")
            async with _beside(self._hand_in(wave, model, job.document)):
                await asyncio.to_thread(kills.wait_begun, self._log, wave, (1 + len(wave.documents)) // 2)
                await self._cluster.flush_redis()
        return started, watching.result()

    async def _under_a_hand(self, documents: Sequence[Document], model: str) -> tuple[Started, Watched]:
        """Hands everything in and starts again what the reader kills, until all have ended."""
        self._story.line("A step has three attempts: if you kill its worker three times, its workflow fails, as its policy says.")
        self._story.invite(self._cluster.pids)
        job = Job(documents[0], model)
        watch, starts = watch_and_cut(self._client, job.document.key), start_many_times(self._client, job)
        hand_in = self._hand_in(Wave(documents), model)
        async with _beside(watch) as watching, _beside(starts) as starting, _beside(hand_in) as handing_in:
            for work in (starting, handing_in, watching):
                await self._look_after(work)
        return starting.result(), watching.result()

    async def _hand_in(self, wave: Wave, model: str, unclicked: Document | None = None) -> None:
        """Starts a workflow per document and clicks `publish` for every second one; tries again until the server answers."""
        for document in wave.documents:
            job = Job(document, model)
            run = await insist(partial(self._client.start, DOCUMENT, key=document.key, input=job, labels={"demo": "documents"}))
            if document.number % 2 == 0 and document != unclicked:
                await insist(partial(run.signal, PUBLISH, signal_id=f"click-{run.key}"))

    async def _strike(self, wave: Wave, step: str, victims: Sequence[Process], age_seconds: float = 0.0) -> Record:
        """Kills, and waits until what was killed is back: one failure at a time is what is shown. The begin of the step that was cut."""
        # In a thread that does nothing else, so that the kill comes within milliseconds.
        hit = await asyncio.to_thread(kills.strike, self._log, wave, step, victims, age_seconds)
        self._story.event(str(hit))
        await self._cluster.restart(hit.process)
        await self._cluster.until_up(hit.process)
        if hit.process is self._cluster.server:
            self._outages.append((hit.time, time.time()))
            self._story.event(f"server is back, {time.time() - hit.time:.1f} s after it was killed")
        return hit.begun

    def _run_again(self, cut: Record, *steps: str) -> str:
        """Which of the steps of the document that was cut were begun again since, in words."""
        later = [record for record in self._log.records if record.event == "begin" and record.time > cut.time]
        begun = {record.step for record in later if record.document == cut.document}
        again = [step for step in steps if step in begun]
        return f"{', '.join(again)} RUN AGAIN" if again else f"{', '.join(steps)} not run again"

    async def _look_after(self, work: "asyncio.Task[Any]") -> None:
        """Until the work is done: restarts what the reader kills; where nobody is to kill any more, nothing may die."""
        while not work.done():
            if self._settings.kill_by_hand:
                await self._cluster.restart_what_is_dead()
            else:
                self._cluster.check()
            await asyncio.sleep(LOOK_SECONDS)

    async def _ends(self, documents: Sequence[Document]) -> None:
        """Waits for every workflow's end, whatever it is; at most for `LONGEST_SECONDS` if it is not up to the reader."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None if self._settings.kill_by_hand else LONGEST_SECONDS):
                await asyncio.gather(*(self._end(document.key) for document in documents))

    async def _end(self, key: str) -> None:
        with contextlib.suppress(WorkflowNotCompleted):
            await insist(self._client.run(DOCUMENT, key).result)


@contextlib.asynccontextmanager
async def _beside(work: Coroutine[Any, Any, T]) -> AsyncIterator["asyncio.Task[T]"]:
    """Runs `work` beside the block, and ends with both; an error of the work that came first is the one that is raised."""
    task = asyncio.create_task(work)
    try:
        yield task
    except BaseException:
        failure = task.exception() if task.done() and not task.cancelled() else None
        task.cancel()
        await asyncio.wait([task])
        if failure is not None:
            raise failure from None
        raise
    await task
