"""A worker process of the old way: threads that pop documents and run the one function."""

import sys
import threading
import time
import uuid
from pathlib import Path

import redis

from examples.documents.activities import Activities
from examples.documents.config import PUBLISH_WAIT_SECONDS
from examples.documents.corpus import Document
from examples.documents.index import Entry
from examples.documents.journal import Execution
from examples.documents.old_way.jobs import Jobs

QUEUE = "documents"
THREADS = 8
LOOK_SECONDS = 0.1


def process(jobs: Jobs, activities: Activities, document: Document, attempt: int, model: str) -> None:
    """The one function: everything that happens to a document, from its file to its publication."""

    def step(name: str, key: str = "") -> Execution:
        jobs.touch(document.number)
        return Execution(document.number, name, attempt, key=key)

    raw = activities.read(step("read"), document)
    cleaned = activities.clean(step("clean"), document, raw)
    vector = activities.vectorise(step("vectorise"), cleaned.text, model)
    sentences = activities.summarise(step("summarise"), cleaned.text)
    entry = Entry(document.number, document.name, cleaned.title, cleaned.text, sentences, vector)
    activities.index(step("index", uuid.uuid4().hex), entry)
    jobs.touch(document.number)
    reason = wait_for_publish(jobs, document.number)
    activities.publish(step("publish", uuid.uuid4().hex), reason, fence=0)
    jobs.finish(document.number)


def wait_for_publish(jobs: Jobs, number: int) -> str:
    """Holds the thread until somebody clicked or the time is over, and says which."""
    deadline = time.monotonic() + PUBLISH_WAIT_SECONDS
    while time.monotonic() < deadline:
        if jobs.publish_requested(number):
            return "signal"
        threading.Event().wait(LOOK_SECONDS)
    return "timer"


def work(jobs: Jobs, activities: Activities, queue: redis.Redis, model: str) -> None:
    """Pops and runs for ever. A failing document is left to the reaper; a failing queue is tried again."""
    while True:
        try:
            popped = queue.blpop([QUEUE], timeout=1)
        except redis.exceptions.ConnectionError:
            threading.Event().wait(LOOK_SECONDS)
            continue
        begun = jobs.begin(int(popped[1])) if popped else None
        if begun is not None:
            process(jobs, activities, *begun, model)


def main(redis_port: str, directory: str, model: str, pace_seconds: str) -> None:
    """Runs the threads until somebody ends the process."""
    jobs = Jobs(Path(directory) / "jobs.db")
    activities = Activities(Path(directory), float(pace_seconds))
    queue = redis.Redis(port=int(redis_port), socket_timeout=5)
    threads = [threading.Thread(target=work, args=(jobs, activities, queue, model)) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
