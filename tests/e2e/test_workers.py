"""Workers that leave, die, or move to another server; sessions with the shortest lease, 3 s."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator

import pytest

from perdure.v1 import admin_service_pb2, claim_pb2
from tests.conftest import Eventually
from tests.e2e.channels import COMPLETED, Perdure, connected, refused
from tests.e2e.conftest import MakeServer
from tests.e2e.draining_worker import definition
from tests.e2e.servers import LEASE_MS, PerdureProcess
from tests.e2e.stream_worker import Result, StreamWorker

pytestmark = pytest.mark.slow

LEASE = LEASE_MS / 1000
MISSED_WITHIN = LEASE + 2 + 2  # the lease, the margin that expiry is late by, and a sweep on a busy machine


class Record:
    """What a worker was given and told."""

    def __init__(self) -> None:
        self.begins: list[tuple[str, int, int]] = []
        self.answers: list[str] = []
        self.claims: list[claim_pb2.Claim] = []

    def begun(self, claim: claim_pb2.Claim) -> None:
        self.claims.append(claim)
        self.begins.append((claim.step, claim.claim_no, claim.attempt))

    def sent(self, claim: claim_pb2.Claim, result: Result) -> None:
        pass

    def answered(self, claim: claim_pb2.Claim, reason: str, *, duplicate: bool) -> None:
        self.answers.append(reason or "OK")


class Held:
    """Activities that run until they are let go."""

    def __init__(self) -> None:
        self.go = asyncio.Event()

    async def __call__(self, claim: claim_pb2.Claim) -> Result:
        await self.go.wait()
        result = Result()
        result.completed.output.json = f'"{claim.step}"'
        return result


@contextlib.asynccontextmanager
async def working(worker: StreamWorker) -> AsyncIterator[asyncio.Task[None]]:
    """A worker in this process, stopped in order at the end."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(worker.run())
        yield task
        worker.stop.set()


async def test_a_stream_runs_steps_in_a_chain_without_a_new_claim_message_each(server: PerdureProcess, perdure: Perdure) -> None:
    await perdure.register("a", "b: a", "c: b")
    record, held = Record(), Held()
    held.go.set()
    async with working(StreamWorker([server.address], perdure.workflow_type, held, record)):
        await perdure.start()
        assert (await perdure.ended()).state == COMPLETED
    assert record.begins == [("a", 1, 1), ("b", 1, 1), ("c", 1, 1)]
    assert record.answers == ["OK"] * 3


async def test_a_worker_that_vanishes_is_missed_after_its_lease_and_its_result_is_refused(
    server: PerdureProcess, perdure: Perdure, eventually: Eventually
) -> None:
    await perdure.register("a", "b: a")
    record, held = Record(), Held()
    async with working(StreamWorker([server.address], perdure.workflow_type, held, record)) as running:
        await perdure.start()
        await eventually(lambda: record.begins)
        running.cancel()
    old = record.claims[0]
    new = await perdure.poll("a", wait=MISSED_WITHIN)
    assert new is not None, f"a worker that vanished must be missed within {MISSED_WITHIN} s"
    assert (new.step, new.claim_no, new.attempt) == ("a", 2, 2)
    refusal = await refused(perdure.complete(old, '"late"'))
    assert (refusal.reason, refusal.facts["cause"]) == ("CLAIM_LOST", "EXPIRED")
    await perdure.complete(new, '"in time"')
    assert (await perdure.steps())["a"].output.json == '"in time"'


@pytest.mark.parametrize("leave", ["kill", "term"])
async def test_a_worker_goes_on_with_its_claims_at_another_server(new_server: MakeServer, eventually: Eventually, leave: str) -> None:
    first, second = new_server(), new_server()
    record, held = Record(), Held()
    worker = StreamWorker([first.address, second.address], "story", held, record)
    async with connected(second.address) as perdure, working(worker):
        await perdure.register("a", "b: a")
        await perdure.start()
        await eventually(lambda: record.begins)
        first.send(signal.SIGKILL if leave == "kill" else signal.SIGTERM)
        await eventually(lambda: len(worker.welcomes) == 2)
        old, new = worker.welcomes
        assert new.resumed
        assert (new.session_id, new.connection_no, list(new.lost)) == (old.session_id, old.connection_no + 1, [])
        held.go.set()
        assert (await perdure.ended()).state == COMPLETED
    assert record.begins == [("a", 1, 1), ("b", 1, 1)]
    assert record.answers == ["OK", "OK"]


@contextlib.asynccontextmanager
async def draining_worker(address: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A worker process of the Python client."""
    command = (sys.executable, "-m", "tests.e2e.draining_worker", address)
    process = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def test_c30_a_worker_that_drains_keeps_its_claim_for_longer_than_its_lease(server: PerdureProcess) -> None:
    async with connected(server.address, definition.workflow_type) as perdure, draining_worker(server.address) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        request = admin_service_pb2.RegisterDefinitionRequest(definition=definition.to_message(), activate=True)
        await perdure.admin.RegisterDefinition(request)
        await perdure.start()
        assert await process.stdout.readline() == b"begun\n"
        process.send_signal(signal.SIGTERM)
        # Nobody else is given what the draining worker still runs, and what comes now is not given to it.
        assert await perdure.poll(wait=MISSED_WITHIN) is None
        await perdure.start("after")
        assert (await perdure.taken()).workflow.business_key == "after"
        process.stdin.write(b"well\n")
        async with asyncio.timeout(10):
            assert await process.wait() == 0
        step = (await perdure.steps())["work"]
    assert (step.output.json, step.claim_no, step.attempt) == ('"finished well"', 1, 1)
