"""A replay names the steps that it leaves completed although their compensation was begun: they may be undone."""

from perdure.v1 import admin_service_pb2 as admin
from perdure.v1 import workflow_service_pb2 as wire
from tests.rpc.conftest import Served, definition, ref
from tests.rpc.test_people import fail, replay, terminate
from tests.rpc.worker import connected


async def test_a_replay_names_what_may_be_undone(served: Served) -> None:
    made = definition("a", "b:a", "undo")
    made.steps[0].compensate_with = "undo"
    await served.admin.RegisterDefinition(admin.RegisterDefinitionRequest(definition=made, activate=True))
    await served.start()
    async with connected(served) as worker:
        await worker.complete(await worker.claim())
        await fail(worker, await worker.claim(), 2)
        assert (await worker.claim()).step == "undo"
        await terminate(served)
    would = await replay(served, validate_only=True)
    assert (list(would.reopened_steps), list(would.in_doubt_steps)) == (["b"], ["a"])
    both = await replay(served, reopen_steps=["a"], validate_only=True)
    assert (list(both.reopened_steps), list(both.in_doubt_steps)) == (["a", "b"], [])
    answer = await replay(served, request_id="r")
    assert (list(answer.reopened_steps), list(answer.in_doubt_steps)) == (["b"], ["a"])
    again = await served.workflows.ReplayWorkflow(wire.ReplayWorkflowRequest(workflow=ref(), request_id="r"))
    assert (again.duplicate, list(again.in_doubt_steps)) == (True, []), "as it was told then"
