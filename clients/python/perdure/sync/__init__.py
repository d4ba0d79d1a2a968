"""Perdure for programs without an event loop: Django, Flask, scripts, notebooks.

    with Client() as client:
        run = client.start(note, key="note-42", input="hello")
        print(run.result())

Everything is as in `perdure`, without `await`; definitions, steps, events and errors are the same objects.
"""

from perdure.sync.client import Client
from perdure.sync.definitions import Definitions
from perdure.sync.polling import PolledClaim
from perdure.sync.run import Run
from perdure.sync.watching import Watching
from perdure.sync.worker import Worker

__all__ = ["Client", "Definitions", "PolledClaim", "Run", "Watching", "Worker"]
