"""`python -m examples.streaming.sse [--port PORT]`: stories as server-sent events, at /stories/KEY. `EventSource` in a browser reads them.

The resume token is the event's id. A browser that reconnects sends the last one by itself, as the header Last-Event-ID.
"""

import argparse
import json
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from examples.streaming.plan import story
from perdure import End, Event, Frame, FramesReset, Gap, Idle, NotFound
from perdure.sync import Client


def message(event: Event) -> str:
    """One event on the wire; empty: none of the reader's business."""
    match event:
        case Frame(kind="TEXT"):
            name, data = "text", event.value
        case FramesReset():
            name, data = "reset", None
        case Gap():
            name, data = "gap", event.reason
        case End():
            name, data = "end", event.state
        case Idle():
            return ": idle\n\n"  # a comment: the write fails if the reader has left
        case _:
            return ""
    return f"id: {event.resume_token}\nevent: {name}\ndata: {json.dumps(data)}\n\n"


class Stories(BaseHTTPRequestHandler):
    """GET /stories/KEY."""

    def __init__(self, client: Client, *arguments: Any) -> None:
        self.client = client
        super().__init__(*arguments)

    def do_GET(self) -> None:
        run = self.client.run(story, self.path.rpartition("/")[2])
        try:
            run.get()
        except NotFound:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        watching = run.watch(resume_token=self.headers.get("Last-Event-ID", ""), idle=True)
        try:
            for event in watching:
                self.wfile.write(message(event).encode())
        except ConnectionError:
            pass  # the reader has gone; the story goes on
        finally:
            watching.close()

    def log_message(self, *_: object) -> None:
        """Quiet."""


def main(port: int) -> None:
    with Client() as client, ThreadingHTTPServer(("127.0.0.1", port), partial(Stories, client)) as server:
        print(f"curl -N http://127.0.0.1:{server.server_port}/stories/story-1", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8000)
    main(parser.parse_args().port)
