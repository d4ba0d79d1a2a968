"""A result that is repeated on another stream while its first answer goes to a dead one: its next claim has one fate."""

import pytest

from perdure_server.kernel.outcomes import Completed
from perdure_server.kernel.workflow import StepState
from tests.engine.harness import World
from tests.engine.workers import holding
from tests.kernel.harness import payload

DONE = Completed(payload("done"))


@pytest.mark.parametrize("slow", ["sessions.refuse", "sessions.hold", ""])
async def test_a_next_claim_is_given_back_or_given_again_but_never_both(world: World, slow: str) -> None:
    """Seen in tests/chaos: the store was away, so the worker came again and repeated its result while the first was being stored."""
    server = await world.server()
    await world.define(server, "a", "b: a")
    worker = await world.worker(server, script=holding, slots=1)
    await world.start(server)
    await world.settle()
    claim = worker.claim("a")
    commit = world.faults.hold("workflows.commit")
    worker.send(claim, DONE)
    await world.settle()
    await worker.reconnect(held=[claim.token])
    again = worker.send(claim, DONE)
    await world.settle()
    held_up = world.faults.hold(slow) if slow else None
    world.faults.release("workflows.commit")
    commit.set()
    await world.settle()
    if held_up is not None:
        world.faults.release(slow)
        held_up.set()
        await world.settle()
    assert worker.settled[again].error is None
    begun = [following.token for following in worker.got if following.plan.name == "b"]
    step = await world.step("b")
    assert len(set(begun)) == 1, "it was given once: at once, or anew after it was given back"
    assert step.state is StepState.RUNNING
    assert worker.claim("b").claim_no == step.claim_no, "what runs is what is current"
