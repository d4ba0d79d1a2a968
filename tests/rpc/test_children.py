"""Map and child steps over a real channel: registering, pages, progress, ListChildren, Explain, Watch."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from perdure.v1 import admin_service_pb2 as admin
from perdure.v1 import claim_pb2, definition_pb2, watch_pb2, worker_service_pb2, workflow_pb2
from perdure.v1 import workflow_service_pb2 as wire
from perdure.v1.claim_pb2 import Pool
from perdure_server.kernel import limits
from tests.rpc.conftest import Served, ref, refused

State = workflow_pb2.Workflow.State
Join = definition_pb2.MapStep


def parent(*, join: int = Join.JOIN_BEST_EFFORT, paged: bool = False, **policy: object) -> definition_pb2.Definition:
    """A parent with the map step `m`, and `z` after it."""
    made = definition_pb2.Definition(workflow_type="note")
    step = made.steps.add(name="m")
    step.map.child_workflow_type = "child"
    step.map.join = definition_pb2.MapStep.Join.ValueType(join)
    if paged:
        step.map.paged.SetInParent()
    else:
        step.map.items_from = "input"
    for name, value in policy.items():
        setattr(step.policy, name, value)
    made.steps.add(name="z", depends_on=["m"])
    return made


async def family(served: Served, **options: object) -> definition_pb2.RegisteredDefinition:
    """Both definitions, active."""
    request = admin.RegisterDefinitionRequest(definition=parent(**options), activate=True)  # type: ignore[arg-type]  # options of parent
    found = (await served.admin.RegisterDefinition(request)).definition
    await served.register("work", workflow_type="child")
    return found


async def start(served: Served, items: object) -> None:
    """Start the parent."""
    request = wire.StartWorkflowRequest(workflow=ref())
    request.input.json = json.dumps(items)
    await served.workflows.StartWorkflow(request)


async def poll(served: Served, workflow_type: str, most: int = 1) -> list[claim_pb2.Claim]:
    """Claims of a type."""
    request = worker_service_pb2.PollClaimsRequest(worker_id="w", max_claims=most)
    request.pools.append(Pool(pool="p", workflow_type=workflow_type, any_contract=True))
    request.wait_time.seconds = 5
    return list((await served.workers.PollClaims(request)).claims)


async def complete(served: Served, claim: claim_pb2.Claim, output: object = None, fail: bool = False) -> None:
    """Settle a claim."""
    request = worker_service_pb2.CompleteRequest(claim_token=claim.claim_token)
    if fail:
        request.failed.type, request.failed.non_retryable = "child.broken", True
    else:
        request.completed.output.json = json.dumps(output)
    await served.workers.Complete(request)


async def work(served: Served, count: int, bad: tuple[int, ...] = ()) -> None:
    """Do the work of that many children."""
    left = count
    while left:
        for claim in await poll(served, "child", min(50, left)):
            await complete(served, claim, "ok", fail=json.loads(claim.inputs["input"].json) in bad)
            left -= 1


async def children(served: Served, **fields: object) -> AsyncIterator[list[workflow_pb2.Workflow]]:
    """The pages of ListChildren."""
    request = wire.ListChildrenRequest(workflow=ref(), **fields)  # type: ignore[arg-type]  # fields of the message
    while True:
        found = await served.workflows.ListChildren(request)
        yield list(found.children)
        request.page_token = found.next_page_token
        if not request.page_token:
            return


async def step(served: Served) -> workflow_pb2.StepView:
    """The map step as GetWorkflow shows it."""
    found = await served.workflows.GetWorkflow(wire.GetWorkflowRequest(workflow=ref()))
    return found.workflow.steps[0]


async def test_a_definition_comes_back_as_it_was_with_the_defaults(served: Served) -> None:
    found = await family(served)
    m = found.definition.steps[0]
    assert (m.map.items_from, m.map.child_workflow_type, m.map.join) == ("input", "child", Join.JOIN_BEST_EFFORT)
    assert (m.policy.max_in_flight, m.policy.retry.max_attempts) == (limits.MAX_IN_FLIGHT, 1)
    assert m.policy.parent_close == definition_pb2.StepPolicy.PARENT_CLOSE_POLICY_CANCEL
    assert "m" not in found.step_contracts, "no worker runs it"
    again = await served.admin.RegisterDefinition(admin.RegisterDefinitionRequest(definition=found.definition))
    assert again.definition.fingerprint == found.fingerprint
    assert again.definition.policy_revision == found.policy_revision


async def test_faults_are_named_with_the_paths_of_the_wire(served: Served) -> None:
    bad = parent(join=Join.JOIN_N_OF_M, max_in_flight=5_000)
    bad.steps[0].map.child_workflow_type = ""
    found = await refused(served.admin.RegisterDefinition(admin.RegisterDefinitionRequest(definition=bad)))
    fields = {"map.child_workflow_type", "map.required_count", "policy.max_in_flight"}
    assert set(found.fields) == {f"definition.steps[0].{field}" for field in fields}


async def test_c46_items_become_children_and_a_dependant_gets_their_counts(served: Served) -> None:
    await family(served)
    await start(served, list(range(30)))
    await work(served, 30, bad=(3, 17))
    (claim,) = await poll(served, "note")
    result = json.loads(claim.inputs["m"].json)
    assert result["progress"] == {"totalCount": "30", "totalKnown": True, "completedCount": "28", "failedCount": "2"}
    assert [error["index"] for error in result["errors"]] == ["3", "17"]
    progress = (await step(served)).map
    assert (progress.total_count, progress.total_known, progress.completed_count, progress.failed_count) == (30, True, 28, 2)


async def test_children_are_listed_in_pages_by_index_and_state(served: Served) -> None:
    await family(served)
    await start(served, list(range(25)))
    await work(served, 25, bad=(3, 17))
    pages = [page async for page in children(served, page_size=10)]
    assert [len(page) for page in pages] == [10, 10, 5]
    found = [child for page in pages for child in page]
    assert [child.parent.index for child in found] == list(range(25))
    assert {child.parent.step for child in found} == {"m"}
    assert found[0].parent.workflow.business_key == "k"
    assert not found[0].HasField("output"), "BASIC"
    failed = [child async for page in children(served, states=[State.STATE_FAILED], page_size=1) for child in page]
    assert [child.parent.index for child in failed] == [3, 17]
    full = [child async for page in children(served, step="m", view=workflow_pb2.WORKFLOW_VIEW_FULL) for child in page]
    assert full[0].output.json == '"ok"'


async def test_what_is_wrong_with_a_listing(served: Served) -> None:
    await family(served)
    await start(served, [1])
    unknown = wire.ListChildrenRequest(workflow=ref(), step="nothing")
    assert (await refused(served.workflows.ListChildren(unknown))).reason == "STEP_NOT_FOUND"
    assert (await refused(served.workflows.ListChildren(wire.ListChildrenRequest(workflow=ref("x"))))).reason == "WORKFLOW_NOT_FOUND"
    stray = wire.ListChildrenRequest(workflow=ref(), page_token="x")
    assert (await refused(served.workflows.ListChildren(stray))).reason == "PAGE_TOKEN_INVALID"
    bad = wire.ListChildrenRequest(workflow=ref(), page_size=-1, step="9")
    assert set((await refused(served.workflows.ListChildren(bad))).fields) == {"page_size", "step"}


async def test_an_explanation_names_the_open_children(served: Served) -> None:
    await family(served)
    await start(served, [1, 2, 3])
    await work(served, 1)
    request = wire.ExplainWorkflowRequest(workflow=ref())
    found = await served.workflows.ExplainWorkflow(request)
    while "1 of 3" not in found.summary:
        found = await served.workflows.ExplainWorkflow(request)
    m = found.steps[0]
    assert m.phase == workflow_pb2.PHASE_WAITING
    assert (m.blockers[0].children.open_count, m.blockers[0].children.completed_count) == (2, 1)
    assert m.blockers[0].summary == "for 2 open children; 1 of 3 have ended"
    assert "ListChildren" in m.suggestions[0]


async def test_pages_carry_their_cursor(served: Served) -> None:
    await family(served, paged=True)
    await start(served, None)
    cursors = []
    for first in (0, 2, 4):
        (claim,) = await poll(served, "note")
        cursors.append(claim.cursor.json)
        request = worker_service_pb2.CompleteRequest(claim_token=claim.claim_token)
        request.page.children.add(json=str(first))
        request.page.children.add(json=str(first + 1))
        if first < 4:
            request.page.cursor.json = str(first + 2)
        await served.workers.Complete(request)
    assert cursors == ["", "2", "4"]
    await work(served, 6)
    (claim,) = await poll(served, "note")
    assert json.loads(claim.inputs["m"].json)["progress"]["completedCount"] == "6"


async def test_an_outcome_that_does_not_belong_to_the_step_is_refused(served: Served) -> None:
    await family(served, paged=True)
    await start(served, None)
    (claim,) = await poll(served, "note")
    request = worker_service_pb2.CompleteRequest(claim_token=claim.claim_token)
    request.completed.SetInParent()
    assert (await refused(served.workers.Complete(request))).reason == "OUTCOME_NOT_ALLOWED"
    many = worker_service_pb2.CompleteRequest(claim_token=claim.claim_token)
    for _ in range(limits.MAP_PAGE + 1):
        many.page.children.add(json="1")
    assert "page.children" in (await refused(served.workers.Complete(many))).fields


async def test_a_watcher_hears_of_progress(served: Served) -> None:
    await family(served, join=Join.JOIN_ALL)
    await start(served, [1])
    seen: list[watch_pb2.StateChange] = []

    async def watch() -> None:
        async for batch in served.workflows.Watch(wire.WatchRequest(workflow=ref())):
            seen.extend(event.change for event in batch.events if event.HasField("change") and event.change.step == "m")
            if any(change.step_state == workflow_pb2.StepView.STATE_COMPLETED for change in seen):
                return

    watching = asyncio.create_task(watch())  # noqa: TID251 -- a caller beside the test
    await work(served, 1)
    await asyncio.wait_for(watching, 10)
    assert seen[-1].map.completed_count == 1


@pytest.mark.parametrize("source", ["", "input"])
async def test_a_child_step_s_output_is_its_child_s(served: Served, source: str) -> None:
    made = definition_pb2.Definition(workflow_type="note")
    only = made.steps.add(name="c")
    only.child.child_workflow_type = "child"
    only.child.input_from = source
    await served.admin.RegisterDefinition(admin.RegisterDefinitionRequest(definition=made, activate=True))
    await served.register("work", workflow_type="child")
    await start(served, 7)
    (claim,) = await poll(served, "child")
    assert json.loads(claim.inputs["input"].json) == (7 if source else {"input": 7})
    await complete(served, claim, "done")
    result = await served.workflows.WaitForResult(wire.WaitForResultRequest(workflow=ref()))
    assert result.output.json == '"done"'


async def test_what_an_earlier_try_left_behind_is_found_by_the_filter_and_not_among_the_children(served: Served) -> None:
    await family(served)
    await start(served, [1, 2])
    await work(served, 2, bad=(1,))
    (claim,) = await poll(served, "note")
    await complete(served, claim, fail=True)
    await served.workflows.ReplayWorkflow(wire.ReplayWorkflowRequest(workflow=ref(), reopen_steps=["m"]))
    await work(served, 2)
    (present,) = [found async for found in children(served)]
    assert [child.parent.generation for child in present] == [1, 1]
    request = wire.ListWorkflowsRequest(order_by=wire.ListWorkflowsRequest.ORDER_START_TIME_ASC)
    request.filter.parent.CopyFrom(ref())
    request.filter.parent_step = "m"
    found = (await served.workflows.ListWorkflows(request)).workflows
    assert sorted((child.parent.generation, child.parent.index) for child in found) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert {State.Name(child.state) for child in found if child.parent.generation == 0} == {"STATE_COMPLETED", "STATE_FAILED"}
