"""Measures the store: `python -m tests.store.bench URL [driver] [road]`. Not a test: it prints, on whatever machine it is."""

import asyncio
import secrets
import sys
import time
from collections.abc import Awaitable, Callable, Sequence

from msgspec.structs import replace

from perdure_server.kernel.values import Payload, Trace
from perdure_server.kernel.workflow import Claim, Event, Step, StepState, Workflow, WorkflowKey, WorkflowState
from perdure_server.store import documents
from perdure_server.store.committer import Road
from perdure_server.store.driver import Driver, encoded
from perdure_server.store.mongo import MongoStore

NOW = 1_800_000_000_000
CALLERS = 64
ROUNDS = 20


def started(number: int) -> Workflow:
    """A three-step workflow whose first step has just been claimed."""
    claim = Claim("n" * 22, "s" * 22, NOW, NOW + 600_000, "a" * 16, 3)
    return Workflow(
        key=WorkflowKey("default", "bench", f"key-{secrets.token_hex(6)}-{number}"),
        run_id=secrets.token_hex(12),
        round=1,
        fence=1,
        revision=1,
        state=WorkflowState.RUNNING,
        update_time=NOW,
        start_time=NOW,
        fingerprint="f" * 64,
        steps={"read": Step(StepState.RUNNING, NOW, claim_no=1, attempt=1, started=NOW, claim=claim)},
        remaining=3,
        step_count=3,
        trace=Trace("t" * 32, "r" * 16, "p" * 16),
        input=Payload(json='{"path": "' + "x" * 200 + '"}'),
        events=tuple(Event(seq, NOW, "read", 3, "", 1, 1) for seq in range(1, 4)),
        event_seq=3,
        sessions=("s" * 22,),
    )


def completed(workflow: Workflow) -> Workflow:
    """The change of one Complete with the next claim in it."""
    number = workflow.revision
    ended = replace(workflow.steps["read"], state=StepState.COMPLETED, claim=None, ended=NOW + number, output=Payload(json='{"count": 7}'))
    events = (*workflow.events, Event(workflow.event_seq + 1, NOW, "read", 8, "", 1, 1))[-64:]
    running = replace(workflow.steps["read"], claim_no=number)
    return replace(
        workflow,
        revision=number + 1,
        update_time=NOW + number,
        steps={**workflow.steps, "read": ended, "clean": running},
        events=events,
        event_seq=workflow.event_seq + 1,
    )


async def together(callers: int, call: Callable[[int], Awaitable[None]]) -> float:
    """Operations per second of `callers` tasks that each run ROUNDS operations."""
    begun = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for number in range(callers):
            group.create_task(_rounds(number, call))
    return callers * ROUNDS / (time.perf_counter() - begun)


async def _rounds(number: int, call: Callable[[int], Awaitable[None]]) -> None:
    for _ in range(ROUNDS):
        await call(number)


async def measure(store: MongoStore) -> None:
    """Prints latency of one caller and rates of many."""
    workflows: dict[int, Workflow] = {}

    async def insert(number: int) -> None:
        workflows[number] = started(number)
        assert await store.workflows.commit(None, workflows[number])

    async def update(number: int) -> None:
        new = completed(workflows[number])
        assert await store.workflows.commit(workflows[number], new)
        workflows[number] = new

    async def load(number: int) -> None:
        assert await store.workflows.load(workflows[number].workflow_id) is not None

    for name, call in (("insert", insert), ("update", update), ("load", load)):
        cpu = time.process_time()
        one = 1_000 / await together(1, call)
        rate = await together(CALLERS, call)
        cpu = (time.process_time() - cpu) * 1_000_000 / ((CALLERS + 1) * ROUNDS)
        say(f"{name}: alone {one:.2f} ms, {CALLERS} callers {rate:,.0f}/s, {cpu:.0f} us of our CPU each")


def measure_encoding() -> None:
    """Prints what the mapping costs for a three-step workflow with a ring of 20 events."""
    old = started(0)
    for _ in range(17):
        old = completed(old)
    new = completed(old)
    raw = bytes(encoded(documents.encode(new)).raw)
    calls: Sequence[tuple[str, Callable[[], object]]] = (
        ("document", lambda: documents.encode(new)),
        ("document to BSON", lambda: encoded(documents.encode(new))),
        ("change", lambda: documents.encode_change(old, new)),
        ("change to BSON", lambda: encoded(documents.encode_change(old, new).operators())),
        ("BSON to instance", lambda: documents.decode(documents.from_bson(raw))),
    )
    for name, call in calls:
        best = min(_timed(call) for _ in range(5))
        say(f"{name}: {best:.1f} us")
    say(f"document: {len(raw)} bytes; change: {len(encoded(documents.encode_change(old, new).operators()).raw)} bytes")


def _timed(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    for _ in range(2_000):
        call()
    return (time.perf_counter() - begun) * 1_000_000 / 2_000


def say(text: str) -> None:
    """Prints one line."""
    print(text)  # noqa: T201 -- a measurement is there to be printed


async def main() -> None:
    """Measures the mapping, then the store of the command line."""
    measure_encoding()
    url = sys.argv[1]
    driver: Driver = "pymongo" if "pymongo" in sys.argv else "motor"
    road = next((road for road in Road if road.name in sys.argv), None)
    store = MongoStore(url, f"bench_{secrets.token_hex(4)}", driver, road)
    await store.open()
    say(str({**store.description()}))
    await measure(store)
    await store.close()


if __name__ == "__main__":
    asyncio.run(main())
