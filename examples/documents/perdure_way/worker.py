"""One worker process: `python -m examples.documents.perdure_way.worker ADDRESS DIRECTORY PACE NAME`."""

import asyncio
import logging
import sys
from pathlib import Path

from examples.documents.activities import Activities
from examples.documents.perdure_way.plan import corpus_definition, document_definition
from perdure import Client

SLOTS = 8
CONNECTED = "connected"


async def main(address: str, directory: str, pace_seconds: str, name: str) -> None:
    """Serves until SIGTERM."""
    activities = Activities(Path(directory), float(pace_seconds))
    async with Client(address) as client:
        worker = client.worker(corpus_definition(activities), document_definition(activities), slots=SLOTS, worker_id=name)
        async with worker:
            print(CONNECTED, flush=True)
            await asyncio.Event().wait()


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    asyncio.run(main(*sys.argv[1:]))
