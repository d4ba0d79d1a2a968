"""Large payloads: out of the document on the way in, back on the way out; a full document refuses no result."""

import json
from typing import Any

import pytest

from perdure_server.engine.people import Conditions
from perdure_server.engine.service import Engine
from perdure_server.engine.values import HeartbeatIn
from perdure_server.kernel import limits
from perdure_server.kernel.definition import Exhaustion
from perdure_server.kernel.outcomes import Completed, Failed, Outcome, Waiting
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.values import Failure, Payload, RetryPolicy, Wait
from perdure_server.kernel.workflow import Signal, WorkflowState
from perdure_server.ports.errors import DocumentTooLarge
from perdure_server.store.memory import Moment
from tests.engine.harness import World
from tests.engine.rounds import supersede
from tests.engine.workers import Worker, holding
from tests.kernel.harness import activity, on_signal, signal, waiting


def blob(size: int, letter: bytes = b"x") -> Payload:
    return Payload(binary=letter * size)


async def running(world: World, *steps: str) -> Worker:
    server = await world.server()
    await world.define(server, *(steps or ("a", "b: a")))
    worker = await world.worker(server, script=holding)
    await world.start(server, value=None)
    await world.settle()
    return worker


@pytest.mark.parametrize(("size", "spilled"), [(16 * 1024, False), (16 * 1024 + 1, True)])
async def test_outputs_over_16_kib_leave_the_document(world: World, size: int, spilled: bool) -> None:
    worker = await running(world)
    await worker.settle(worker.claim("a"), Completed(blob(size)))
    await world.settle()
    output = (await world.step("a")).output
    assert output is not None
    assert (output.ref is not None) is spilled
    assert worker.claim("b").inputs == {"a": blob(size)}
    read = await worker.engine.get(world.ref(), with_payloads=True)
    assert read.workflow.steps["a"].output == blob(size)
    bare = await worker.engine.get(world.ref(), with_payloads=False)
    assert bare.workflow.steps["a"].output == output


async def test_every_kind_of_payload_is_spilled_and_comes_back(world: World) -> None:
    server = await world.server()
    await world.define(server, activity("a", retry=RetryPolicy(initial_interval=60)), waiting("w: a", on_signal("go")))
    worker = await world.worker(server, script=holding)
    large = 100_000
    await world.start(server, value="i" * large)
    await world.settle()
    claim = worker.claim("a")
    assert claim.inputs["input"].json == '"' + "i" * large + '"'
    await server.heartbeat(HeartbeatIn(claim.token, True, blob(large, b"c")))
    await worker.settle(claim, Failed(Failure("x.y", details=blob(large, b"d"))))
    await world.until(lambda: worker.held)
    claim = worker.claim("a")
    assert claim.checkpoint == blob(large, b"c")
    await worker.settle(claim, Waiting(Wait((on_signal("wake"),)), blob(large, b"e")))
    await server.signal(world.ref(), signal("wake", value="s" * large))
    await world.settle()
    claim = worker.claim("a")
    assert claim.checkpoint == blob(large, b"e")
    assert claim.wakes[0].payload is not None
    assert claim.wakes[0].payload.json == '"' + "s" * large + '"'
    await worker.settle(claim, Completed(blob(large, b"o")))
    await server.signal(world.ref(), signal("go", value="g" * large))
    await world.settle()
    workflow = await world.stored()
    assert workflow.state is WorkflowState.COMPLETED
    assert workflow.inline_bytes < limits.INLINE_PAYLOAD


async def test_a_claim_carries_1_mib_the_rest_travels_as_refs(world: World) -> None:
    worker = await running(world, "a", "b", "c", "join: a b c")
    for name, size in (("a", 700_000), ("b", 700_000), ("c", 200_000)):
        await worker.settle(worker.claim(name), Completed(blob(size, name.encode())))
    await world.settle()
    inputs = worker.claim("join").inputs
    assert inputs["c"] == blob(200_000, b"c")
    whole = [name for name, value in inputs.items() if value.ref is None]
    assert len(whole) == 2, "the smallest first"
    (left,) = (value for value in inputs.values() if value.ref is not None)
    token = worker.claim("join").token
    assert left.ref is not None
    assert (await worker.engine.fetch_payload(token, left.ref.payload_id)).inline_size == 700_000
    assert (await worker.engine.fetch_payload(world.ref(), left.ref.payload_id)).inline_size == 700_000
    with pytest.raises(Rejection) as missing:
        await worker.engine.fetch_payload(world.ref(), "nonsense")
    assert missing.value.reason is Reason.PAYLOAD_NOT_FOUND


async def test_a_read_carries_3_mib_though_the_last_output_stands_in_it_twice(world: World) -> None:
    names = ("a", "b", "c")
    worker = await running(world, "a", "b: a", "c: b")
    for name in names:
        await worker.settle(worker.claim(name), Completed(blob(1_000_000, name.encode())))
        await world.settle()
    workflow = (await worker.engine.get(world.ref(), with_payloads=True)).workflow
    assert workflow.output == workflow.steps["c"].output
    carried = [
        value.inline_size for value in (workflow.output, *(workflow.steps[name].output for name in names)) if value and not value.ref
    ]
    assert 1_000_000 < sum(carried) <= limits.READ_INLINE


@pytest.mark.parametrize("over", ["pool", "answer"])
async def test_a_claim_goes_out_with_refs_when_they_cannot_be_read(world: World, over: str) -> None:
    worker = await running(world)
    claim = worker.claim("a")
    world.faults.fail("payloads.get", Moment.BEFORE)
    await worker.settle(claim, Completed(blob(50_000)), want_next=over == "answer")
    await world.settle()
    value = worker.claim("b").inputs["a"]
    assert value.ref is not None
    assert (await worker.engine.fetch_payload(worker.claim("b").token, value.ref.payload_id)) == blob(50_000)


@pytest.mark.parametrize("over", ["pool", "answer"])
async def test_what_happens_to_a_claim_while_its_payloads_are_read_is_told(world: World, over: str) -> None:
    worker = await running(world)
    gate = world.faults.hold("payloads.get")
    if over == "pool":
        worker.stream.drain()
        other = await world.worker(worker.engine, script=holding)
    else:
        other = worker
    worker.send(worker.claim("a"), Completed(blob(50_000)))
    await world.settle()
    await worker.engine.cancel(world.ref(), "while reading", "")
    await world.settle()
    assert (await world.states())["b"] == "CANCELLING"
    gate.set()
    await world.settle()
    assert [cancel.token for cancel in other.cancels] == [other.claim("b").token]


async def test_a_nearly_full_document_keeps_only_small_payloads(world: World) -> None:
    names = [f"s{number}" for number in range(20)]
    worker = await running(world, *names)
    for name in names:
        await worker.settle(worker.claim(name), Completed(blob(16_000)))
        await world.settle()
    workflow = await world.stored()
    assert workflow.inline_bytes <= limits.INLINE_TOTAL
    assert sum(step.output.ref is not None for step in workflow.steps.values() if step.output) >= 4


@pytest.mark.parametrize("kind", ["completed", "failed", "waiting"])
async def test_a_result_that_does_not_fit_becomes_a_failure(world: World, kind: str) -> None:
    worker = await running(world)
    world.store.workflows._document_bytes = 6_000  # type: ignore[attr-defined]  # the memory store's
    outcomes: dict[str, Outcome] = {
        "completed": Completed(blob(10_000)),
        "failed": Failed(Failure("x.y", "m" * 4_000, blob(10_000))),
        "waiting": Waiting(Wait((on_signal("go"),)), blob(10_000)),
    }
    outcome = outcomes[kind]
    answer = await worker.settle(worker.claim("a"), outcome)
    assert answer.error is None
    workflow = await world.stored()
    assert workflow.state is WorkflowState.FAILED
    assert workflow.failure is not None
    assert workflow.failure.type == "DOCUMENT_FULL"
    again = await worker.settle(worker.got[0], outcome)
    assert again.duplicate


async def test_only_the_command_that_does_not_fit_pays(world: World) -> None:
    worker = await running(world, "a", "b")
    claim = worker.claim("a")
    world.store.workflows._document_bytes = 8_000  # type: ignore[attr-defined]  # the memory store's
    gate = world.faults.hold("workflows.commit")
    first = world.spawn(worker.engine.signal(world.ref(), signal("first")))
    await world.settle()
    large = world.spawn(worker.engine.heartbeat(HeartbeatIn(claim.token, True, blob(10_000))))
    small = world.spawn(worker.engine.signal(world.ref(), signal("small")))
    result = worker.send(worker.claim("b"), Completed(blob(10)))
    await world.settle()
    gate.set()
    await world.settle()
    assert not (await first).duplicate
    assert not (await small).duplicate
    assert worker.settled[result].error is None
    with pytest.raises(DocumentTooLarge):
        await large
    assert (await world.stored()).state is WorkflowState.RUNNING


async def test_c88_over_the_budget_signals_are_refused_and_ends_are_not(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = await running(world)
    monkeypatch.setattr(limits, "DOCUMENT", limits.DOCUMENT_RESERVE + 2_000)
    await worker.engine.signal(world.ref(), signal("one", value="x" * 1_500))
    with pytest.raises(DocumentTooLarge):
        await worker.engine.signal(world.ref(), signal("two", value="x" * 1_500))
    answer = await worker.settle(worker.claim("a"), Completed(blob(1_000)))
    assert answer.error is None
    workflow = await world.stored()
    assert (workflow.state, workflow.failed_step) == (WorkflowState.FAILED, "a")


async def test_a_workflow_that_nears_its_budget_is_named_once(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    worker = await running(world)
    monkeypatch.setattr(limits, "DOCUMENT_WARNING", 2_000)
    for number in range(4):
        await worker.engine.signal(world.ref(), signal(f"{number}", value="x" * 900))
    lines = [record for record in caplog.records if "nears its budget" in record.message]
    assert [(record.levelname, record.__dict__["workflow"]) for record in lines] == [("WARNING", "default/note/k")]


async def test_a_large_signal_that_meets_the_next_round_is_put_down_for_that_one(world: World) -> None:
    server = await defined_rounds(world)
    await world.start(server)
    text = json.dumps("x" * 2 * limits.INLINE_PAYLOAD)
    gate = world.faults.hold("payloads.put", Moment.AFTER)
    sending = world.spawn(server.signal(world.ref(), Signal("s1", "go", 0, Payload(json=text))))
    await world.settle()
    world.faults.release("payloads.put", Moment.AFTER)
    second = await supersede(world, server, value=2)
    gate.set()
    await world.until(sending.done)
    assert (await sending).workflow.run_id == second.workflow.run_id
    (kept,) = (await world.stored()).inbox
    assert kept.payload is not None
    assert kept.payload.ref is not None
    assert list(await world.store.payloads.get(second.workflow.run_id, [kept.payload.ref.payload_id])) == [kept.payload.ref.payload_id]


async def test_a_large_decision_that_meets_the_next_round_is_put_down_for_that_one(world: World) -> None:
    server = await defined_rounds(world, on_exhausted=Exhaustion.HOLD)
    await world.worker(server, script=lambda _: Failed(Failure("x.y", "no", non_retryable=True)))
    await world.start(server)
    await world.settle()
    text = json.dumps("x" * 2 * limits.INLINE_PAYLOAD)
    gate = world.faults.hold("payloads.put", Moment.AFTER)
    deciding = world.spawn(server.people.resolve(world.ref(), "a", Completed(Payload(json=text)), Conditions("r1")))
    await world.settle()
    world.faults.release("payloads.put", Moment.AFTER)
    second = await supersede(world, server, value=2)
    await world.settle()
    gate.set()
    await world.until(deciding.done)
    assert (await deciding).workflow.run_id == second.workflow.run_id
    view = await server.get(world.ref(), with_payloads=True)
    assert view.workflow.steps["a"].output == Payload(json=text)


async def defined_rounds(world: World, **fields: Any) -> Engine:
    server = await world.server()
    await world.define(server, activity("a", **fields), "b: a")
    return server
