"""A write whose result was unknown, that was not there when it was looked for, and that comes after all."""

from collections.abc import Sequence

from perdure_server.engine.addresses import address_of
from perdure_server.kernel.workflow import Workflow
from perdure_server.ports.errors import StoreUnavailable
from perdure_server.store.memory import Moment
from tests.engine.harness import World
from tests.engine.workers import holding


async def test_a_grant_that_is_stored_late_is_delivered_and_fills_its_slot_once(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    await world.start(server)
    commit, late = world.store.workflows.commit, list[tuple[Workflow | None, Workflow]]()

    async def unlucky(old: Workflow | None, new: Workflow) -> bool:
        if not late:
            late.append((old, new))
            raise StoreUnavailable("on its way")
        world.store.workflows.commit = commit  # type: ignore[method-assign]  # as it was
        assert await commit(*late[0])  # it overtakes the second try
        return await commit(old, new)

    world.store.workflows.commit = unlucky  # type: ignore[method-assign]  # the first write is done when the second comes
    worker = await world.worker(server, slots=1)
    await world.advance(1_000)
    assert await world.completed(), await world.states()
    assert [claim.claim_no for claim in worker.got] == [1]
    assert world.credit(server) == 1


async def test_a_renewal_that_comes_late_takes_no_acknowledgement_away(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding, slots=1)
    sessions = world.store.sessions
    renew, late = sessions.renew, list[tuple[str, int, int, tuple[str, ...]]]()

    async def unlucky(session_id: str, connection_no: int, lease_until: int, held: Sequence[str]) -> bool:
        if len(late) < 2:
            late.append((session_id, connection_no, lease_until, tuple(held)))
            raise StoreUnavailable("on its way")
        return await renew(session_id, connection_no, lease_until, held)

    await world.advance(100)
    sessions.renew = unlucky  # type: ignore[method-assign]  # two renewals of which nobody knows
    worker.renew()
    await world.advance(2)
    await world.start(server)
    await world.advance(4_000)  # it is acknowledged, the renewal that says so is unknown too, and it is held by itself
    [claim] = worker.got
    assert [len(held) for *_, held in late] == [0, 1]
    nonce = address_of(claim.token).nonce
    assert (await world.session(worker)).held == (nonce,)
    assert await renew(*late[0])
    assert (await world.session(worker)).held == (nonce,)


async def test_what_is_held_stays_when_the_stream_ends_after_a_renewal_of_which_nobody_knows(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", "b")
    worker = await world.worker(server, script=holding, slots=1, want_next=False)
    await world.start(server)
    await world.advance(4_000)
    world.faults.fail("sessions.renew", Moment.AFTER)
    worker.credit(1)
    await world.advance(100)
    assert len(worker.held) == 2
    await worker.drop()
    held = {address_of(token).nonce for token in worker.held}
    assert set((await world.session(worker)).held) == held
