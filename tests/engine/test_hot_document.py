"""Case C70: a thousand results for one workflow at once, on two servers, with heartbeats between them."""

import random

from perdure_server.kernel import limits
from perdure_server.kernel.outcomes import Completed
from tests.engine.harness import World
from tests.engine.workers import holding
from tests.kernel.harness import payload

STEPS = 1_000
RETRIES = 4  # lost races per stored change, at most
DONE = Completed(payload("done"))


async def test_c70_a_thousand_results_of_one_workflow_at_once_are_all_accepted(world: World, random_source: random.Random) -> None:
    one, other = await world.server(), await world.server()
    await world.define(one, *(f"s{number}" for number in range(STEPS)))
    workers = [await world.worker(server, script=holding, slots=STEPS // 2, want_next=False) for server in (one, other)]
    await world.start(one)
    await world.until(lambda: sum(len(worker.got) for worker in workers) == STEPS)
    world.faults.jitter(random_source)  # every trip to the store takes its time now
    revision = (await world.stored()).revision
    commits = world.faults.calls["workflows.commit"]

    for worker in workers:
        for index, claim in enumerate(list(worker.got)):
            worker.beat(claim)
            worker.send(claim, DONE)
            if index % 2:
                worker.beat(claim, "progress")
    passed = await world.until(lambda: all(len(worker.settled) == STEPS // 2 for worker in workers), within=limits.MINUTE)

    assert [settled.error for worker in workers for settled in worker.settled.values() if settled.error is not None] == []
    assert await world.completed()
    changes = (await world.stored()).revision - revision
    tried = world.faults.calls["workflows.commit"] - commits
    assert changes < STEPS / 10, "results that come together are stored together, and heartbeats change no document"
    assert tried <= changes * (1 + RETRIES), f"{tried} tries for {changes} changes"
    assert passed <= limits.SECOND
