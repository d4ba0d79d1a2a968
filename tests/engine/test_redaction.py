"""RedactPayloads: a marker goes into every kind of place, and afterwards it is nowhere in the raw store, nor among the frames."""

from typing import Any, cast

import pytest

from perdure_server.engine.batch_verbs import packed
from perdure_server.engine.batches import Plan, Work
from perdure_server.engine.people import Conditions
from perdure_server.engine.redaction import RedactArguments
from perdure_server.engine.selection import Selection
from perdure_server.engine.service import Engine
from perdure_server.engine.values import HeartbeatIn, Ref
from perdure_server.kernel import limits
from perdure_server.kernel.outcomes import Completed, Failed, Waiting
from perdure_server.kernel.redaction import REDACTED, PayloadKind
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.start import OnClosed
from perdure_server.kernel.values import Condition, Failure, RetryPolicy, Wait
from perdure_server.kernel.workflow import Signal, Workflow, WorkflowState
from perdure_server.ports.coordination import Frame
from perdure_server.ports.errors import StoreUnavailable
from perdure_server.ports.store import WorkflowQuery
from perdure_server.store.memory import MemoryStore, MemoryWorkflows, Moment
from perdure_server.store.memory_records import MemoryPayloads
from tests.engine.harness import World
from tests.engine.workers import Worker, holding
from tests.kernel.harness import activity, payload

MARK = "personal-data-of-kim"
ALL = RedactArguments()


def marked(size: int = 0) -> Any:
    return payload(MARK + "x" * size)


def raw(world: World) -> str:
    """Everything that the store holds, and all frames."""
    store: MemoryStore = world.store
    documents = cast("MemoryWorkflows", store.workflows)._stored
    kept = [stored.raw for stored in documents.values()]
    kept += [repr(payloads).encode() for payloads in cast("MemoryPayloads", store.payloads)._stored.values()]
    kept += [repr(cast("Any", store.batches).stored).encode(), repr(cast("Any", store.audit).stored).encode()]
    kept.append(repr(vars(world.coordination)).encode())
    streams = [stream for stream in vars(world.coordination).values() if hasattr(stream, "__dict__")]
    kept += [repr(vars(stream)).encode() for stream in streams]
    return b"\n".join(kept).decode(errors="replace")


async def filled(world: World, engine: Engine, name: str = "k", **fields: Any) -> Worker:
    """A failed workflow with the marker as input, output, checkpoint, signals (waiting and consumed), failures, frames; small and large."""
    await world.define(engine, "a", activity("b: a", retry=RetryPolicy(max_attempts=2, initial_interval=1, jitter=0.0)), "c: b")
    worker = await world.worker(engine, script=holding)
    await world.start(engine, name, MARK + "y" * limits.INLINE_PAYLOAD, **fields)
    await world.settle()
    claim = worker.claim("a")
    beat = HeartbeatIn(claim.token, True, marked(limits.INLINE_PAYLOAD), 1, (Frame("", 0, 1, 1, 0, marked()),))
    await engine.heartbeat(beat)
    await worker.settle(claim, Waiting(Wait((Condition("go", signal="go"),)), marked()))
    for number, size in ((1, 0), (2, limits.INLINE_PAYLOAD)):
        await engine.signal(Ref(world.key(name)), Signal(f"s{number}", "go", 0, marked(size)))
    await world.settle()
    await worker.settle(worker.got[-1], Completed(marked(limits.INLINE_PAYLOAD)))
    await world.settle()
    for _ in range(2):
        await worker.settle(worker.got[-1], Failed(Failure("t.x", MARK, marked())))
        await world.advance(100)
    worker.stop()
    assert (await world.stored(name)).state is WorkflowState.FAILED
    return worker


async def test_a_marker_is_nowhere_after_a_redaction(world: World) -> None:
    server = await world.server()
    await filled(world, server)
    before = await world.stored()
    assert MARK in raw(world)
    assert (await world.coordination.read_frames(before.run_id, "", 10)).frames
    tried = await server.operations.redaction.redact(world.ref(), ALL, Conditions("r", validate_only=True))
    assert (await world.stored()) == before
    count = await server.operations.redaction.redact(world.ref(), ALL, Conditions("r"))
    assert count == tried > 8
    assert MARK not in raw(world)
    assert not (await world.coordination.read_frames(before.run_id, "", 10)).frames
    stored = await world.stored()
    assert (stored.input, stored.steps["a"].output, stored.failure) == (REDACTED, REDACTED, Failure("t.x", "", REDACTED))
    assert {name: step.state for name, step in stored.steps.items()} == {name: step.state for name, step in before.steps.items()}
    assert await server.operations.redaction.redact(world.ref(), ALL, Conditions("r")) == 0


async def test_all_rounds_are_redacted(world: World) -> None:
    server = await world.server()
    await filled(world, server)
    await world.start(server, value="harmless", on_closed=OnClosed.NEW_ROUND, request_id="next")
    await server.people.terminate(world.ref(), "", Conditions())
    await world.advance(2_000)
    assert MARK in raw(world)
    await server.operations.redaction.redact(world.ref(), ALL, Conditions("r"))
    assert MARK not in raw(world)


async def test_a_crash_between_leaves_what_the_same_request_removes(world: World) -> None:
    server = await world.server()
    await filled(world, server)
    world.faults.fail("payloads.remove", Moment.BEFORE)
    with pytest.raises(StoreUnavailable):
        await server.operations.redaction.redact(world.ref(), ALL, Conditions("r"))
    assert MARK in raw(world)
    await world.advance(limits.PAYLOAD_UNUSED + 1)
    await server.operations.redaction.redact(world.ref(), ALL, Conditions("r"))
    assert MARK not in raw(world)


async def test_frames_that_cannot_be_dropped_are_no_success(world: World) -> None:
    server = await world.server()
    await filled(world, server)
    world.coordination.away = True
    with pytest.raises(StoreUnavailable):
        await server.operations.redaction.redact(world.ref(), RedactArguments((int(PayloadKind.FRAME),)), Conditions("r"))
    world.coordination.away = False


async def test_an_open_workflow_is_refused_and_goes_on(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    await world.start(server, value=MARK)
    with pytest.raises(Rejection) as caught:
        await server.operations.redaction.redact(world.ref(), ALL, Conditions("r"))
    assert caught.value.reason is Reason.WORKFLOW_NOT_CLOSED
    await world.worker(server)
    await world.settle()
    assert await world.completed()


async def test_many_in_the_background(world: World) -> None:
    server = await world.server()
    await filled(world, server)
    await world.start(server, "open", value="still needed")
    plan = Plan(Selection(WorkflowQuery("default")), packed(ALL))
    batch = await server.operations.batches.start(Work("default", "redact", plan, request_id="r"))
    assert batch is not None
    await world.advance(5_000)
    done = await server.operations.batches.get("default", batch.batch_id)
    assert (done.succeeded, done.failed) == (1, 1)
    assert MARK not in raw(world)


async def test_orphans_go_after_a_day_and_what_is_referred_to_stays(world: World) -> None:
    server = await world.server()
    await filled(world, server)
    stored: Workflow = await world.stored()
    kept = len(_payloads(world, stored.run_id))
    await world.store.payloads.put(stored.run_id, [payload("orphan of this run")], world.now(), stored.workflow_id)
    await world.store.payloads.put("e" * 24, [payload("of a start that lost")], world.now(), stored.workflow_id)
    await world.store.payloads.put("d" * 24, [payload("of nobody")], world.now(), b"nobody")
    await server.close()
    await world.advance(limits.ORPHAN_AFTER - limits.MINUTE)
    await world.server()
    await world.advance(30_000)
    assert len(_payloads(world, stored.run_id)) == kept + 1, "not yet"
    await world.advance(2 * limits.MINUTE)
    assert len(_payloads(world, stored.run_id)) == kept
    assert not _payloads(world, "e" * 24)
    assert not _payloads(world, "d" * 24)


def _payloads(world: World, run_id: str) -> dict[str, Any]:
    return cast("MemoryPayloads", world.store.payloads)._stored.get(run_id, {})
