"""Map and child steps on whole engines: children are created, run, reported and counted."""

import json

import pytest

from perdure_server.engine.people import Conditions
from perdure_server.engine.values import GrantedClaim
from perdure_server.kernel import limits
from perdure_server.kernel.child_state import ParentClose
from perdure_server.kernel.children import CHILD_FAILED, pack
from perdure_server.kernel.definition import ChildPlan, Join, StepDefinition
from perdure_server.kernel.outcomes import Cancelled, Completed, Failed, Outcome, Page
from perdure_server.kernel.values import Failure, Payload, RetryPolicy
from perdure_server.kernel.workflow import Paused, Signal, StepState, WorkflowState
from perdure_server.ports.telemetry import children_span_id
from tests.engine.families import CHILD, children_of, family, pools
from tests.engine.harness import World
from tests.engine.rounds import supersede
from tests.engine.workers import completing, failing, holding
from tests.kernel.families import childing, mapping, paging
from tests.kernel.harness import payload

S, W = StepState, WorkflowState


async def test_every_item_is_a_child_and_the_map_is_done_when_all_are(world: World) -> None:
    server = await family(world, mapping("m"), "z: m")
    await world.worker(server, pools=pools(20))
    await world.start(server, value=["a", {"n": 1}, 3])
    await world.until(world.is_completed)
    parent = await world.stored()
    found = await children_of(world, parent)
    assert [child.input for child in found] == [Payload(json=text, content_type="application/json") for text in ('"a"', '{"n": 1}', "3")]
    assert {child.state for child in found} == {W.COMPLETED}
    assert len({parent.trace.trace_id, *(child.trace.trace_id for child in found)}) == 4, "items have traces of their own"
    step = children_span_id(parent.run_id, "m", 0)
    assert {child.trace.link for child in found} == {f"{parent.trace.trace_id}-{step}"}
    assert not parent.duties
    assert not any(child.duties for child in found)
    progress = json.loads((parent.steps["m"].output or payload(0)).json or "")["progress"]
    assert progress == {"totalCount": "3", "completedCount": "3", "totalKnown": True}


async def test_a_child_step_brings_its_child_s_output_even_a_large_one(world: World) -> None:
    server = await family(world, childing("c"))
    text = json.dumps("x" * 2 * limits.INLINE_PAYLOAD)
    await world.worker(server, pools=pools(3), script=lambda _: Completed(Payload(json=text)))
    await world.start(server, value={"a": 1})
    await world.until(world.is_completed)
    view = await server.get(world.ref(), with_payloads=True)
    assert view.workflow.output == Payload(json=text)


async def test_a_large_source_is_read_from_its_own_document(world: World) -> None:
    server = await family(world, mapping("m", joined=Join.BEST_EFFORT))
    await world.worker(server, pools=pools(500))
    await world.start(server, value=[{"n": number, "filler": "y" * 100} for number in range(300)])
    await world.until(world.is_completed)
    assert len(await children_of(world, await world.stored())) == 300


async def test_pages_come_from_the_step_s_own_worker(world: World) -> None:
    def script(claim: GrantedClaim) -> Outcome | None:
        if claim.plan.name != "m":
            return completing(claim)
        first = int(json.loads(claim.cursor.json or "")) if claim.cursor is not None else 0
        page = pack([payload(number) for number in range(first, first + 7)])
        return Page(7, page, payload(first + 7) if first < 21 else None)

    server = await family(world, paging("m", max_in_flight=5))
    await world.worker(server, pools=pools(20), script=script)
    await world.start(server)
    await world.until(world.is_completed)
    found = await children_of(world, await world.stored())
    assert [json.loads(child.input.json or "") for child in found if child.input is not None] == list(range(28))


@pytest.mark.parametrize("count", [3, 100, pytest.param(6_000, marks=[pytest.mark.chaos, pytest.mark.timeout(300)])])
async def test_c46_the_dependant_is_claimed_once_after_the_last_child(world: World, count: int) -> None:
    bad = {0, count // 2, count - 1}

    def script(claim: GrantedClaim) -> Outcome | None:
        if claim.key.workflow_type == CHILD and json.loads(claim.inputs["input"].json or "") in bad:
            return Failed(Failure("child.broken", "as told", non_retryable=True))
        return completing(claim)

    server = await family(world, mapping("m", joined=Join.BEST_EFFORT, max_in_flight=1_000), "z: m")
    worker = await world.worker(server, pools=pools(1_000), script=script)
    await world.start(server, value=list(range(count)))
    await world.until(world.is_completed, 600_000)
    claims = [claim for claim in worker.got if claim.plan.name == "z"]
    assert len(claims) == 1
    result = json.loads(claims[0].inputs["m"].json or "")
    completed = {"completedCount": str(count - 3)} if count > 3 else {}
    assert result["progress"] == {"totalCount": str(count), "failedCount": "3", "totalKnown": True} | completed
    assert [int(error.get("index", "0")) for error in result["errors"]] == sorted(bad)
    assert worker.got.index(claims[0]) == len(worker.got) - 1


async def test_any_closes_the_others_by_policy(world: World) -> None:
    def script(claim: GrantedClaim) -> Outcome | None:
        return completing(claim) if claim.key.business_key.endswith(".1") else holding(claim)

    server = await family(world, mapping("m", joined=Join.ANY, max_in_flight=3, parent_close=ParentClose.TERMINATE))
    await world.worker(server, pools=pools(20), script=script)
    await world.start(server, value=[0, 1, 2, 3, 4])
    await world.until(world.is_completed)
    await world.settle()
    states = [child.state for child in await children_of(world, await world.stored(), 5)]
    assert states[1] is W.COMPLETED
    assert states[0] is states[2] is W.TERMINATED


async def test_a_failed_child_fails_the_step_and_its_siblings_are_cancelled(world: World) -> None:
    def script(claim: GrantedClaim) -> Outcome | None:
        return failing(claim) if claim.key.business_key.endswith(".2") else holding(claim)

    server = await family(world, mapping("m"), child_retry=RetryPolicy(max_attempts=1))
    worker = await world.worker(server, pools=pools(20), script=script)
    await world.start(server, value=[0, 1, 2, 3])
    await world.settle()
    parent = await world.stored()
    assert (parent.state, parent.failure and parent.failure.type) == (W.FAILED, CHILD_FAILED)
    states = [child.state for child in await children_of(world, parent)]
    assert states == [W.CANCELLING, W.CANCELLING, W.FAILED, W.CANCELLING]
    assert len(worker.cancels) == 3
    await world.advance(limits.CANCEL_GRACE + 1_000)
    assert {child.state for child in await children_of(world, parent)} == {W.CANCELLED, W.FAILED}
    assert not (await world.stored()).duties


async def test_abandoned_children_go_on_alone(world: World) -> None:
    server = await family(world, mapping("m", parent_close=ParentClose.ABANDON))
    worker = await world.worker(server, pools=pools(20), script=holding)
    await world.start(server, value=[0, 1])
    await world.settle()
    await server.cancel(world.ref(), "enough", "")
    await world.settle()
    assert not worker.cancels
    for claim in list(worker.held.values()):
        await worker.settle(claim)
    assert {child.state for child in await children_of(world, await world.stored())} == {W.COMPLETED}


async def test_a_retry_of_the_map_starts_new_children(world: World) -> None:
    def script(claim: GrantedClaim) -> Outcome | None:
        return failing(claim) if ".0." in claim.key.business_key else completing(claim)

    retry = RetryPolicy(max_attempts=2)
    server = await family(world, mapping("m", retry=retry), child_retry=RetryPolicy(max_attempts=1))
    await world.worker(server, pools=pools(20), script=script)
    await world.start(server, value=[0, 1])
    await world.until(world.is_completed)
    assert (await world.step("m")).generation == 1


async def test_a_source_that_cannot_be_mapped_fails_with_a_reason(world: World) -> None:
    server = await family(world, mapping("m"))
    await world.start(server, value="x" * 2 * limits.INLINE_PAYLOAD)
    await world.until(world.has_failed)
    parent = await world.stored()
    assert parent.failure is not None
    assert parent.failure.type == "MAP_SOURCE_INVALID"


async def test_without_a_definition_of_the_children_the_step_waits_and_then_goes_on(world: World) -> None:
    server = await world.server()
    await world.define(server, mapping("m"))
    await world.start(server, value=[0])
    await world.advance(20_000)
    assert (await world.step("m")).state is S.WAITING
    await world.define(server, "work", workflow_type=CHILD)
    await world.worker(server, pools=pools(2))
    await world.until(world.is_completed, 70_000)


async def test_a_definition_that_contains_itself_ends_at_the_deepest_level(world: World) -> None:
    server = await world.server()
    await world.define(server, mapping("m", child=ChildPlan("note", "input")))
    await world.start(server, value=[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]])
    await world.until(world.has_failed)
    assert sum(type_ == "note" for type_ in world.stored_types()) == limits.CHILD_DEPTH + 1


async def test_a_pause_of_the_parent_opens_no_more(world: World) -> None:
    server = await family(world, mapping("m", max_in_flight=1))
    worker = await world.worker(server, pools=pools(5), script=holding)
    await world.start(server, value=[0, 1])
    await world.settle()
    await server.people.pause(world.ref(), Paused(0, "kim", "look"), Conditions())
    await worker.settle(next(iter(worker.held.values())))
    await world.advance(30_000)
    assert len(worker.got) == 1
    await server.people.resume(world.ref(), Conditions())
    await world.settle()
    assert len(worker.got) == 2


async def test_children_of_a_superseded_round_are_closed_by_their_policy(world: World) -> None:
    server = await family(world, mapping("m"))
    worker = await world.worker(server, script=holding, pools=pools(5))
    await world.start(server, value=[1, 2])
    await world.until(lambda: len(worker.got) == 2)
    old = await world.stored()
    await supersede(world, server, value=[])
    await world.advance(5_000)
    assert len(worker.cancels) == 2, "they are told to stop"
    for claim in list(worker.held.values()):
        await worker.settle(claim, Cancelled())
    await world.until(world.is_completed)
    assert [child.state for child in await children_of(world, old)] == [W.CANCELLED, W.CANCELLED]
    assert not (await world.stored()).duties


@pytest.mark.parametrize("step", [childing("m"), mapping("m", joined=Join.BEST_EFFORT)])
async def test_c88_the_end_of_a_child_is_counted_though_the_parent_has_no_room_for_what_it_brings(
    world: World, step: StepDefinition, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = await family(world, step, "z: m")
    worker = await world.worker(server, pools=pools(3), script=holding)
    await world.start(server, value=["x"])
    await world.until(lambda: worker.got)
    # The parent alone is full: of a signal that nobody waits for.
    await server.signal(world.ref(), Signal("s", "later", 0, payload("z" * 1_000)))
    monkeypatch.setattr(limits, "DOCUMENT", limits.DOCUMENT_RESERVE + (await world.stored()).inline_bytes)
    for claim in worker.got:
        await worker.settle(claim, Completed(payload("y" * 100)))
    await world.until(world.has_failed)
    parent = await world.stored()
    assert parent.failure is not None
    assert parent.failure.type == "DOCUMENT_FULL"
    assert not any(child.duties for child in await children_of(world, parent, 1))
    assert server.supervisor.failures == 0
