"""Recovery by several servers, of which some act on an old view."""

from perdure_server.engine.service import Engine
from perdure_server.kernel import limits
from perdure_server.kernel.workflow import StepState
from perdure_server.store.memory import Moment
from tests.engine.harness import World
from tests.engine.workers import holding

NAMES = [f"k{number}" for number in range(5)]


async def lost_items(world: World, server: Engine) -> str:
    """Five running claims of a session whose worker is gone; returns its id."""
    await world.define(server, "a")
    gone = await world.worker(server, script=holding, renews=False, slots=len(NAMES))
    for name in NAMES:
        await world.start(server, name)
    await world.settle()
    gone.renew()
    await world.advance(25_000)
    gone.stop()
    return gone.welcome.session_id


async def test_c49_a_stale_sweeper_hands_nothing_out(world: World) -> None:
    """Both read the same expired set; one is held up with it, the other requeues and a worker claims, then the first goes on."""
    server = await world.server()
    session_id = await lost_items(world, server)
    held = world.faults.hold("workflows.claimed_by", Moment.AFTER)
    await world.until(lambda: world.faults.calls["workflows.claimed_by"], within=20_000)  # it has read the set, and stands still
    world.faults.release("workflows.claimed_by", Moment.AFTER)
    other = await world.server()
    worker = await world.worker(other, script=holding, slots=len(NAMES))
    await world.until(lambda: len(worker.held) == len(NAMES), within=20_000)
    before = {name: await world.stored(name) for name in NAMES}
    held.set()
    await world.advance(12_000)
    for name in NAMES:
        step, was = await world.step("a", name), before[name].steps["a"]
        assert (step.state, step.claim_no, step.attempt, step.lost_claims) == (StepState.RUNNING, 2, 2, 1), "one loss, one new grant"
        assert step.claim is not None
        assert was.claim is not None
        assert step.claim.nonce == was.claim.nonce, "the claim of the new worker stands"
    assert len(worker.got) == len(NAMES)
    for claim in list(worker.held.values()):
        await worker.settle(claim)
    assert all([await world.completed(name) for name in NAMES])
    await world.advance(limits.LOOK_AGAIN)
    assert session_id not in world.store.sessions._stored  # type: ignore[attr-defined]  # the memory store's
    assert server.supervisor.failures == other.supervisor.failures == 0


async def test_c49_a_server_of_the_same_name_while_the_old_one_drains(world: World) -> None:
    """Nothing goes by a server's name: what the new one requeued and granted is not taken back by the old one, which then ends."""
    old = await world.server("pod-0")
    await lost_items(world, old)
    held = world.faults.hold("workflows.claimed_by", Moment.AFTER)
    await world.until(lambda: world.faults.calls["workflows.claimed_by"], within=20_000)
    world.faults.release("workflows.claimed_by", Moment.AFTER)
    await old.drain(5_000)
    new = await world.server("pod-0")
    worker = await world.worker(new, script=holding, slots=len(NAMES))
    await world.until(lambda: len(worker.held) == len(NAMES), within=20_000)
    held.set()
    await world.advance(2_000)
    closing = world.spawn(old.close())
    await world.until(closing.done)
    world.engines.remove(old)
    await world.advance(12_000)
    for name in NAMES:
        assert (await world.step("a", name)).claim_no == 2
        assert (await world.reasons("a", name)).count("LOST") <= 1
    for claim in list(worker.held.values()):
        await worker.settle(claim)
    assert all([await world.completed(name) for name in NAMES])


async def test_c49_what_a_recovery_left_undone_is_found_by_the_next_pass(world: World) -> None:
    """The server that marked the session dead is gone before it has requeued anything; nobody restarts."""
    server = await world.server()
    session_id = await lost_items(world, server)
    world.faults.hold("workflows.claimed_by")
    await world.until(lambda: world.faults.calls["workflows.claimed_by"], within=20_000)
    assert not world.store.sessions._stored[session_id].alive  # type: ignore[attr-defined]  # the memory store's
    world.faults.release("workflows.claimed_by")
    await server.supervisor.close()  # all of its tasks are cancelled, wherever they are
    world.engines.remove(server)
    other = await world.server()
    worker = await world.worker(other, slots=len(NAMES))
    await world.until(lambda: all(world.is_completed(name) for name in NAMES), within=20_000)
    assert len(worker.got) == len(NAMES)
    assert (await world.step("a", "k0")).lost_claims == 1
