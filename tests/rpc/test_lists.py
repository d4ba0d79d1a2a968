"""ListWorkflows and CountWorkflows over a real channel: views, phases, filters, groups."""

import pytest

from perdure.v1 import filter_pb2, workflow_pb2
from perdure.v1 import workflow_service_pb2 as wire
from tests.rpc.conftest import Served, ref, refused
from tests.rpc.test_services import poll

By = wire.CountWorkflowsRequest
Phase = workflow_pb2.Phase


async def listed(served: Served, view: workflow_pb2.WorkflowView.ValueType = 0, **fields: object) -> dict[str, workflow_pb2.Workflow]:  # type: ignore[assignment]  # 0 is unspecified
    chosen = filter_pb2.WorkflowFilter(**fields)  # type: ignore[arg-type]  # fields of the message
    found = await served.workflows.ListWorkflows(wire.ListWorkflowsRequest(filter=chosen, view=view))
    return {row.workflow.business_key: row for row in found.workflows}


async def four(served: Served) -> None:
    """One that runs, one that is ready, one that waits, one that was cancelled."""
    await served.register("a")
    await served.register("wait_go", workflow_type="waiting")
    await served.start("running")
    await poll(served)
    await served.start("ready", labels={"team": "x"})
    await served.start("waits", workflow_type="waiting")
    await served.start("over")
    await served.workflows.CancelWorkflow(wire.CancelWorkflowRequest(workflow=ref("over"), reason="enough"))


async def test_phases_of_rows_are_those_of_get(served: Served) -> None:
    await four(served)
    rows = await listed(served)
    assert {key: row.phase for key, row in rows.items()} == {
        "running": Phase.PHASE_EXECUTING,
        "ready": Phase.PHASE_QUEUED,
        "waits": Phase.PHASE_WAITING,
        "over": Phase.PHASE_UNSPECIFIED,
    }
    for key, row in rows.items():
        name = ref(key, row.workflow.workflow_type)
        got = await served.workflows.GetWorkflow(wire.GetWorkflowRequest(workflow=name, view=workflow_pb2.WORKFLOW_VIEW_BASIC))
        sizes = got.workflow.totals
        assert sizes.document_bytes > 100, "only here: it takes reading the whole document"
        sizes.ClearField("document_bytes")
        sizes.ClearField("payload_bytes")
        assert row == got.workflow


async def test_views(served: Served) -> None:
    await served.register("a", "b:a")
    await served.start()
    basic, steps, full = [(await listed(served, view))["k"] for view in (1, 2, 3)]  # type: ignore[arg-type]  # numbers of views
    assert (len(basic.steps), basic.HasField("input")) == (0, False)
    assert ([step.name for step in steps.steps], steps.HasField("input")) == (["a", "b"], False)
    assert (len(full.steps), full.input.json) == (2, "1")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"phases": [Phase.PHASE_QUEUED, Phase.PHASE_WAITING]}, {"ready", "waits"}),
        ({"queues": ["default"]}, {"ready", "running"}),
        ({"business_keys": ["ready", "over", "nobody"]}, {"ready", "over"}),
        ({"labels": {"team": "x"}}, {"ready"}),
        ({"end_time": {"from_time": {"seconds": 1}}}, {"over"}),
        ({"paused": True}, set()),
        ({"states": [workflow_pb2.Workflow.STATE_CANCELLED], "workflow_types": ["note"]}, {"over"}),
        ({"definition_fingerprints": ["f"]}, set()),
        ({"failure_types": ["asr.quota"]}, set()),
    ],
)
async def test_filters(served: Served, fields: dict[str, object], expected: set[str]) -> None:
    await four(served)
    assert set(await listed(served, **fields)) == expected  # type: ignore[arg-type]  # fields of the message
    counted = await served.workflows.CountWorkflows(By(filter=filter_pb2.WorkflowFilter(**fields)))  # type: ignore[arg-type]  # the same
    assert counted.count == len(expected)


async def test_groups(served: Served) -> None:
    await four(served)

    async def groups(group_by: By.GroupBy.ValueType) -> dict[str, int]:
        found = await served.workflows.CountWorkflows(By(group_by=group_by))
        assert (found.count, found.estimate) == (4, group_by == By.GROUP_BY_PHASE)
        return {group.group: group.count for group in found.groups}

    assert await groups(By.GROUP_BY_STATE) == {"RUNNING": 3, "CANCELLED": 1}
    assert await groups(By.GROUP_BY_WORKFLOW_TYPE) == {"note": 3, "waiting": 1}
    assert await groups(By.GROUP_BY_PHASE) == {"QUEUED": 1, "EXECUTING": 1, "WAITING": 1}


async def test_a_token_is_bound_to_every_part_of_its_query(served: Served) -> None:
    await served.register("a")
    for key in "xyz":
        await served.start(key)
    request = wire.ListWorkflowsRequest(page_size=1)
    request.page_token = (await served.workflows.ListWorkflows(request)).next_page_token
    request.page_size = 2
    assert len((await served.workflows.ListWorkflows(request)).workflows) == 2, "another size is the same list"
    request.filter.paused = False
    assert (await refused(served.workflows.ListWorkflows(request))).reason == "PAGE_TOKEN_INVALID"
