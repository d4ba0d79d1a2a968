"""The backend of the old way: takes documents and clicks over HTTP, and runs the reaper."""

import json
import sys
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import redis

from examples.documents.config import LEASE_SECONDS
from examples.documents.corpus import Document
from examples.documents.old_way.jobs import Jobs
from examples.documents.old_way.worker import QUEUE

REAPER_SECONDS = 1.0


class Handler(BaseHTTPRequestHandler):
    """POST /documents with a document as JSON, POST /publish with its number."""

    def __init__(self, jobs: Jobs, queue: redis.Redis, *arguments: object) -> None:
        self._jobs = jobs
        self._queue = queue
        super().__init__(*arguments)  # type: ignore[arg-type]  # what the HTTP server hands over, untouched

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/documents":
            document = Document(**body)
            if self._jobs.insert(document):
                self._queue.rpush(QUEUE, document.number)
        else:
            self._jobs.request_publish(int(body))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Nothing: a line per request would hide what matters in this log."""


def reap(jobs: Jobs, queue: redis.Redis) -> None:
    """Each second, puts back what looks dead."""
    while True:
        threading.Event().wait(REAPER_SECONDS)
        for number in jobs.requeue_stale(LEASE_SECONDS):
            try:
                queue.rpush(QUEUE, number)
            except redis.exceptions.ConnectionError as error:
                print(f"reaper: document {number} not put back: {error}", flush=True)
            else:
                print(f"reaper: document {number} put back", flush=True)


def main(port: str, redis_port: str, directory: str) -> None:
    jobs = Jobs(Path(directory) / "jobs.db")
    queue = redis.Redis(port=int(redis_port), socket_timeout=5)
    threading.Thread(target=reap, args=(jobs, queue), daemon=True).start()
    ThreadingHTTPServer(("127.0.0.1", int(port)), partial(Handler, jobs, queue)).serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
