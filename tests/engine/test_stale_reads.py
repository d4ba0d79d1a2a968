"""A plain read may come from a primary that does not know yet that it is none. Nothing that cannot be undone is founded on one."""

from typing import Any

import pytest
from msgspec.structs import replace

from perdure_server.engine.catalog import DefinitionName
from perdure_server.engine.people import Conditions
from perdure_server.engine.redaction import RedactArguments
from perdure_server.kernel import limits
from perdure_server.kernel.outcomes import Completed
from perdure_server.kernel.resources import Stripe
from perdure_server.kernel.workflow import Duty, DutyKind, StepState, Tombstone
from perdure_server.ports.store import Read
from tests.engine.families import child_key_of, family, pools
from tests.engine.harness import World
from tests.engine.permits import Permits, limited
from tests.engine.rounds import archived, defined, stored, supersede
from tests.engine.workers import completing, holding
from tests.kernel.families import mapping
from tests.kernel.harness import payload


class Stale:
    """While `lies`, plain reads of the world's workflows are answered with what was so before."""

    def __init__(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        self._world = world
        self._monkeypatch = monkeypatch
        self.lies = True
        self.asked = 0

    def answers(self, operation: str, answer: Any) -> None:
        """What a plain read says."""
        real = getattr(self._world.store.workflows, operation)

        async def read(*asked: Any, **options: Any) -> Any:
            if not self.lies or Read.LINEARIZABLE in (*asked, *options.values()):
                return await real(*asked, **options)
            self.asked += 1
            return answer

        self._monkeypatch.setattr(self._world.store.workflows, operation, read)


@pytest.fixture
def stale(world: World, monkeypatch: pytest.MonkeyPatch) -> Stale:
    return Stale(world, monkeypatch)


def sessions(world: World) -> dict[str, Any]:
    kept: dict[str, Any] = world.store.sessions._stored  # type: ignore[attr-defined]  # the memory store's
    return kept


async def test_a_session_is_forgotten_only_when_two_looks_find_no_claim(world: World, stale: Stale) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding, renews=False)
    await world.start(server)
    await world.settle()
    worker.renew()
    await world.advance(20_000)
    worker.stop()
    stale.answers("claimed_by", ())
    session_id = worker.welcome.session_id
    await world.until(lambda: not sessions(world)[session_id].alive)
    await world.until(lambda: stale.asked)
    await world.advance(limits.LOOK_AGAIN - 2_000)
    assert session_id in sessions(world), "one look is not enough"
    assert (await world.step("a")).state is StepState.RUNNING, "the plain look did not show it"
    await world.until(lambda: world.faults.calls["sessions.note_empty"] > 1)
    step = await world.step("a")
    assert (step.state, step.lost_claims) == (StepState.READY, 1), "the second look did"
    assert session_id in sessions(world)
    await world.advance(limits.LOOK_AGAIN + 3_000)
    assert not sessions(world), "nothing leaks"


async def test_no_archived_round_is_left_behind_by_a_deletion(world: World, stale: Stale) -> None:
    server = await world.server()
    await defined(world, server)
    await world.worker(server)
    await world.start(server)
    await supersede(world, server)
    await world.until(world.is_completed)
    await archived(world, 1)
    stale.answers("revisions", {})
    deletion = world.spawn(server.remove(world.ref(), Conditions()))
    await world.until(deletion.done)
    await deletion
    assert await stored(world, 1) is None


async def test_no_archived_round_is_passed_by_in_a_redaction(world: World, stale: Stale) -> None:
    server = await world.server()
    await defined(world, server)
    await world.worker(server)
    await world.start(server, value="secret")
    await world.until(world.is_completed)
    await supersede(world, server)
    await world.until(world.is_completed)
    stale.answers("revisions", {})
    await server.operations.redaction.redact(world.ref(), RedactArguments(), Conditions("r"))
    assert "secret" not in str((await archived(world, 1)).input)


async def test_no_child_is_counted_as_gone_or_ended_that_is_not(world: World, stale: Stale) -> None:
    server = await family(world, mapping("m"))
    worker = await world.worker(server, pools=pools(5), script=holding)
    await world.start(server, value=[1, 2])
    await world.until(lambda: len(worker.held) == 2)
    parent = await world.stored()
    key = child_key_of(parent, 0)
    assert await world.store.workflows.load(key.workflow_id) is not None
    stale.answers("load", None)
    await world.advance(limits.CHILDREN_AUDIT + 5_000)
    assert stale.asked
    children = (await world.stored()).steps["m"].children
    assert children is not None
    assert (list(children.open), children.errors) == ([0, 1], ()), "they are there, and run"
    for claim in list(worker.held.values()):
        await worker.settle(claim)
    await world.until(world.is_completed)


async def test_a_duty_that_the_sweep_finds_is_performed_only_for_what_is_stored_for_good(world: World, stale: Stale) -> None:
    """A write that was not acknowledged by a majority is seen by a plain read, and then rolled back."""
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding)
    big = "x" * (limits.INLINE_PAYLOAD + 1)
    await world.start(server, value=big)
    await world.settle()
    kept = await world.stored()
    run_payloads = world.store.payloads._stored[kept.run_id]  # type: ignore[attr-defined]  # the memory store's
    assert run_payloads
    duty = Duty(DutyKind.FREE_PAYLOADS, kept.round, world.now(), subject=kept.run_id)
    never_stored = replace(kept, tombstone=Tombstone(world.now()), duties=(duty,), wake_time=world.now())
    server.mailboxes.forget(kept.workflow_id)
    stale.answers("load", never_stored)
    await server.sweep.advance([kept.workflow_id])
    assert stale.asked
    assert world.store.payloads._stored[kept.run_id] == run_payloads  # type: ignore[attr-defined]  # the memory store's
    stale.lies = False
    await worker.settle(worker.claim("a"), Completed(payload(1)))
    assert await world.completed()


async def test_a_deleted_definition_stays_while_a_workflow_runs_by_it(world: World, stale: Stale, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "DELETED_DEFINITION_KEPT", limits.MINUTE)
    server = await world.server()
    old, _ = await world.define(server, "a"), await world.define(server, "a", "b: a")
    await server.start(world.command(), old.fingerprint)
    stale.answers("count", 0)
    removal = server.operations.definition_removal
    found = await removal.look(DefinitionName(old.namespace, old.workflow_type, old.fingerprint), "")
    assert found is not None
    assert await removal.delete(found[0], ""), "a mark, which can be taken back"
    await world.advance(limits.MINUTE + 3 * limits.HOUSEKEEPING_INTERVAL)
    assert await world.store.definitions.get(old.namespace, old.workflow_type, old.fingerprint) is not None


async def test_no_stripe_of_a_deleted_resource_is_left_behind(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """One changes between the look and its removal: a word about waiters grows old, say."""
    permits = Permits(world)
    server = await world.server()
    made = await permits.put(server, capacity=1)
    await world.define(server, limited())
    await world.worker(server, script=completing)
    await world.start(server)
    await world.until(world.is_completed)
    assert len(permits.stripes()) == 1
    resources = world.store.resources
    remove, changed = resources.remove, list[Stripe]()

    async def late(found: Stripe) -> bool:
        if not changed:
            changed.append(replace(found, write_id="another"))
            assert await resources.commit(found, changed[0])
        return await remove(found)

    monkeypatch.setattr(resources, "remove", late)
    await server.permits.resources.delete(made)
    assert changed
    assert permits.stripes() == []
