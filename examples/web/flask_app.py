"""`python -m examples.web.flask_app [--port PORT]`: the service on Flask and `perdure.sync`."""

import argparse
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from flask import Flask, Response, request, stream_with_context

from examples.web.answers import EVENT_STREAM, error_answer, event_answer, status_of, workflow_answer
from examples.web.plan import Export, export
from perdure import PerdureError
from perdure.sync import Client

Answer = tuple[dict[str, Any], int]


def create_app(client: Client) -> Flask:
    """The app. All its threads share the client; under a server that forks, make both in each child, after the fork."""
    app = Flask(__name__)

    @app.post("/exports/<key>")
    def start(key: str) -> Answer:
        # The key is the caller's: a double click, or a retry after a lost answer, meets the same workflow.
        run = client.start(export, key=key, input=Export(**request.get_json()))
        return {"created": run.created}, 201 if run.created else 200

    @app.get("/exports/<key>")
    def show(key: str) -> Answer:
        return workflow_answer(client.get(export, key)), 200

    @app.post("/exports/<key>/approve")
    def approve(key: str) -> Answer:
        # One yes per export, however often it is clicked.
        told = client.run(export, key).signal("approve", request.get_json()["by"], signal_id="approve")
        return {"duplicate": told.duplicate}, 200

    @app.get("/exports/<key>/events")
    def events(key: str) -> Response:
        client.get(export, key)  # a 404 has to come before the first byte

        token = request.headers.get("Last-Event-ID", "")

        def stream() -> Iterator[str]:
            # A thread per reader: many readers are FastAPI's business. Flask ends it when it cannot write, so something is always written.
            with closing(client.run(export, key).watch(resume_token=token, idle=True)) as watching:
                yield from filter(None, map(event_answer, watching))

        return Response(stream_with_context(stream()), mimetype=EVENT_STREAM)

    @app.errorhandler(PerdureError)
    def refused(error: PerdureError) -> Answer:
        return error_answer(error), status_of(error)

    return app


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=5000)
    with Client() as shared:
        create_app(shared).run("127.0.0.1", parser.parse_args().port, threaded=True)
