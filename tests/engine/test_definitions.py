"""Definitions: contracts matched, several versions side by side, news for connected workers."""

import pytest
from msgspec.structs import replace

from perdure_server.engine import catalog
from perdure_server.engine.values import PoolServed
from perdure_server.kernel.contracts import with_contracts
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.rejection import FieldViolation, Reason, Rejection
from perdure_server.ports.store import Subscription
from perdure_server.store.memory import Moment
from tests.engine.harness import World
from tests.engine.workers import Worker, holding
from tests.kernel.harness import activity, plan


def serving(definition: Definition, *names: str, slots: int = 5) -> tuple[Subscription, ...]:
    """A pool of a worker built for these steps of this definition."""
    contracts = {name: definition.by_name[name].contract for name in names or definition.by_name}
    return (Subscription("pool", "default", "note", contracts, slots),)


def statuses(pool: PoolServed) -> dict[str, Reason | None]:
    return {step.step: step.problem for step in pool.steps}


async def test_an_unmatched_contract_is_a_status_not_the_end(world: World) -> None:
    server = await world.server()
    definition = await world.define(server, "a", "b: a")
    contracts = {"a": definition.by_name["a"].contract, "b": "0" * 64, "c": "1" * 64}
    worker = await world.worker(server, script=holding, pools=(Subscription("pool", "default", "note", contracts, 5),))
    (pool,) = worker.welcome.pools
    assert statuses(pool) == {"a": None, "b": Reason.DEFINITION_MISMATCH, "c": Reason.DEFINITION_NOT_FOUND}
    assert pool.steps[0].fingerprints == (definition.fingerprint,)
    await world.start(server)
    await world.settle()
    await worker.settle(worker.claim("a"))
    await world.advance(12_000)
    assert worker.held == {}, "b is not granted to a worker that was built for another b"


async def test_c54_two_fingerprints_side_by_side(world: World) -> None:
    server = await world.server()
    old = await world.define(server, "a", "b: a")
    old_worker = await world.worker(server, script=holding, pools=serving(old))
    await world.start(server, "old")
    new = await world.define(server, "a", activity("b: a", version="2"), "c: b")
    assert new.fingerprint != old.fingerprint
    new_worker = await world.worker(server, script=holding, pools=serving(new))
    await world.start(server, "new")
    await world.settle()
    shared = [claim for worker in (old_worker, new_worker) for claim in worker.held.values()]
    assert {claim.key.business_key: claim.fingerprint for claim in shared} == {"old": old.fingerprint, "new": new.fingerprint}
    for worker in (old_worker, new_worker):
        for claim in list(worker.held.values()):
            await worker.settle(claim)
    await world.advance(300)
    assert {claim.key.business_key for claim in old_worker.held.values() if claim.plan.name == "b"} == {"old"}
    assert {claim.key.business_key for claim in new_worker.held.values() if claim.plan.name == "b"} == {"new"}


async def test_c54_a_policy_is_not_structure(world: World) -> None:
    server = await world.server()
    old = await world.define(server, "a")
    new = await world.define(server, activity("a", attempt_timeout=77_000))
    assert new.fingerprint == old.fingerprint
    assert new.policy_revision == 2
    worker = await world.worker(server, script=holding, pools=serving(old))
    await world.start(server)
    await world.settle()
    assert worker.claim("a").attempt_remaining == 77_000


@pytest.mark.parametrize("lost", [False, True])
async def test_a_new_version_reaches_connected_pools(world: World, lost: bool) -> None:
    here, there = await world.server(), await world.server()
    first = await world.define(here, "a")
    workers = [await world.worker(engine, script=holding) for engine in (here, there)]
    await world.advance(1_500)
    world.coordination.deaf = lost
    second = await world.define(there, "a", "b: a")
    passed = await world.until(lambda: all(worker.status for worker in workers))
    assert passed <= (6_100 if lost else 0)
    for worker in workers:
        (pool,) = worker.status[-1].pools
        assert set(next(step for step in pool.steps if step.step == "a").fingerprints) == {first.fingerprint, second.fingerprint}
    await world.start(there)
    await world.advance(1_200)
    assert sum(len(worker.held) for worker in workers) == 1


async def test_a_type_that_is_registered_after_its_worker_connected(world: World) -> None:
    server = await world.server()
    worker: Worker = await world.worker(server)
    assert statuses(worker.welcome.pools[0]) == {}
    await world.define(server, "a")
    await world.settle()
    await world.start(server)
    await world.settle()
    assert await world.completed()


async def test_activation_and_lists(world: World) -> None:
    server, other = await world.server(), await world.server()
    first = await world.define(server, "a")
    second = await world.define(server, "a", "b: a", activate=False)
    assert (await server.definition("default", "note"))[0].fingerprint == first.fingerprint
    assert (await server.definition("default", "note", second.fingerprint))[1] is False
    assert [version.fingerprint for version in await server.versions("default", "note")] == [second.fingerprint, first.fingerprint]
    await server.activate("default", "note", second.fingerprint)
    await world.settle()
    assert (await world.start(other)).workflow.fingerprint == second.fingerprint
    assert [active.fingerprint for active in await other.definitions("default")] == [second.fingerprint]
    with pytest.raises(Rejection) as missing:
        await server.activate("default", "note", "0" * 64)
    assert missing.value.reason is Reason.DEFINITION_NOT_FOUND
    with pytest.raises(Rejection):
        await server.definition("default", "unheard")


async def test_a_start_may_choose_a_registered_version(world: World) -> None:
    server = await world.server()
    first = await world.define(server, "a")
    await world.define(server, "a", "b: a")
    started = await server.start(world.command(), fingerprint=first.fingerprint)
    assert started.workflow.fingerprint == first.fingerprint


async def test_validate_only_stores_nothing_and_faults_are_named(world: World) -> None:
    server = await world.server()
    prepared, active = await server.register(plan("a", workflow_type="note"), True, False, True)
    assert prepared.fingerprint
    assert active is None
    assert await server.versions("default", "note") == ()
    with pytest.raises(FieldViolation) as cycle:
        await server.register(Definition("default", "note", (activity("a: b"), activity("b: a"))), True, False, False)
    assert cycle.value.reason is Reason.DEFINITION_CYCLE


async def test_a_reserved_word_is_no_name_of_a_step_unless_it_is_registered(world: World) -> None:
    server = await world.server()
    reserved = plan("class", "b: class", "import", workflow_type="note")
    with pytest.raises(FieldViolation) as caught:
        await server.register(reserved, activate=False, only_if_none=True, validate_only=True)
    assert caught.value.reason is Reason.DEFINITION_INVALID
    assert [field for field, _ in caught.value.violations] == ["definition.steps[0].name", "definition.steps[2].name"]
    with pytest.raises(FieldViolation) as caught:
        await server.register(replace(reserved, max_lost_claims=0), activate=False, only_if_none=True, validate_only=True)
    assert {field for field, _ in caught.value.violations} == {
        "definition.max_lost_claims",
        "definition.steps[0].name",
        "definition.steps[2].name",
    }, "with every other fault"
    await server.store.definitions.put(with_contracts(reserved))  # from before they were refused
    stored, active = await server.register(reserved, activate=True, only_if_none=False, validate_only=False)
    assert active is not None
    assert active.fingerprint == stored.fingerprint
    await world.start(server)


async def test_only_if_none_keeps_the_active_one(world: World) -> None:
    server = await world.server()
    first = await world.define(server, "a")
    _, active = await server.register(plan("a", "b: a", workflow_type="note"), True, True, False)
    assert active is not None
    assert active.fingerprint == first.fingerprint


async def test_versions_are_read_once_however_many_workers_ask(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    await world.worker(server)
    before = world.faults.calls["definitions.versions"]
    for number in range(20):
        await world.worker(server, f"w{number}", slots=0)
    assert world.faults.calls["definitions.versions"] - before <= 1
    await world.advance(10_500)
    assert world.faults.calls["definitions.versions"] - before <= 4, "two refreshes"


async def test_a_refresh_that_fails_is_tried_again(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server)
    world.faults.fail("definitions.versions", Moment.BEFORE, times=2)
    await world.define(server, "a", "b: a")
    assert await world.until(lambda: worker.status) <= 500


async def test_the_catalog_has_a_bound(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "CACHED", 3)
    server = await world.server()
    for number in range(8):
        await world.define(server, "a", workflow_type=f"t{number}")
        await server.catalog.active("default", f"t{number}")
        await server.catalog.versions("default", f"t{number}")
    assert len(server.catalog) <= 9


async def test_an_answer_that_was_under_way_when_things_changed_is_not_kept(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    gate = world.faults.hold("definitions.active", Moment.AFTER)
    old = world.spawn(server.catalog.active("default", "note"))
    await world.settle()
    world.faults.release("definitions.active", Moment.AFTER)
    new = await world.define(server, "a", "b: a")
    gate.set()
    await world.settle()
    assert (await old).fingerprint != new.fingerprint
    assert (await world.start(server)).workflow.fingerprint == new.fingerprint
