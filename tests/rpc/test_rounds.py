"""Rounds of a key over a real channel: policies, fences, the answers, and ListRounds."""

from collections.abc import Awaitable
from typing import Any

import grpc
import pytest

from perdure.v1 import workflow_pb2
from perdure.v1 import workflow_service_pb2 as wire
from perdure.v1.payload_pb2 import Payload
from tests.rpc.conftest import Served, ref, refused
from tests.rpc.worker import connected

State = workflow_pb2.Workflow.State
_Start = wire.StartWorkflowRequest
SUPERSEDE: dict[str, Any] = {"on_open": _Start.ON_OPEN_SUPERSEDE, "on_closed": _Start.ON_CLOSED_NEW_ROUND}


async def start(served: Served, request_id: str = "", value: str = "1", fence: int = 0, **fields: Any) -> wire.StartWorkflowResponse:
    request = wire.StartWorkflowRequest(workflow=ref(), request_id=request_id, input=Payload(json=value), **fields)
    if fence:
        request.workflow.expected_fence = fence
    return await served.workflows.StartWorkflow(request)


def round_ref(number: int) -> workflow_pb2.WorkflowRef:
    found = ref()
    found.round = number
    return found


async def get(served: Served, number: int | None = None) -> workflow_pb2.Workflow:
    named = ref() if number is None else round_ref(number)
    return (await served.workflows.GetWorkflow(wire.GetWorkflowRequest(workflow=named))).workflow


async def test_a_start_supersedes_an_open_round(served: Served) -> None:
    await served.register("a")
    first = await start(served)
    second = await start(served, "r2", "2", **SUPERSEDE)
    assert (second.created, second.workflow.round, second.superseded.round) == (True, 2, 1)
    assert second.fence > first.fence
    assert second.run_id != first.run_id
    repeat = await start(served, "r2", "2", **SUPERSEDE)
    assert (repeat.created, repeat.run_id, repeat.HasField("superseded")) == (False, second.run_id, False)
    current, old = await get(served), await get(served, 1)
    assert (current.workflow.round, current.archived, current.state) == (2, False, State.STATE_RUNNING)
    assert (old.workflow.round, old.archived, old.state, old.run_id) == (1, True, State.STATE_CANCELLED, first.run_id)
    assert old.input.json == "1"
    result = await served.workflows.WaitForResult(wire.WaitForResultRequest(workflow=round_ref(1)))
    assert (result.done, result.state, result.fence) == (True, State.STATE_CANCELLED, first.fence)
    assert result.reason == "superseded by another round"


@pytest.mark.parametrize(
    ("on_closed", "fails", "opens"),
    [
        (_Start.ON_CLOSED_NEW_ROUND, False, True),
        (_Start.ON_CLOSED_NEW_ROUND_IF_FAILED, False, False),
        (_Start.ON_CLOSED_NEW_ROUND_IF_FAILED, True, True),
        (_Start.ON_CLOSED_REJECT, True, None),
    ],
)
async def test_what_follows_an_ended_round(served: Served, on_closed: Any, fails: bool, opens: bool | None) -> None:
    await served.register("a")
    await start(served)
    if fails:
        await served.workflows.TerminateWorkflow(wire.TerminateWorkflowRequest(workflow=ref()))
    else:
        async with connected(served) as worker:
            await worker.complete(await worker.claim())
    if opens is None:
        found = await refused(start(served, "r2", on_closed=on_closed))
        assert (found.code, found.reason) == (grpc.StatusCode.ALREADY_EXISTS, "WORKFLOW_ALREADY_EXISTS")
    else:
        answer = await start(served, "r2", on_closed=on_closed)
        assert (answer.created, answer.workflow.round) == (opens, 2 if opens else 1)


async def test_an_expected_fence_guards_the_next_round(served: Served) -> None:
    await served.register("a")
    first = await start(served)
    second = await start(served, "r2", fence=first.fence, **SUPERSEDE)
    found = await refused(start(served, "r3", fence=first.fence, **SUPERSEDE))
    assert (found.code, found.reason, found.facts["fence"]) == (grpc.StatusCode.ABORTED, "FENCED", str(second.fence))


async def test_a_start_may_be_checked_without_storing_anything(served: Served) -> None:
    await served.register("a")
    checked = await start(served, validate_only=True)
    assert (checked.created, checked.workflow.round, checked.run_id) == (True, 1, "")
    assert (await refused(served.workflows.GetWorkflow(wire.GetWorkflowRequest(workflow=ref())))).reason == "WORKFLOW_NOT_FOUND"
    await start(served)
    checked = await start(served, "r2", validate_only=True, **SUPERSEDE)
    assert (checked.created, checked.workflow.round, checked.superseded.round) == (True, 2, 1)
    assert (await refused(start(served, value="2", validate_only=True))).reason == "START_INPUT_MISMATCH"
    assert (await get(served)).workflow.round == 1


async def test_only_the_current_round_can_be_changed(served: Served) -> None:
    await served.register("a")
    await start(served)
    await start(served, "r2", **SUPERSEDE)
    calls: tuple[Awaitable[Any], ...] = (
        served.workflows.CancelWorkflow(wire.CancelWorkflowRequest(workflow=round_ref(1))),
        served.workflows.TerminateWorkflow(wire.TerminateWorkflowRequest(workflow=round_ref(1))),
        served.workflows.PauseWorkflow(wire.PauseWorkflowRequest(workflow=round_ref(1))),
        served.workflows.ReplayWorkflow(wire.ReplayWorkflowRequest(workflow=round_ref(1))),
        served.workflows.Signal(wire.SignalRequest(workflow=round_ref(1), signal_name="go", signal_id="s")),
    )
    for call in calls:
        found = await refused(call)
        assert (found.code, found.reason, found.facts["current_round"]) == (grpc.StatusCode.FAILED_PRECONDITION, "ROUND_ARCHIVED", "2")
    calls = (
        served.workflows.GetWorkflow(wire.GetWorkflowRequest(workflow=round_ref(7))),
        served.workflows.CancelWorkflow(wire.CancelWorkflowRequest(workflow=round_ref(7))),
    )
    for call in calls:
        assert (await refused(call)).reason == "WORKFLOW_NOT_FOUND"


async def test_rounds_are_listed_newest_first_in_pages(served: Served) -> None:
    await served.register("a")
    for number in range(5):
        await start(served, f"r{number}", str(number), **SUPERSEDE)
    seen: list[int] = []
    token, pages = "", 0
    while token or not pages:
        page = await served.workflows.ListRounds(wire.ListRoundsRequest(workflow=round_ref(1), page_size=2, page_token=token))
        seen += [row.workflow.round for row in page.rounds]
        assert all(not row.steps and not row.HasField("input") for row in page.rounds)
        token, pages = page.next_page_token, pages + 1
    assert (seen, pages) == ([5, 4, 3, 2, 1], 3)
    full = await served.workflows.ListRounds(wire.ListRoundsRequest(workflow=ref(), view=workflow_pb2.WORKFLOW_VIEW_FULL))
    assert [(row.input.json, row.archived, len(row.steps)) for row in full.rounds] == [(str(n), n < 4, 1) for n in (4, 3, 2, 1, 0)]
    listed = await served.workflows.ListWorkflows(wire.ListWorkflowsRequest())
    assert [row.workflow.round for row in listed.workflows] == [5]
    request = wire.ListWorkflowsRequest()
    request.filter.include_archived = True
    assert sorted(row.workflow.round for row in (await served.workflows.ListWorkflows(request)).workflows) == [1, 2, 3, 4, 5]
    other = ref()
    other.business_key = "other"
    assert (await refused(served.workflows.ListRounds(wire.ListRoundsRequest(workflow=other)))).reason == "WORKFLOW_NOT_FOUND"
    bad = served.workflows.ListRounds(wire.ListRoundsRequest(workflow=ref(), page_token="nonsense"))
    assert (await refused(bad)).reason == "PAGE_TOKEN_INVALID"


async def test_a_repeat_of_a_delete_is_one_and_rounds_go_on(served: Served) -> None:
    await served.register("a")
    first = await start(served, "r1")
    await served.workflows.TerminateWorkflow(wire.TerminateWorkflowRequest(workflow=ref()))
    request = wire.DeleteWorkflowRequest(workflow=ref(), request_id="d")
    assert not (await served.workflows.DeleteWorkflow(request)).duplicate
    assert (await served.workflows.DeleteWorkflow(request)).duplicate
    assert (await refused(served.workflows.DeleteWorkflow(wire.DeleteWorkflowRequest(workflow=ref())))).reason == "WORKFLOW_NOT_FOUND"
    again = await start(served, value="2")
    assert (again.created, again.workflow.round) == (True, 2)
    assert again.fence > first.fence


async def test_the_answer_to_the_delete_of_an_archived_round_names_that_round(served: Served) -> None:
    await served.register("a")
    await start(served, "r1")
    await start(served, "r2", "2", **SUPERSEDE)
    request = wire.DeleteWorkflowRequest(workflow=round_ref(1), request_id="d")
    assert (await served.workflows.DeleteWorkflow(request)).workflow.round == 1
    repeated = await served.workflows.DeleteWorkflow(request)
    assert (repeated.workflow.round, repeated.duplicate) == (1, True)
