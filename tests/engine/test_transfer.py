"""Export and import: a file that stands alone, and a workflow made of it that rests until somebody resumes it."""

import hashlib

import msgspec
import pytest

from perdure_server.engine.people import Conditions
from perdure_server.engine.redaction import RedactArguments
from perdure_server.engine.service import Engine
from perdure_server.engine.shifted_clock import ShiftedClock
from perdure_server.engine.transfer import Destination
from perdure_server.engine.values import Ref
from perdure_server.kernel import limits
from perdure_server.kernel.outcomes import Completed
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.start import OnClosed
from perdure_server.kernel.workflow import ENDED, Paused, Signal, Workflow, WorkflowKey, WorkflowState
from tests.engine.harness import World
from tests.engine.workers import completing, failing, holding
from tests.kernel.harness import activity, on_signal, payload, waiting
from tests.kernel.invariants import past_times

THERE = Destination("elsewhere", "copy", "r", "kim")


def elsewhere(name: str) -> Ref:
    return Ref(WorkflowKey("elsewhere", "note", name))


async def exported(world: World, server: Engine, omit_payloads: bool = False, include_rounds: bool = False) -> bytes:
    lines = [line async for line in server.operations.transfer.export(world.ref(), omit_payloads, include_rounds)]
    return b"".join(lines)


async def half_done(world: World, server: Engine) -> Workflow:
    """One step completed with a large output, the next one runs."""
    await world.define(server, "a", "b: a")
    worker = await world.worker(server, script=holding, slots=4)
    await world.start(server)
    await world.settle()
    await worker.settle(worker.claim("a"), Completed(payload("x" * limits.INLINE_PAYLOAD)))
    await world.settle()
    return await world.stored()


def kinds(data: bytes) -> list[str]:
    return [msgspec.json.decode(line).get("type", "head") for line in data.splitlines()]


async def test_a_running_workflow_rests_as_a_copy_and_goes_on_when_resumed(world: World) -> None:
    server = await world.server()
    before = await half_done(world, server)
    data = await exported(world, server)
    assert kinds(data) == ["head", "definition", "workflow", "payload", "end"]
    assert b'nonce":""' in data
    assert before.steps["b"].claim is not None
    assert before.steps["b"].claim.nonce.encode() not in data
    assert before.wake_secret.encode() not in data
    view = await server.operations.transfer.take_in(data, THERE)
    made = view.workflow
    assert (made.key, made.round) == (WorkflowKey("elsewhere", "note", "copy"), 1)
    assert made.run_id != before.run_id
    assert made.fence >= before.fence
    assert made.paused is not None
    assert (made.paused.actor, made.paused.reason) == ("kim", "imported")
    assert made.steps["a"].output == before.steps["a"].output
    assert (made.steps["b"].state.name, made.steps["b"].attempt, made.steps["b"].claim) == ("READY", 0, None)
    assert (await server.operations.transfer.take_in(data, THERE)).workflow == made, "the same request is the same import"
    assert (await world.stored()) == before, "the original is untouched"


async def test_a_copy_goes_on_when_it_is_resumed(world: World) -> None:
    server = await world.server()
    await half_done(world, server)
    (worker,) = world.workers
    data = await exported(world, server)
    await server.operations.transfer.take_in(data, Destination("default", "copy", "r"))
    worker.script = completing
    held = len(worker.got)
    await world.advance(limits.MINUTE)
    assert len(worker.got) == held, "it rests"
    await server.people.resume(world.ref("copy"), Conditions())
    await world.until(lambda: len(worker.got) > held)
    assert worker.got[-1].inputs["a"] == payload("x" * limits.INLINE_PAYLOAD)
    await world.settle()
    assert await world.completed("copy")


async def test_timeouts_stand_still_from_the_export_to_the_resume_and_queue_time_begins(world: World) -> None:
    server = await world.server()
    await world.define(server, activity("a", queue_timeout=20_000, step_timeout=limits.MINUTE), workflow_timeout=limits.MINUTE)
    worker = await world.worker(server, script=holding)
    await world.start(server)
    await world.settle()
    assert (await world.stored()).steps["a"].claim is not None
    data = await exported(world, server)
    await worker.drop()
    await world.advance(2 * limits.MINUTE)
    await server.operations.transfer.take_in(data, Destination("default", "copy", "r"))
    await server.people.resume(world.ref("copy"), Conditions())
    await world.advance(19_000)
    assert not (await world.stored("copy")).is_ended, "none of its times has passed meanwhile"
    await world.advance(3_000)
    failure = (await world.stored("copy")).failure
    assert failure is not None
    assert failure.type == "QUEUE_TIMEOUT"


async def test_nothing_of_a_copys_past_is_yet_to_come_though_the_file_is_from_a_day_ahead(world: World) -> None:
    ahead, server = await world.server(is_test=True), await world.server()
    assert isinstance(ahead.clock, ShiftedClock)
    ahead.clock.advance_to(world.now() + limits.DAY)
    await world.define(ahead, waiting("go", on_signal("go")), "a: go", "b: go", workflow_timeout=limits.HOUR)
    await world.worker(ahead, script=lambda claim: failing(claim) if claim.plan.name == "a" else None, slots=2)
    await world.start(ahead)
    for name in ("go", "early"):
        await ahead.signal(world.ref(), Signal(name, name, 0))
    await world.settle()
    await ahead.people.pause(world.ref(), Paused(0, "kim", "look"), Conditions())
    before = await world.stored()
    assert before.deadline is not None
    assert (await world.states()) == {"go": "COMPLETED", "a": "BACKOFF", "b": "RUNNING"}
    made = (await server.operations.transfer.take_in(await exported(world, ahead), Destination("default", "copy", "r"))).workflow
    assert made.update_time == made.fence == max(past_times(made)) == world.now() < before.start_time
    await world.advance(1_000)
    await server.people.resume(world.ref("copy"), Conditions())
    resumed = await world.stored("copy")
    assert resumed.update_time == world.now()
    assert resumed.deadline == before.deadline + 1_000, "it is moved by the time that the copy was paused"


async def test_an_ended_one_stays_ended_and_may_be_redacted_and_expires(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    await world.start(server, value="secret")
    await server.people.terminate(world.ref(), "", Conditions())
    data = await exported(world, server)
    made = (await server.operations.transfer.take_in(data, THERE)).workflow
    assert (made.state, made.paused, made.expire_time) == (WorkflowState.TERMINATED, None, world.now() + made.retention)
    assert await server.operations.redaction.redact(elsewhere("copy"), RedactArguments(), Conditions("r")) == 1


async def test_without_payloads_sizes_and_digests_stay(world: World) -> None:
    server = await world.server()
    await half_done(world, server)
    data = await exported(world, server, omit_payloads=True)
    assert kinds(data) == ["head", "definition", "workflow", "end"]
    assert b"xxxx" not in data
    made = (await server.operations.transfer.take_in(data, THERE)).workflow
    output = made.steps["a"].output
    assert output is not None
    assert (output.json, output.metadata["perdure-size"]) == ("null", str(limits.INLINE_PAYLOAD + 2).encode())


async def test_rounds_are_in_the_file_if_asked_for(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    await world.start(server)
    await server.people.terminate(world.ref(), "", Conditions())
    await world.start(server, value=2, on_closed=OnClosed.NEW_ROUND, request_id="next")
    await world.advance(2_000)
    data = await exported(world, server, include_rounds=True)
    assert kinds(data) == ["head", "definition", "workflow", "round", "end"]
    assert (await server.operations.transfer.take_in(data, THERE)).workflow.input == payload(2)


async def test_a_key_that_was_deleted_goes_on_counting_rounds_and_fences(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    await world.start(server)
    await server.people.terminate(world.ref(), "", Conditions())
    await world.start(server, value=2, on_closed=OnClosed.NEW_ROUND, request_id="next")
    await world.advance(2_000)
    await server.people.terminate(world.ref(), "", Conditions())
    before = await world.stored()
    data = await exported(world, server)
    await server.remove(world.ref(), Conditions())
    made = (await server.operations.transfer.take_in(data, Destination("default", request_id="r"))).workflow
    assert (made.round, made.fence > before.fence, made.state) == (before.round + 1, True, WorkflowState.TERMINATED)
    await world.advance(10_000)
    rounds, _ = await server.rounds.kept(world.key(), None, 10)
    assert [found.run_id for found in rounds] == [made.run_id], "what was deleted does not come back"


async def test_a_key_sees_no_time_go_back_though_a_server_that_was_ahead_has_deleted_it(world: World) -> None:
    ahead, server = await world.server(is_test=True), await world.server()
    await world.define(ahead, "a")
    await world.start(ahead)
    await ahead.people.terminate(world.ref(), "", Conditions())
    data = await exported(world, ahead)
    assert isinstance(ahead.clock, ShiftedClock)
    ahead.clock.advance_to(world.now() + limits.MINUTE)
    await ahead.remove(world.ref(), Conditions())
    made = (await server.operations.transfer.take_in(data, Destination("default", request_id="r"))).workflow
    assert made.update_time == world.now() + limits.MINUTE


async def test_refusals(world: World) -> None:
    server = await world.server()
    await half_done(world, server)
    data = await exported(world, server)
    lines = data.splitlines(keepends=True)
    bad = {
        "empty": b"",
        "cut": b"".join(lines[:-1]),
        "changed": data.replace(b'"remaining":1', b'"remaining":2'),
        "other format": data.replace(b"perdure-export", b"something-else"),
        "newer": data.replace(b'"version":1', b'"version":2', 1),
        "no json": b"\x00\x01" + data,
    }
    for name, broken in bad.items():
        with pytest.raises(Rejection) as caught:
            await server.operations.transfer.take_in(broken, THERE)
        assert caught.value.reason is Reason.EXPORT_INVALID, name
    with pytest.raises(Rejection) as caught:
        await server.operations.transfer.take_in(data, Destination("default"))
    assert caught.value.reason is Reason.WORKFLOW_ALREADY_EXISTS
    tried = await server.operations.transfer.take_in(data, Destination("elsewhere", validate_only=True))
    assert tried.workflow.key.business_key == "k"
    with pytest.raises(Rejection):
        await server.get(elsewhere("k"), with_payloads=False)


def edited(data: bytes, old: bytes, new: bytes) -> bytes:
    """The file as somebody makes it who edits it by hand, its checksum too."""
    lines = data.splitlines(keepends=True)[:-1]
    body = b"".join(lines).replace(old, new)
    assert body != b"".join(lines)
    return body + msgspec.json.encode({"type": "end", "sha256": hashlib.sha256(body).hexdigest()}) + b"\n"


async def test_a_file_that_was_edited_to_have_ended_with_steps_under_way_is_refused(world: World) -> None:
    server = await world.server()
    await half_done(world, server)
    data = await exported(world, server)
    for state in (state for state in WorkflowState if state in ENDED):
        broken = edited(data, b'"state":1', b'"state":%d' % state.value)
        with pytest.raises(Rejection) as caught:
            await server.operations.transfer.take_in(broken, THERE)
        assert caught.value.reason is Reason.EXPORT_INVALID, state
