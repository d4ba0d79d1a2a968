"""Rounds on real parts: a new round while the old one's late result is refused by its fence; two servers, one of them killed."""

from collections.abc import Callable

import grpc
import pytest

from perdure.v1 import admin_service_pb2, claim_pb2, payload_pb2, watch_pb2, workflow_pb2, workflow_service_pb2
from tests.e2e.channels import CANCELLED, COMPLETED, KEY, Perdure, connected, definition, refused
from tests.e2e.servers import PerdureProcess

pytestmark = pytest.mark.slow

_Start = workflow_service_pb2.StartWorkflowRequest


class Notes:
    """The business's own store: it keeps the highest fence with each value, and takes no lower one."""

    def __init__(self) -> None:
        self.fence = 0
        self.text = ""

    def write(self, claim: claim_pb2.Claim, text: str) -> bool:
        """False = a later run was here."""
        if claim.fence < self.fence:
            return False
        self.fence, self.text = claim.fence, text
        return True


async def register(perdure: Perdure) -> None:
    """Two steps, and a finalizer that settles a cancelled run."""
    made = definition(perdure.workflow_type, "write", "publish: write", "tidy")
    made.steps[2].needs.SetInParent()
    made.hooks.cancel_finalizer.step = "tidy"
    await perdure.admin.RegisterDefinition(admin_service_pb2.RegisterDefinitionRequest(definition=made, activate=True))


def again(perdure: Perdure, text: str, request_id: str) -> workflow_service_pb2.StartWorkflowRequest:
    """A start that takes the key from whatever has it."""
    request = _Start(workflow=perdure.ref(), input=payload_pb2.Payload(json=text), request_id=request_id)
    request.on_open, request.on_closed = _Start.ON_OPEN_SUPERSEDE, _Start.ON_CLOSED_NEW_ROUND
    return request


def of_round(perdure: Perdure, number: int) -> workflow_pb2.WorkflowRef:
    return workflow_pb2.WorkflowRef(workflow_type=perdure.workflow_type, business_key=KEY, round=number)


async def result(perdure: Perdure, ref: workflow_pb2.WorkflowRef) -> workflow_service_pb2.WaitForResultResponse:
    return await perdure.workflows.WaitForResult(workflow_service_pb2.WaitForResultRequest(workflow=ref), timeout=20)


async def test_a_new_round_while_the_late_result_of_the_old_one_is_refused_by_fence(perdure: Perdure) -> None:
    notes = Notes()
    await register(perdure)
    first = await perdure.start(text='"draft 1"')
    slow = await perdure.taken("write")  # the user changes his mind while this worker writes

    second = await perdure.workflows.StartWorkflow(again(perdure, '"draft 2"', "edit-2"))
    assert (second.created, second.workflow.round, second.superseded.round) == (True, 2, 1)
    assert second.fence > first.fence
    quick = await perdure.taken("write")
    assert (quick.workflow.round, quick.fence, quick.inputs["input"].json) == (2, second.fence, '"draft 2"')

    assert notes.write(quick, "draft 2")
    assert not notes.write(slow, "draft 1"), "a lower fence: the business's own store refuses it"
    refusal = await refused(perdure.complete(slow, '"draft 1 is written"'))
    assert (refusal.code, refusal.reason, refusal.facts["cause"]) == (grpc.StatusCode.FAILED_PRECONDITION, "CLAIM_LOST", "SUPERSEDED")
    await perdure.complete(quick, '"draft 2 is written"')

    # The old round settles aside, under its own fence, while the new one goes on.
    tidy, publish = await perdure.taken("tidy"), await perdure.taken("publish")
    assert (tidy.workflow.round, tidy.fence, publish.workflow.round) == (1, first.fence, 2)
    assert publish.inputs["write"].json == '"draft 2 is written"'
    await perdure.complete(tidy)
    await perdure.complete(publish, '"published"')

    ended, old = await result(perdure, perdure.ref()), await result(perdure, of_round(perdure, 1))
    assert (ended.state, ended.output.json, ended.workflow.round) == (COMPLETED, '"published"', 2)
    assert (old.state, old.fence, old.reason) == (CANCELLED, first.fence, "superseded by another round")
    listed = (await perdure.workflows.ListRounds(workflow_service_pb2.ListRoundsRequest(workflow=perdure.ref()))).rounds
    assert [(row.workflow.round, row.archived) for row in listed] == [(2, False), (1, True)]
    repeat = await perdure.workflows.StartWorkflow(again(perdure, '"draft 2"', "edit-2"))
    assert (repeat.created, repeat.run_id) == (False, second.run_id)
    assert notes.text == "draft 2"


async def test_rounds_go_on_though_the_server_that_opened_one_is_killed(new_server: Callable[..., PerdureProcess]) -> None:
    here, there = new_server(), new_server()
    async with connected(here.address, "killed") as opening, connected(there.address, "killed") as perdure:
        await register(perdure)
        await perdure.start(text="1")
        await perdure.taken("write")
        following = perdure.workflows.Watch(workflow_service_pb2.WatchRequest(workflow=perdure.ref(), follow=True))
        await opening.workflows.StartWorkflow(again(opening, "2", "r2"))
        here.kill()
        claims = {claim.workflow.round: claim for claim in (await perdure.taken(), await perdure.taken())}
        assert {number: claim.step for number, claim in claims.items()} == {1: "tidy", 2: "write"}
        await perdure.complete(claims[2])
        await perdure.complete(await perdure.taken("publish"))
        await perdure.complete(claims[1])
        assert (await result(perdure, of_round(perdure, 1))).state == CANCELLED
        ends: list[int] = []
        rounds: list[int] = []
        async for batch in following:
            events: list[watch_pb2.WatchEvent] = list(batch.events)
            rounds += [event.snapshot.workflow.round for event in events if event.HasField("snapshot")]
            ends += [event.end.round for event in events if event.HasField("end")]
            if ends:
                break
        following.cancel()
        assert (rounds, ends) == ([1, 2], [2])
