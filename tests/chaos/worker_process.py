"""A worker process of a scene: `python -m tests.chaos.worker_process stream|client JOURNAL TYPE ADDRESS...`. SIGTERM ends it in order."""

import asyncio
import json
import logging
import signal
import sys
from pathlib import Path

from perdure import Client, Context, Definition, Woken
from perdure.context import ClaimFacts
from tests.chaos import job
from tests.chaos.journal import Journal
from tests.e2e.stream_worker import StreamWorker, lapse

SLOTS = 24


async def by_stream(journal: Path, workflow_type: str, addresses: list[str]) -> None:
    worker = StreamWorker(addresses, workflow_type, job.perform, Journal(journal, "stream"), slots=SLOTS)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop.set)
    say_ready()
    await worker.run()


async def by_client(journal: Path, workflow_type: str, addresses: list[str]) -> None:
    # gRPC itself goes through the addresses, as it does for names with several.
    async with Client(f"ipv4:{','.join(addresses)}") as client:
        worker = client.worker(client_definition(workflow_type, Journal(journal, "client")), slots=SLOTS, register=False)
        async with worker:
            say_ready()
            await asyncio.get_running_loop().create_future()


def client_definition(workflow_type: str, journal: Journal) -> Definition:
    """The same definition in the client's words. Its own results are answered inside the library, so it notes beginnings only."""
    made = Definition(workflow_type)

    async def perform(facts: ClaimFacts, **inputs: object) -> list[object]:
        fact = {"step": facts.step, "claim_no": facts.claim_no, "attempt": facts.attempt, "fence": facts.fence}
        journal.write("begun", facts.business_key, **fact)
        await lapse(job.SECONDS)
        if job.fails(facts.step, facts.business_key, facts.attempt):
            journal.write("sent", facts.business_key, **fact, outcome="failed")
            raise RuntimeError("the first attempt of every fifth key fails")
        output = job.made_by(facts.step, facts.claim_no)
        journal.write("sent", facts.business_key, **fact, outcome="completed", output=json.dumps(output))
        return output

    @made.step()
    async def fetch(ctx: Context[None], input: int) -> list[object]:
        return await perform(ctx.facts)

    @made.step()
    async def left(ctx: Context[None], fetch: list[object]) -> list[object]:
        return await perform(ctx.facts)

    @made.step()
    async def right(ctx: Context[None], fetch: list[object]) -> list[object]:
        return await perform(ctx.facts)

    made.wait("wait_go", signal="wait_go", after=(left, right))

    @made.step()
    async def publish(ctx: Context[None], wait_go: Woken[int], left: list[object], right: list[object]) -> list[object]:
        return await perform(ctx.facts)

    return made


def say_ready() -> None:
    """What the scene waits for."""
    sys.stdout.write("works\n")
    sys.stdout.flush()


def main(kind: str, journal: str, workflow_type: str, *addresses: str) -> None:
    """Run one worker until it is ended."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    serve = by_stream if kind == "stream" else by_client
    asyncio.run(serve(Path(journal), workflow_type, list(addresses)))


if __name__ == "__main__":
    main(*sys.argv[1:])
