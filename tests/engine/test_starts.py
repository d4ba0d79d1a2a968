"""Starting: one workflow per key, whoever races, whatever the store says."""

from perdure_server.kernel.workflow import WorkflowState
from tests.engine.harness import World


async def test_a_workflow_runs_to_its_end(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", "b: a", "c: b")
    worker = await world.worker(server)
    await world.start(server)
    await world.settle()
    assert (await world.stored()).state is WorkflowState.COMPLETED
    assert [claim.plan.name for claim in worker.got] == ["a", "b", "c"]
