"""Versions over a real channel: options of one step, pauses of definitions."""

import pytest
from google.protobuf.field_mask_pb2 import FieldMask

from perdure.v1 import admin_service_pb2 as admin
from perdure.v1 import workflow_pb2
from perdure.v1.definition_pb2 import StepPolicy
from perdure.v1.resource_pb2 import StepPolicyUpdate
from tests.rpc.conftest import Served, definition, ref, refused
from tests.rpc.test_people import get
from tests.rpc.worker import connected


def update(step: str = "a", mask: tuple[str, ...] = (), request_id: str = "", **policy: object) -> admin.UpdateStepOptionsRequest:
    change = StepPolicyUpdate(step=step, policy=StepPolicy(**policy), update_mask=FieldMask(paths=mask))  # type: ignore[arg-type]  # fields of it
    return admin.UpdateStepOptionsRequest(workflow=ref(), update=change, request_id=request_id)


async def test_options_of_one_step_of_one_workflow(served: Served) -> None:
    await served.register("a")
    await served.start()
    await served.start("other")
    request = update(priority=8, queue="gpu", retry={"max_attempts": 7}, request_id="r")
    changed = await served.admin.UpdateStepOptions(request)
    assert (changed.policy.priority, changed.policy.queue, changed.policy.retry.max_attempts) == (8, "gpu", 7)
    found = await get(served)
    assert (found.etag, found.steps[0].queue) == (changed.etag, "gpu")
    again = await served.admin.UpdateStepOptions(request)
    assert (again.duplicate, again.policy.priority, again.etag) == (True, 8, changed.etag)
    reset = await served.admin.UpdateStepOptions(update(mask=("retry",), priority=3))
    assert (reset.policy.retry.max_attempts, reset.policy.priority) == (3, 8)
    assert (await get(served, "other")).steps[0].queue == "default"
    definition = await served.admin.GetDefinition(admin.GetDefinitionRequest(workflow_type="note"))
    assert definition.definition.policy_revision == 1


async def test_refusals_of_options_name_the_fields_of_the_request(served: Served) -> None:
    await served.register("a")
    await served.start()
    assert (await refused(served.admin.UpdateStepOptions(update("nothing", priority=1)))).reason == "STEP_NOT_FOUND"
    assert set((await refused(served.admin.UpdateStepOptions(update()))).fields) == {"update.policy"}
    assert set((await refused(served.admin.UpdateStepOptions(update(priority=11)))).fields) == {"update.policy.priority"}
    too_short = await refused(served.admin.UpdateStepOptions(update(silence_timeout={"seconds": 1})))
    assert set(too_short.fields) == {"update.policy.silence_timeout"}
    assert (await refused(served.admin.UpdateStepOptions(update(mask=("colour",), priority=1)))).reason == "UPDATE_MASK_INVALID"
    stale = update(priority=1)
    stale.etag = "another"
    assert (await refused(served.admin.UpdateStepOptions(stale))).reason == "REVISION_CONFLICT"
    checked = update(priority=1)
    checked.validate_only = True
    assert (await served.admin.UpdateStepOptions(checked)).policy.priority == 1
    assert (await served.admin.UpdateStepOptions(update(attempt_timeout={"seconds": 9}))).policy.priority == 0


async def test_a_definition_is_paused_and_resumed(served: Served) -> None:
    first = await served.register("a")
    await served.register("a", "b:a", activate=False)
    request = admin.PauseDefinitionRequest(workflow_type="note", reason="incident")
    answer = await served.admin.PauseDefinition(request, metadata=(("perdure-actor", "ann"),))
    told = sorted((one.pause.actor, one.pause.reason, one.active) for one in answer.definitions)
    assert told == [("ann", "incident", False), ("ann", "incident", True)]
    since = answer.definitions[0].pause.pause_time
    await served.start()
    found = await get(served)
    assert (found.phase, found.steps[0].phase) == (workflow_pb2.PHASE_PAUSED, workflow_pb2.PHASE_PAUSED)
    assert "ann: incident" in found.phase_reason
    again = await served.admin.PauseDefinition(request)
    assert again.definitions[0].pause.pause_time == since
    await served.register("a")
    kept = await served.admin.GetDefinition(admin.GetDefinitionRequest(workflow_type="note"))
    assert kept.definition.HasField("pause"), "registering it again does not end the pause"
    async with connected(served) as worker:
        resume = admin.ResumeDefinitionRequest(workflow_type="note", definition_fingerprint=first.fingerprint)
        resumed = await served.admin.ResumeDefinition(resume)
        assert [one.HasField("pause") for one in resumed.definitions] == [False]
        await worker.hear_one("pools_changed")
        assert (await worker.claim()).step == "a"


REPEATED: dict[str, dict[str, object]] = {
    "RegisterDefinition": {"definition": definition("a", "b:a"), "activate": True, "update_policy": True},
    "SetActiveDefinition": {},
    "UpdatePolicy": {"steps": [StepPolicyUpdate(step="a", policy=StepPolicy(priority=9))]},
    "PauseDefinition": {"reason": "incident"},
    "ResumeDefinition": {"reason": "over"},
}


@pytest.mark.parametrize("name", REPEATED)
async def test_a_repeat_of_a_verb_on_a_definition_is_no_change(served: Served, name: str) -> None:
    await served.register("a")
    made = await served.register("a", "b:a", activate=False)
    fields = REPEATED[name] | {"request_id": "r"}
    if name != "RegisterDefinition":
        fields |= {"workflow_type": "note", "definition_fingerprint": made.fingerprint}
    request = getattr(admin, f"{name}Request")(**fields)
    await getattr(served.admin, name)(request)
    before = await served.admin.ListDefinitions(admin.ListDefinitionsRequest())
    await getattr(served.admin, name)(request)
    assert await served.admin.ListDefinitions(admin.ListDefinitionsRequest()) == before


async def test_a_pause_of_what_is_not_registered_is_refused(served: Served) -> None:
    found = await refused(served.admin.PauseDefinition(admin.PauseDefinitionRequest(workflow_type="note")))
    assert found.reason == "DEFINITION_NOT_FOUND"
    found = await refused(served.admin.ResumeDefinition(admin.ResumeDefinitionRequest(workflow_type="no te")))
    assert "workflow_type" in found.fields


async def migrating(served: Served, old: str, new: str, **fields: object) -> admin.MigrateWorkflowsResponse:
    request = admin.MigrateWorkflowsRequest(
        workflow_type="note",
        from_fingerprint=old,
        to_fingerprint=new,
        **fields,  # type: ignore[arg-type]  # fields of the message
    )
    return await served.admin.MigrateWorkflows(request)


async def test_many_workflows_are_migrated_by_a_batch_and_what_would_be_lost_is_listed(served: Served) -> None:
    old = (await served.register("a", "b:a")).fingerprint
    for number in range(5):
        await served.start(f"k{number}")
    async with connected(served) as worker:
        await worker.complete(await worker.claim())
    new = (await served.register("b")).fingerprint
    checked = await migrating(served, old, new, validate_only=True)
    assert (checked.matched_count, checked.movable_count + checked.refused_count, checked.HasField("batch")) == (5, 5, False)
    assert 1 <= checked.refused_count <= 2
    losses = sorted((issue.step, admin.MigrationLoss.Name(issue.loss).removeprefix("MIGRATION_LOSS_")) for issue in checked.issues)
    assert losses[0] == ("a", "COMPLETED_OUTPUT")
    assert {issue.workflow.workflow_type for issue in checked.issues} == {"note"}
    begun = await migrating(served, old, new, request_id="m1", reason="upgrade")
    again = await migrating(served, old, new, request_id="m1", reason="upgrade")
    assert begun.batch.batch_id == again.batch.batch_id
    assert begun.batch.operation.migrate.to_fingerprint == new
    batch = begun.batch
    while batch.state == batch.STATE_RUNNING:
        batch = (await served.admin.GetBatch(admin.GetBatchRequest(batch_id=batch.batch_id))).batch
    assert batch.succeeded_count + batch.failed_count == 5
    assert batch.failed_count >= 1
    found = [await get(served, f"k{number}") for number in range(5)]
    assert sum(one.definition_fingerprint == new for one in found) == batch.succeeded_count


async def test_faults_of_a_migration_are_named_at_once(served: Served) -> None:
    made = await served.register("a", "b:a")
    found = await refused(migrating(served, made.fingerprint, made.fingerprint, accepted_losses=[99]))
    assert set(found.fields) == {"to_fingerprint", "accepted_losses", "request_id"}
    assert (await refused(migrating(served, made.fingerprint, "f" * 64, validate_only=True))).reason == "DEFINITION_NOT_FOUND"
    other = await served.register("a", "c:a")
    mapping = [{"from_step": "x", "to_step": "c"}, {"from_step": "b", "to_step": "a"}]
    found = await refused(migrating(served, made.fingerprint, other.fingerprint, validate_only=True, step_mapping=mapping))
    assert set(found.fields) == {"step_mapping[0].from_step", "step_mapping[1].to_step"}


async def test_queues_are_listed_with_who_serves_them(served: Served) -> None:
    made = await served.register("a", "b:a")
    for number in range(3):
        await served.start(f"k{number}")
    (waiting,) = (await served.admin.ListQueues(admin.ListQueuesRequest())).queues
    assert (waiting.queue, waiting.workflow_type, waiting.step, waiting.definition_fingerprint) == (
        "default",
        "note",
        "a",
        made.fingerprint,
    )
    assert (waiting.phase, waiting.ready_count, waiting.worker_count) == (workflow_pb2.PHASE_QUEUED, 3, 0)
    assert waiting.oldest_wait.ToMilliseconds() >= 0
    served.running.engine.queues._served.clear()
    async with connected(served) as worker:
        await worker.claim()
        served.running.engine.queues._served.clear()
        page = await served.admin.ListQueues(admin.ListQueuesRequest(page_size=1))
        a = page.queues[0]
        assert (a.step, a.worker_count, a.running_count + a.ready_count) == ("a", 1, 3)
        assert a.running_count >= 1
        rest = await served.admin.ListQueues(admin.ListQueuesRequest(page_size=1, page_token=page.next_page_token))
        assert [(one.step, one.phase, one.ready_count) for one in rest.queues] == [("b", workflow_pb2.PHASE_UNSPECIFIED, 0)]
        assert not rest.next_page_token
        none = await served.admin.ListQueues(admin.ListQueuesRequest(phases=[workflow_pb2.PHASE_NO_WORKER]))
        assert not none.queues
    assert not (await served.admin.ListQueues(admin.ListQueuesRequest(queue="gpu"))).queues
