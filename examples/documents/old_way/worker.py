"""A worker process of the old way: threads that pop documents and run the one function."""

import sys
import threading
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

import redis

from examples.documents import cleaning, summary, vectoriser
from examples.documents.config import PUBLISH_WAIT_SECONDS
from examples.documents.corpus import Document
from examples.documents.index import Entry, Index
from examples.documents.journal import Execution, Journal
from examples.documents.old_way.jobs import Jobs

QUEUE = "documents"
THREADS = 8
LOOK_SECONDS = 0.1


@dataclass(frozen=True)
class Tools:
    """What the function works with."""

    jobs: Jobs
    index: Index
    journal: Journal
    model: vectoriser.Model


def process(tools: Tools, document: Document, attempt: int) -> None:
    """The one function: everything that happens to a document, from its file to its publication."""
    jobs, number = tools.jobs, document.number

    def step(name: str) -> Execution:
        jobs.touch(number)
        return Execution(number, name, attempt)

    with tools.journal.step(step("read")):
        raw = cleaning.read(document)
    with tools.journal.step(step("clean")):
        cleaned = cleaning.clean(raw, document.kind, document.name)
    with tools.journal.step(step("vectorise")):
        vector = tools.model.vector(cleaned.text).tolist()
    with tools.journal.step(step("summary")):
        sentences = summary.summarise(cleaned.text)
    with tools.journal.step(step("index")):
        entry = Entry(number, document.name, cleaned.title, cleaned.text, sentences, vector)
        tools.index.add(entry, idempotency_key=uuid.uuid4().hex)
    jobs.touch(number)
    reason = wait_for_publish(jobs, number)
    with tools.journal.step(step("publish")):
        tools.index.publish(number, reason, idempotency_key=uuid.uuid4().hex, fence=0)
    jobs.finish(number)


def wait_for_publish(jobs: Jobs, number: int) -> str:
    """Holds the thread until somebody clicked or the time is over, and says which."""
    deadline = time.monotonic() + PUBLISH_WAIT_SECONDS
    while time.monotonic() < deadline:
        if jobs.publish_requested(number):
            return "signal"
        threading.Event().wait(LOOK_SECONDS)
    return "timer"


def work(tools: Tools, queue: redis.Redis) -> None:
    """Pops and runs for ever. A failing document is left to the reaper; a failing queue is tried again."""
    while True:
        try:
            popped = queue.blpop([QUEUE], timeout=1)
        except redis.exceptions.ConnectionError:
            threading.Event().wait(LOOK_SECONDS)
            continue
        begun = tools.jobs.begin(int(popped[1])) if popped else None
        if begun is not None:
            process(tools, *begun)


def main(redis_port: str, directory: str, model: str, pace_seconds: str) -> None:
    home = Path(directory)
    journal = Journal(home / "activity.jsonl", float(pace_seconds))
    tools = Tools(Jobs(home / "jobs.db"), Index(home / "index.db"), journal, vectoriser.load(Path(model)))
    queue = redis.Redis(port=int(redis_port), socket_timeout=5)
    threads = [threading.Thread(target=work, args=(tools, queue)) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
