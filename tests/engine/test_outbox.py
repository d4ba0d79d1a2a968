"""The relay: what is in an outbox is started once, whoever dies, whatever is lost; what is wrong stands in nobody's way."""

from typing import Any

import bson
import pytest

from perdure_server.engine.service import Engine
from perdure_server.kernel import limits
from perdure_server.kernel.rejection import Reason
from perdure_server.store.memory import Moment
from perdure_server.store.outbox import MemoryOutbox
from tests.engine.harness import EPOCH, TYPE, World
from tests.engine.schedules import keys, workflows

SWEEP = limits.SWEEP_INTERVAL + 100


def command(key: str, **fields: Any) -> dict[str, Any]:
    return {"_id": f"id-{key}", "workflow_type": TYPE, "business_key": key, "input": {"key": key}, **fields}


async def begun(world: World, defined: bool = True) -> tuple[Engine, MemoryOutbox]:
    outbox = MemoryOutbox(world.store._around)
    world.outboxes.append(outbox)
    server = await world.server()
    if defined:
        await world.define(server, "a")
    return server, outbox


def notes(outbox: MemoryOutbox) -> dict[str, dict[str, Any]]:
    found = [bson.decode(raw) for raw in outbox.documents.values()]
    return {document["_id"]: document.get("perdure", {}) for document in found}


async def test_what_is_written_is_started_and_removed(world: World) -> None:
    _, outbox = await begun(world)
    outbox.add(command("k", labels={"team": "m"}, priority=7, queue="gpu", retention_ms=5, extra=1))
    await world.advance(SWEEP)
    assert outbox.documents == {}
    found = workflows(world)["k"]
    assert (found.labels, found.priority, found.queue, found.retention) == ({"team": "m"}, 7, "gpu", 5)
    assert found.request_ids == ("id-k",)
    assert found.input is not None
    assert found.input.json == '{"key":"k"}'


async def test_the_same_start_over_the_api_meets_it(world: World) -> None:
    server, outbox = await begun(world)
    first = await world.start(server, "k", {"key": "k"})
    outbox.add(command("k"))
    await world.advance(SWEEP)
    assert outbox.documents == {}
    assert workflows(world)["k"].run_id == first.workflow.run_id


async def test_c01_many_documents_and_servers_start_each_once(world: World) -> None:
    _, outbox = await begun(world)
    for _ in range(3):
        await world.server()
    for number in range(450):
        outbox.add(command(f"k{number:03}"))
    await world.advance(5_000)
    assert outbox.documents == {}
    assert len(keys(world)) == 450
    assert world.writes == 450


@pytest.mark.parametrize("moment", list(Moment))
@pytest.mark.parametrize("operation", ["outbox.pending", "outbox.remove", "workflows.commit", "outbox.refuse", "outbox.postpone"])
async def test_a_lost_reply_doubles_nothing_and_loses_nothing(world: World, operation: str, moment: Moment) -> None:
    server, outbox = await begun(world)
    outbox.add(command("good", on_closed="NEW_ROUND"))
    outbox.add(command("bad", priority=11))
    outbox.add(command("early", workflow_type="later"))
    world.faults.fail(operation, moment, 2)
    await world.advance(3 * SWEEP)
    await world.define(server, "a", workflow_type="later")
    await world.advance(limits.DUTY_RETRY_CAP + SWEEP)
    assert list(notes(outbox)) == ["id-bad"]
    assert keys(world) == ["early", "good"]
    assert workflows(world)["good"].round == 1
    assert server.supervisor.failures == 0


async def test_a_server_that_dies_before_the_removal_leaves_it_to_another(world: World) -> None:
    first, outbox = await begun(world)
    held = world.faults.hold("outbox.remove")
    outbox.add(command("k"))
    await world.advance(SWEEP)
    assert keys(world) == ["k"]
    assert len(outbox.documents) == 1
    world.faults.release("outbox.remove")
    await world.server()
    await world.advance(5_000)
    assert outbox.documents == {}
    assert world.writes == 1
    held.set()
    await world.advance(2_000)
    assert first.supervisor.failures == 0


async def test_a_bad_one_is_refused_once_and_blocks_nobody(world: World) -> None:
    server, outbox = await begun(world)
    await world.start(server, "taken", "theirs")
    outbox.add(command("a", priority=11))
    outbox.add(command("b", busines_key="b"))
    outbox.add(command("taken"))
    outbox.add(command("rejected", on_open="REJECT"))
    outbox.add(command("fingerprint", definition_fingerprint="f" * 64))
    for number in range(5):
        outbox.add(command(f"good-{number}"))
    await world.advance(SWEEP)
    found = notes(outbox)
    assert {name: (note["state"], note["reason"]) for name, note in found.items()} == {
        "id-a": ("REFUSED", "INVALID_ARGUMENT"),
        "id-b": ("REFUSED", "INVALID_ARGUMENT"),
        "id-taken": ("REFUSED", "START_INPUT_MISMATCH"),
        "id-fingerprint": ("RETRYING", "DEFINITION_NOT_FOUND"),
    }
    assert found["id-a"]["faults"] == [{"field": "priority", "text": "must be from 0 to 9"}]
    assert found["id-b"]["message"] == "busines_key is no field of this format"
    assert len(keys(world)) == 7
    await world.advance(10_000)
    assert {note["tries"] for name, note in notes(outbox).items() if name != "id-fingerprint"} == {1}


async def test_it_goes_on_when_the_note_is_removed(world: World) -> None:
    _, outbox = await begun(world)
    outbox.add(command("k", priority=11))
    await world.advance(SWEEP)
    assert notes(outbox)["id-k"]["state"] == "REFUSED"
    outbox.add(command("k", priority=9))
    await world.advance(SWEEP)
    assert keys(world) == ["k"]


async def test_a_type_that_comes_later_is_waited_for_with_back_off(world: World) -> None:
    server, outbox = await begun(world, defined=False)
    outbox.add(command("k"))
    await world.advance(5 * limits.MINUTE)
    note = notes(outbox)["id-k"]
    assert (note["state"], note["reason"]) == ("RETRYING", Reason.DEFINITION_NOT_FOUND.name)
    assert 8 <= note["tries"] <= 12, "1, 2, 4 ... 60 s"
    await world.define(server, "a")
    await world.advance(limits.DUTY_RETRY_CAP + SWEEP)
    assert keys(world) == ["k"]
    assert outbox.documents == {}


async def test_the_store_away_costs_time_only(world: World) -> None:
    server, outbox = await begun(world)
    outbox.add(command("k"))
    world.faults.away = True
    await world.advance(20_000)
    world.faults.away = False
    await world.advance(3_000)
    assert keys(world) == ["k"]
    assert outbox.documents == {}
    assert server.supervisor.failures == 0


async def test_a_draining_server_relays_nothing(world: World) -> None:
    server, outbox = await begun(world)
    await server.drain(1_000)
    outbox.add(command("k"))
    await world.advance(5_000)
    assert keys(world) == []
    assert notes(outbox) == {"id-k": {}}


async def test_a_start_time_in_the_document_is_kept(world: World) -> None:
    server, outbox = await begun(world)
    worker = await world.worker(server)
    outbox.add(command("k") | {"start_at": bson.datetime_ms.DatetimeMS(EPOCH + 30_000)})
    await world.advance(29_000)
    assert worker.got == []
    await world.advance(3_000)
    assert len(worker.got) == 1
