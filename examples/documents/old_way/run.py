"""Runs the job the old way under the same kills, and counts from its activity log what came of it."""

import contextlib
import http.client
import json
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

import redis

from examples.documents import kills
from examples.documents.activities import INDEX, JOURNAL, Activities
from examples.documents.config import AGE_SECONDS, AIM_SECONDS, LOOK_SECONDS, POLL_SECONDS, RESTART_SECONDS, Settings
from examples.documents.corpus import Document
from examples.documents.counting import Count, count
from examples.documents.index import Index
from examples.documents.journal import Execution, Reader, Record
from examples.documents.kills import Hit, MissedError, Wave
from examples.documents.narration import Narrator
from examples.documents.old_way.jobs import Jobs
from examples.documents.old_way.worker import QUEUE, THREADS
from examples.documents.processes import Process, ProcessError, ended_together, free_port, python, redis_command

WORKERS = 2
QUIET_SECONDS = 1.5  # longer than the reaper's interval
LONGEST_SECONDS = 90.0
HTTP_SECONDS = 5.0


@dataclass(frozen=True)
class Outcome:
    """What the old way came to: the numbers, what the queue held when it was flushed, and the seconds that it took."""

    count: Count
    flushed: list[int]
    seconds: float


class OldWay:
    """The processes and files of one run."""

    def __init__(self, story: Narrator, settings: Settings, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._story = story
        self._settings = settings
        self._directory = directory
        self._jobs = Jobs(directory / "jobs.db")
        self._index = Index(directory / INDEX)
        self._flushed: list[int] = []
        self._log = Reader(directory / JOURNAL)
        self._port, self._redis_port = free_port(), free_port()
        self._redis = Process("redis", redis_command(self._redis_port), directory)
        self._queue = redis.Redis(port=self._redis_port, socket_timeout=HTTP_SECONDS)

    def run(self, documents: Sequence[Document]) -> Outcome:
        """Does the whole job, whatever becomes of it."""
        started = time.monotonic()
        self._jobs.create()
        self._index.create()
        model = Activities(self._directory).fit(Execution(0, "fit"), documents)
        backend = Process(
            "backend",
            python("examples.documents.old_way.backend", str(self._port), str(self._redis_port), str(self._directory)),
            self._directory,
        )
        arguments = (str(self._redis_port), str(self._directory), model, str(self._settings.pace_seconds))
        workers = [
            Process(f"worker-{number}", python("examples.documents.old_way.worker", *arguments), self._directory)
            for number in range(1, WORKERS + 1)
        ]
        with ended_together(self._redis, backend, *workers):
            for process in (self._redis, backend, *workers):
                self._story.event(f"{process.name} is {process.start()}")
            self._wait_for_workers()
            if self._settings.kill_by_hand:
                self._under_a_hand(documents, [self._redis, backend, *workers])
            else:
                self._under_kills(kills.waves(documents), backend, workers)
            self._wait_until_quiet(len(documents))
        self._log.news()
        numbers = [document.number for document in documents]
        counted = count(numbers, self._log.records, self._index.contents())
        return Outcome(counted, self._flushed, time.monotonic() - started)

    def _wait_for_workers(self) -> None:
        """Until all threads of both workers wait for the queue, so that a kill meets two busy workers."""
        deadline = time.monotonic() + AIM_SECONDS
        while time.monotonic() < deadline:
            with contextlib.suppress(redis.exceptions.ConnectionError):
                if self._queue.info("clients")["blocked_clients"] == WORKERS * THREADS:
                    return
            threading.Event().wait(POLL_SECONDS)
        raise ProcessError("the workers of the old way did not come up; their logs are in " + str(self._directory))

    def _under_kills(self, waves: Sequence[Wave], backend: Process, workers: Sequence[Process]) -> None:
        """A worker in the middle of `summarise`, the backend while documents arrive, and, once the worker's job runs again, the queue."""
        first, second, third = waves
        with _HandingIn(self._port, first):
            cut = self._restart(kills.strike(self._log, first, "summarise", workers, AGE_SECONDS))
        with _HandingIn(self._port, second):
            self._restart(kills.strike(self._log, second, "clean", [backend]))
        again = kills.begun_after(self._log, cut, "read")
        self._story.event(f"{kills.describe(again)}: the reaper put it back, and it begins at the top")
        with _HandingIn(self._port, third):
            kills.wait_begun(self._log, third)
        self._flush(len(third.documents))

    def _flush(self, handed_in: int) -> None:
        queued = sorted(int(number) for number in self._queue.lrange(QUEUE, 0, -1))
        self._queue.flushall()
        self._flushed = queued
        self._story.event(f"FLUSHALL of the queue, with {len(queued)} documents in it")
        if not queued and handed_in > WORKERS * THREADS:
            raise MissedError("the queue was empty when it was flushed")

    def _restart(self, hit: Hit) -> Record:
        """Starts what was killed again, as a service manager does; the begin of the step that was cut."""
        self._story.event(str(hit))
        threading.Event().wait(RESTART_SECONDS)
        self._story.event(f"{hit.process.name} is {hit.process.start()}")
        return hit.begun

    def _under_a_hand(self, documents: Sequence[Document], processes: Sequence[Process]) -> None:
        """Hands everything in and starts again what the reader kills, until nothing happens any more."""
        self._story.invite({process.name: process.pid for process in processes})
        with _HandingIn(self._port, Wave(documents)) as handing_in:
            while handing_in.is_alive() or not self._is_quiet(len(documents)):
                for process in [process for process in processes if not process.is_running]:
                    self._story.event(f"{process.name} {process.pid} is dead")
                    threading.Event().wait(RESTART_SECONDS)
                    self._story.event(f"{process.name} is {process.start()}")
                threading.Event().wait(LOOK_SECONDS)

    def _wait_until_quiet(self, documents: int) -> None:
        deadline = time.monotonic() + LONGEST_SECONDS
        while not self._is_quiet(documents) and time.monotonic() < deadline:
            threading.Event().wait(LOOK_SECONDS)

    def _is_quiet(self, documents: int) -> bool:
        """All done; or nothing is in the queue or in work, which is when neither a worker nor the reaper will ever do anything more."""
        statuses = self._jobs.by_status()
        if len(statuses["done"]) == documents:
            return True
        self._log.news()
        try:
            queued = self._queue.llen(QUEUE)
        except redis.exceptions.ConnectionError:
            return False
        return not statuses["processing"] and not queued and time.time() - self._log.records[-1].time > QUIET_SECONDS


class _HandingIn(threading.Thread):
    """Gives a wave to the backend, document by document, and clicks `publish` for every second one; tries again until it answers."""

    def __init__(self, port: int, wave: Wave) -> None:
        super().__init__(daemon=True)
        self._port = port
        self._wave = wave
        self._abandoned = threading.Event()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, error: type[BaseException] | None, *rest: object) -> None:
        if error is not None:
            self._abandoned.set()
        self.join()

    def run(self) -> None:
        for document in self._wave.documents:
            self._post("/documents", asdict(document))
            if document.number % 2 == 0:
                self._post("/publish", document.number)

    def _post(self, path: str, body: object) -> None:
        while not self._abandoned.is_set():
            connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=HTTP_SECONDS)
            try:
                connection.request("POST", path, json.dumps(body))
                if connection.getresponse().status == http.client.OK:
                    return
            except (OSError, http.client.HTTPException):
                threading.Event().wait(RESTART_SECONDS / 10)
            finally:
                connection.close()
