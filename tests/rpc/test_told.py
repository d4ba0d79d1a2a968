"""What people are told of a workflow, its claims and its workers beside the state: who, how often, how large, what is left to do."""

from perdure.v1 import admin_service_pb2 as admin
from perdure.v1 import claim_pb2, worker_service_pb2
from perdure.v1 import workflow_service_pb2 as wire
from perdure.v1.payload_pb2 import Payload
from perdure_server.kernel import limits
from perdure_server.kernel.workflow import DutyKind
from perdure_server.rpc.encode import explanations
from tests.conftest import Eventually
from tests.rpc.conftest import Served, definition, ref
from tests.rpc.worker import connected

KIM = (("perdure-actor", "kim"),)


async def test_a_cancel_names_who_asked(served: Served) -> None:
    await served.register("a")
    await served.start()
    await served.workflows.CancelWorkflow(wire.CancelWorkflowRequest(workflow=ref(), reason="enough"), metadata=KIM)
    got = await served.workflows.GetWorkflow(wire.GetWorkflowRequest(workflow=ref()))
    assert (got.workflow.cancel.actor, got.workflow.cancel.reason) == ("kim", "enough")


async def test_failures_and_releases_are_counted_and_past_attempts_name_their_worker(served: Served) -> None:
    made = definition("a")
    made.steps[0].policy.retry.initial_interval.nanos = 1_000_000
    await served.admin.RegisterDefinition(admin.RegisterDefinitionRequest(definition=made, activate=True))
    await served.start()
    async with connected(served) as worker:
        first = await worker.claim()
        await served.workers.Complete(worker_service_pb2.CompleteRequest(claim_token=first.claim_token, released=claim_pb2.Released()))
        second = await worker.claim()
        failed = worker_service_pb2.CompleteRequest(claim_token=second.claim_token)
        failed.failed.type = "test.broken"
        await served.workers.Complete(failed)
        await worker.claim()
        got = (await served.workflows.GetWorkflow(wire.GetWorkflowRequest(workflow=ref()))).workflow
        assert (got.totals.failures, got.totals.attempts, got.totals.claims) == (1, 2, 3)
        assert (got.steps[0].totals.releases, got.steps[0].totals.undelivered) == (1, 0)
        attempts = (await served.workflows.ListAttempts(wire.ListAttemptsRequest(workflow=ref()))).attempts
        assert [attempt.worker_id for attempt in attempts] == ["w", "w", ""], "running, failed, released"


async def test_sizes_of_a_workflow_and_of_what_lies_outside_of_it(served: Served) -> None:
    await served.register("a")
    await served.workflows.StartWorkflow(
        wire.StartWorkflowRequest(workflow=ref(), input=Payload(json='"' + "x" * (2 * limits.INLINE_PAYLOAD) + '"'))
    )
    totals = (await served.workflows.GetWorkflow(wire.GetWorkflowRequest(workflow=ref()))).workflow.totals
    assert 2 * limits.INLINE_PAYLOAD <= totals.payload_bytes <= 2 * limits.INLINE_PAYLOAD + 100
    assert 200 < totals.document_bytes < limits.INLINE_PAYLOAD


async def test_a_worker_is_shown_with_what_it_said_and_what_was_made_of_it(served: Served, eventually: Eventually) -> None:
    await served.register("a")
    async with connected(served, labels={"pod": "asr-7.eu"}, capabilities=["cancel", "lost"]) as worker:
        found = (await served.admin.ListWorkers(admin.ListWorkersRequest())).workers[0]
        assert (dict(found.labels), list(found.capabilities)) == ({"pod": "asr-7.eu"}, ["cancel", "lost"])
        assert found.server_id
        assert found.peer_address
        assert (found.polling, found.draining) == (False, False)
        assert [(status.pool, len(status.accepted_fingerprints)) for status in found.pool_statuses] == [("p", 1)]
        await worker.say(drain=worker_service_pb2.Drain())

        async def drains() -> bool:
            return (await served.admin.ListWorkers(admin.ListWorkersRequest())).workers[0].draining

        await eventually(drains)


async def test_the_uncertainty_of_store_time_is_told(served: Served) -> None:
    found = await served.admin.GetServerInfo(admin.GetServerInfoRequest())
    assert found.HasField("store_time_uncertainty")
    assert found.store_time_uncertainty.ToMilliseconds() < 1_000


def test_every_duty_has_words() -> None:
    assert explanations._DUTIES.keys() == set(DutyKind)
