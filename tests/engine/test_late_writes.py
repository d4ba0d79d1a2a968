"""A write whose result was unknown, that was not there when it was looked for, and that comes after all."""

from perdure_server.kernel.workflow import Workflow
from perdure_server.ports.errors import StoreUnavailable
from tests.engine.harness import World


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
