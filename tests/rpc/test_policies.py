"""UpdatePolicy over a real channel: masks, defaults, faults, and that open workflows run by it."""

import asyncio
from typing import Any

import grpc
import pytest
from google.protobuf.field_mask_pb2 import FieldMask

from perdure.v1 import admin_service_pb2 as admin
from perdure.v1 import definition_pb2
from perdure.v1.definition_pb2 import StepPolicy, WorkflowPolicy
from perdure.v1.resource_pb2 import StepPolicyUpdate
from perdure_server.kernel import limits
from tests.rpc.conftest import Served, refused
from tests.rpc.test_people import get
from tests.rpc.worker import connected


def policy(**fields: Any) -> StepPolicy:
    return StepPolicy(**fields)


async def update(served: Served, **fields: Any) -> definition_pb2.RegisteredDefinition:
    return (await served.admin.UpdatePolicy(admin.UpdatePolicyRequest(**({"workflow_type": "note"} | fields)))).definition


async def test_what_is_set_counts_and_the_structure_stays(served: Served) -> None:
    first = await served.register("a", "b:a")
    changed = await update(
        served,
        workflow_policy=WorkflowPolicy(max_lost_claims=9),
        steps=[StepPolicyUpdate(step="b", policy=policy(priority=8, retry={"max_attempts": 7}))],
    )
    assert (changed.fingerprint, changed.policy_revision, changed.active) == (first.fingerprint, 2, True)
    whole, step = changed.definition.policy, changed.definition.steps[1].policy
    assert (whole.max_lost_claims, whole.cancel_grace.seconds) == (9, limits.CANCEL_GRACE // 1_000)
    assert (step.priority, step.retry.max_attempts, step.attempt_timeout.seconds) == (8, 7, limits.ATTEMPT_TIMEOUT // 1_000)
    again = await update(served, steps=[StepPolicyUpdate(step="b", policy=policy(priority=8))])
    assert again.policy_revision == 2, "no change"
    mask = ["retry"]
    reset = await update(served, steps=[StepPolicyUpdate(step="b", policy=policy(priority=1), update_mask=FieldMask(paths=mask))])
    assert (reset.definition.steps[1].policy.retry.max_attempts, reset.definition.steps[1].policy.priority) == (limits.MAX_ATTEMPTS, 8)
    reset = await update(served, update_mask={"paths": ["max_lost_claims"]})
    assert reset.definition.policy.max_lost_claims == limits.MAX_LOST_CLAIMS


async def test_open_workflows_run_by_it(served: Served) -> None:
    await served.register("a")
    await served.start()
    await update(served, steps=[StepPolicyUpdate(step="a", policy=policy(retry={"max_attempts": 1}))])
    async with connected(served) as worker:
        claim = await worker.claim()
        assert claim.max_attempts == 1


async def test_validate_only_changes_nothing(served: Served) -> None:
    await served.register("a")
    await update(served, workflow_policy=WorkflowPolicy(max_lost_claims=9), validate_only=True)
    found = await served.admin.GetDefinition(admin.GetDefinitionRequest(workflow_type="note"))
    assert (found.definition.policy_revision, found.definition.definition.policy.max_lost_claims) == (1, limits.MAX_LOST_CLAIMS)


async def test_faults_are_named_where_the_request_has_them(served: Served) -> None:
    await served.register("a", "b:a")
    bad = StepPolicyUpdate(step="b", policy=policy(queue="?", retry={"backoff_coefficient": 0.5}))
    found = await refused(update(served, workflow_policy=WorkflowPolicy(max_lost_claims=0), steps=[bad]))
    assert (found.reason, set(found.fields)) == (
        "DEFINITION_INVALID",
        {"workflow_policy.max_lost_claims", "steps[0].policy.queue", "steps[0].policy.retry.backoff_coefficient"},
    )
    found = await refused(update(served, steps=[StepPolicyUpdate(step="b", policy=policy(permits=[{"resource": "?"}]))]))
    assert (found.reason, list(found.fields)) == ("DEFINITION_INVALID", ["steps[0].policy.permits[0].resource"])
    found = await refused(update(served, steps=[StepPolicyUpdate(step="zz")], request_id="x" * 200, reason="x" * 5_000))
    assert set(found.fields) == {"steps[0].step", "request_id", "reason"}


async def test_a_change_by_etag_is_of_what_was_read(served: Served) -> None:
    old = await served.register("a", "b:a")
    await update(served, steps=[StepPolicyUpdate(step="a", policy=policy(queue="gpu"))], etag=old.etag)
    change = StepPolicyUpdate(step="b", policy=policy(queue="cpu"))
    found = await refused(update(served, steps=[change], etag=old.etag))
    assert (found.reason, found.code) == ("REVISION_CONFLICT", grpc.StatusCode.ABORTED)
    now = await update(served, steps=[change])
    assert ({step.name: step.policy.queue for step in now.definition.steps}, now.policy_revision) == ({"a": "gpu", "b": "cpu"}, 3)


async def test_of_changes_at_once_none_is_lost(served: Served) -> None:
    names = ["a", "b", "c"]
    await served.register(*names)
    await asyncio.gather(*(update(served, steps=[StepPolicyUpdate(step=name, policy=policy(queue=f"of-{name}"))]) for name in names))
    found = (await served.admin.GetDefinition(admin.GetDefinitionRequest(workflow_type="note"))).definition
    assert {step.name: step.policy.queue for step in found.definition.steps} == {name: f"of-{name}" for name in names}


@pytest.mark.parametrize(
    ("fields", "reason", "code"),
    [
        ({}, "INVALID_ARGUMENT", grpc.StatusCode.INVALID_ARGUMENT),
        ({"update_mask": {"paths": ["nothing"]}}, "UPDATE_MASK_INVALID", grpc.StatusCode.INVALID_ARGUMENT),
        ({"workflow_type": "other", "workflow_policy": WorkflowPolicy()}, "DEFINITION_NOT_FOUND", grpc.StatusCode.NOT_FOUND),
        ({"definition_fingerprint": "f" * 64, "workflow_policy": WorkflowPolicy()}, "DEFINITION_NOT_FOUND", grpc.StatusCode.NOT_FOUND),
    ],
)
async def test_refusals(served: Served, fields: dict[str, Any], reason: str, code: grpc.StatusCode) -> None:
    await served.register("a")
    found = await refused(update(served, **fields))
    assert (found.reason, found.code) == (reason, code)
    await served.start()
    assert (await get(served)).policy_revision == 1
