"""The unary calls, end to end on one server with a real channel."""

import asyncio

import grpc
import pytest
from google.rpc.error_details_pb2 import ResourceInfo

from perdure.v1 import admin_service_pb2 as admin
from perdure.v1 import definition_pb2, worker_service_pb2, workflow_pb2
from perdure.v1 import workflow_service_pb2 as wire
from perdure.v1.claim_pb2 import HeldClaim, Pool
from perdure_server.kernel import limits
from perdure_server.rpc import limits as rpc_limits
from perdure_server.rpc.admin_service import AdminService
from perdure_server.rpc.registry import unimplemented_methods
from perdure_server.rpc.worker_service import WorkerService
from perdure_server.rpc.workflow_service import WorkflowService
from tests.rpc.conftest import Served, definition, from_status, ref, refused, unpacked

State = workflow_pb2.Workflow.State


async def poll(served: Served, **fields: object) -> worker_service_pb2.PollClaimsResponse:
    request = worker_service_pb2.PollClaimsRequest(worker_id="w", **fields)  # type: ignore[arg-type]  # fields of the message
    request.pools.append(Pool(pool="p", workflow_type="note", any_contract=True))
    request.wait_time.seconds = 5
    return await served.workers.PollClaims(request)


class TestStart:
    async def test_a_repeat_meets_the_same_workflow(self, served: Served) -> None:
        await served.register("a")
        first, second = await served.start(), await served.start()
        assert (first.created, second.created) == (True, False)
        assert first.run_id == second.run_id
        assert first.workflow.round == 1
        assert first.state == State.STATE_RUNNING

    async def test_c01_two_hundred_at_once_are_one_workflow(self, served: Served) -> None:
        await served.register("a")
        found = await asyncio.gather(*(served.start() for _ in range(200)))
        assert sum(answer.created for answer in found) == 1
        assert len({answer.run_id for answer in found}) == 1

    async def test_c03_another_input_is_refused_and_names_the_workflow(self, served: Served) -> None:
        await served.register("a")
        await served.start()
        request = wire.StartWorkflowRequest(workflow=ref())
        request.input.json = "2"
        found = await refused(served.workflows.StartWorkflow(request))
        assert (found.code, found.reason) == (grpc.StatusCode.ALREADY_EXISTS, "START_INPUT_MISMATCH")
        resource = unpacked(found.status, ResourceInfo)
        assert resource is not None
        assert resource.resource_name == "default/note/k"  # type: ignore[attr-defined]  # google.rpc has no types

    async def test_without_an_active_definition_the_answer_says_what_to_type(self, served: Served) -> None:
        found = await refused(served.start())
        assert (found.code, found.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "DEFINITION_NOT_FOUND")
        assert found.facts["command"] in found.message
        assert "perdure definitions apply" in found.message

    async def test_a_fingerprint_that_is_not_registered_is_not_found(self, served: Served) -> None:
        await served.register("a")
        found = await refused(served.start(definition_fingerprint="f" * 64))
        assert (found.code, found.reason) == (grpc.StatusCode.NOT_FOUND, "DEFINITION_NOT_FOUND")

    async def test_all_faults_arrive_at_once(self, served: Served) -> None:
        request = wire.StartWorkflowRequest(priority=11)
        request.input.json = "NaN"
        found = await refused(served.workflows.StartWorkflow(request))
        assert set(found.fields) == {"workflow.workflow_type", "workflow.business_key", "priority", "input"}

    async def test_several_starts_each_on_its_own(self, served: Served) -> None:
        await served.register("a")
        request = wire.StartWorkflowsRequest()
        for key, value in (("x", "1"), ("y", "NaN"), ("x", "1"), ("x", "2"), ("z", "1")):
            request.requests.add(workflow=ref(key)).input.json = value
        results = (await served.workflows.StartWorkflows(request)).results
        assert [(result.response.created, result.HasField("status")) for result in results] == [
            (True, False),
            (False, True),
            (False, False),
            (False, True),
            (True, False),
        ]
        assert from_status(results[1].status).reason == "PAYLOAD_INVALID"
        assert from_status(results[3].status).reason == "START_INPUT_MISMATCH"

    async def test_several_starts_have_a_bound(self, served: Served) -> None:
        request = wire.StartWorkflowsRequest(requests=[wire.StartWorkflowRequest()] * (limits.STARTS_PER_CALL + 1))
        assert (await refused(served.workflows.StartWorkflows(request))).fields.keys() == {"requests"}
        assert (await refused(served.workflows.StartWorkflows(wire.StartWorkflowsRequest()))).fields.keys() == {"requests"}


class TestSignalsAndResults:
    async def test_c07_a_signal_before_its_wait_is_consumed(self, served: Served) -> None:
        await served.register("wait_go")
        request = wire.StartWorkflowRequest(workflow=ref())
        request.signals.add(signal_name="wait_go", signal_id="s1").payload.json = '"yes"'
        await served.workflows.StartWorkflow(request)
        result = await served.workflows.WaitForResult(wire.WaitForResultRequest(workflow=ref()))
        assert (result.done, result.state) == (True, State.STATE_COMPLETED)
        assert '"signalId":"s1"' in result.output.json
        again = await served.workflows.Signal(wire.SignalRequest(workflow=ref(), signal_name="wait_go", signal_id="s1"))
        assert again.duplicate

    async def test_a_signal_by_wake_token(self, served: Served) -> None:
        await served.register("a", "wait_go:a")
        await served.start()
        claim = (await poll(served)).claims[0]
        answer = await served.workflows.Signal(wire.SignalRequest(wake_token=claim.wake_token, signal_name="wait_go", signal_id="s"))
        assert (answer.workflow.business_key, answer.consumed) == ("k", False)
        found = await refused(served.workflows.Signal(wire.SignalRequest(wake_token="x.y", signal_name="go", signal_id="s")))
        assert (found.code, found.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "WAKE_TOKEN_INVALID")

    async def test_unknown_workflows_are_not_found_everywhere(self, served: Served) -> None:
        calls = (
            served.workflows.Signal(wire.SignalRequest(workflow=ref(), signal_name="go", signal_id="s")),
            served.workflows.GetWorkflow(wire.GetWorkflowRequest(workflow=ref())),
            served.workflows.WaitForResult(wire.WaitForResultRequest(workflow=ref())),
            served.workflows.CancelWorkflow(wire.CancelWorkflowRequest(workflow=ref())),
            served.workflows.FetchPayload(wire.FetchPayloadRequest(workflow=ref(), payload_id="p")),
        )
        for call in calls:
            found = await refused(call)
            assert (found.code, found.reason) == (grpc.StatusCode.NOT_FOUND, "WORKFLOW_NOT_FOUND")

    async def test_a_result_not_there_yet_is_said_before_the_deadline(self, served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(rpc_limits, "ANSWER_MARGIN", 1_800)
        await served.register("a")
        await served.start()
        answer = await served.workflows.WaitForResult(wire.WaitForResultRequest(workflow=ref()), timeout=2.0)
        assert (answer.done, answer.state) == (False, State.STATE_RUNNING)

    async def test_another_fence_or_round_is_refused(self, served: Served) -> None:
        await served.register("a")
        await served.start()
        request = wire.GetWorkflowRequest(workflow=ref())
        request.workflow.expected_fence = 1
        assert (await refused(served.workflows.GetWorkflow(request))).reason == "FENCED"

    async def test_cancel(self, served: Served) -> None:
        await served.register("a")
        await served.start()
        request = wire.CancelWorkflowRequest(workflow=ref(), reason="enough", request_id="r")
        first, second = await served.workflows.CancelWorkflow(request), await served.workflows.CancelWorkflow(request)
        assert (first.state, first.duplicate, second.duplicate) == (State.STATE_CANCELLED, False, True)
        result = await served.workflows.WaitForResult(wire.WaitForResultRequest(workflow=ref()))
        assert (result.done, result.state, result.reason) == (True, State.STATE_CANCELLED, "enough")


class TestReads:
    async def test_views(self, served: Served) -> None:
        await served.register("a", "b:a")
        await served.start(labels={"tenant": "acme"})
        views = {}
        for view in (workflow_pb2.WORKFLOW_VIEW_BASIC, workflow_pb2.WORKFLOW_VIEW_STEPS, workflow_pb2.WORKFLOW_VIEW_UNSPECIFIED):
            views[view] = (await served.workflows.GetWorkflow(wire.GetWorkflowRequest(workflow=ref(), view=view))).workflow
        basic, steps, full = views.values()
        assert (len(basic.steps), basic.HasField("input")) == (0, False)
        assert (len(steps.steps), steps.HasField("input")) == (2, False)
        assert (len(full.steps), full.input.json) == (2, "1")
        assert [(step.name, step.state) for step in full.steps] == [
            ("a", workflow_pb2.StepView.STATE_READY),
            ("b", workflow_pb2.StepView.STATE_BLOCKED),
        ]
        assert (full.phase, full.phase_reason) == (workflow_pb2.PHASE_QUEUED, "a: ready, for a free slot of a worker")
        assert dict(full.labels) == {"tenant": "acme"}

    async def test_a_list_in_pages_is_complete_without_repeats(self, served: Served) -> None:
        await served.register("a")
        for index in range(7):
            await served.start(f"k{index}")
        keys: list[str] = []
        request = wire.ListWorkflowsRequest(page_size=3)
        while True:
            page = await served.workflows.ListWorkflows(request)
            keys += [row.workflow.business_key for row in page.workflows]
            if not page.next_page_token:
                break
            request.page_token = page.next_page_token
        assert sorted(keys) == [f"k{index}" for index in range(7)]
        request.filter.workflow_types.append("other")
        assert (await refused(served.workflows.ListWorkflows(request))).reason == "PAGE_TOKEN_INVALID"

    async def test_count(self, served: Served) -> None:
        await served.register("a")
        await served.start()
        answer = await served.workflows.CountWorkflows(wire.CountWorkflowsRequest())
        assert (answer.count, answer.estimate) == (1, False)

    async def test_large_values_travel_as_refs_and_are_fetched(self, served: Served) -> None:
        await served.register("a")
        request = wire.StartWorkflowRequest(workflow=ref())
        request.input.binary = b"x" * (limits.INLINE_PAYLOAD + 1)
        await served.workflows.StartWorkflow(request)
        claim = (await poll(served)).claims[0]
        assert claim.inputs["input"].binary == request.input.binary
        found = (await served.workflows.GetWorkflow(wire.GetWorkflowRequest(workflow=ref()))).workflow
        assert found.input.binary == request.input.binary

    async def test_a_payload_over_the_limit_leaves_nothing_behind(self, served: Served) -> None:
        await served.register("a")
        request = wire.StartWorkflowRequest(workflow=ref())
        request.input.binary = b"x" * (limits.PAYLOAD + 1)
        found = await refused(served.workflows.StartWorkflow(request))
        assert (found.reason, found.facts["field"], found.facts["limit_bytes"]) == ("PAYLOAD_TOO_LARGE", "input", str(limits.PAYLOAD))
        assert (await served.start()).created, "the key is free"


class TestUnaryClaims:
    async def test_poll_complete_and_the_end(self, served: Served) -> None:
        await served.register("a")
        await served.start()
        polled = await poll(served)
        claim = polled.claims[0]
        assert (claim.step, claim.attempt, claim.inputs["input"].json) == ("a", 1, "1")
        assert polled.pools[0].accepted_fingerprints == [claim.definition_fingerprint]
        assert polled.lease_duration.seconds == limits.SESSION_LEASE // 1_000
        request = worker_service_pb2.CompleteRequest(claim_token=claim.claim_token)
        request.completed.output.json = '"done"'
        first, second = await served.workers.Complete(request), await served.workers.Complete(request)
        assert (first.duplicate, second.duplicate) == (False, True)
        result = await served.workflows.WaitForResult(wire.WaitForResultRequest(workflow=ref()))
        assert result.output.json == '"done"'

    async def test_c34_another_outcome_is_refused_and_the_first_stands(self, served: Served) -> None:
        await served.register("a")
        await served.start()
        claim = (await poll(served)).claims[0]
        request = worker_service_pb2.CompleteRequest(claim_token=claim.claim_token)
        request.completed.output.json = "1"
        await served.workers.Complete(request)
        request.completed.output.json = "2"
        found = await refused(served.workers.Complete(request))
        assert (found.code, found.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "CLAIM_ALREADY_SETTLED")
        request.claim_token = "nonsense"
        found = await refused(served.workers.Complete(request))
        assert (found.reason, found.facts["cause"]) == ("CLAIM_LOST", "UNKNOWN")

    async def test_heartbeat_and_renewal(self, served: Served) -> None:
        await served.register("a")
        await served.start()
        claim = (await poll(served)).claims[0]
        beat = worker_service_pb2.HeartbeatRequest(claim_token=claim.claim_token, checkpoint_no=1, alive=True)
        beat.checkpoint.json = '"task-1"'
        alive = await served.workers.Heartbeat(beat)
        assert not alive.cancel_requested
        assert 0 < alive.lease_remaining.ToMilliseconds() <= limits.SESSION_LEASE
        held = [HeldClaim(claim_token=claim.claim_token), HeldClaim(claim_token="nonsense")]
        renewed = (await served.workers.RenewClaims(worker_service_pb2.RenewClaimsRequest(held=held))).claims
        assert renewed[0].lease_remaining.seconds > 0
        assert not renewed[0].HasField("status")
        assert from_status(renewed[1].status).reason == "CLAIM_LOST"
        await served.workflows.CancelWorkflow(wire.CancelWorkflowRequest(workflow=ref()))
        assert (await served.workers.Heartbeat(beat)).cancel_requested

    async def test_a_poll_in_vain_ends_before_the_deadline(self, served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(rpc_limits, "ANSWER_MARGIN", 1_800)
        await served.register("a")
        request = worker_service_pb2.PollClaimsRequest(worker_id="w", pools=[Pool(pool="p", workflow_type="note", any_contract=True)])
        request.wait_time.seconds = 60
        assert not (await served.workers.PollClaims(request, timeout=2.0)).claims


class TestDefinitions:
    async def test_every_fault_is_named_with_its_path(self, served: Served) -> None:
        request = admin.RegisterDefinitionRequest(definition=definition("a:b", "b:a", "input"))
        request.definition.steps[2].policy.attempt_timeout.SetInParent()
        found = await refused(served.admin.RegisterDefinition(request))
        assert found.reason == "DEFINITION_CYCLE"
        assert {"definition.steps", "definition.steps[2].name", "definition.steps[2].policy.attempt_timeout"} <= set(found.fields)
        assert "a -> b -> a" in found.facts["cycle"] or "b -> a -> b" in found.facts["cycle"]

    async def test_the_same_again_is_no_change_and_other_policies_need_a_word(self, served: Served) -> None:
        request = admin.RegisterDefinitionRequest(definition=definition("a"), activate=True)
        first, second = await served.admin.RegisterDefinition(request), await served.admin.RegisterDefinition(request)
        assert (first.created, second.created, second.definition.policy_revision) == (True, False, 1)
        assert first.definition.register_time.seconds > 0
        assert first.definition == second.definition
        assert (second.definition.active, len(second.warnings)) == (True, 0)
        request.definition.steps[0].policy.priority = 9
        third = await served.admin.RegisterDefinition(request)
        assert (third.definition.policy_revision, len(third.warnings)) == (1, 1)
        request.update_policy = True
        fourth = await served.admin.RegisterDefinition(request)
        assert (fourth.definition.policy_revision, fourth.definition.fingerprint) == (2, first.definition.fingerprint)

    async def test_validate_only_stores_nothing(self, served: Served) -> None:
        request = admin.RegisterDefinitionRequest(definition=definition("a"), activate=True, validate_only=True)
        answer = await served.admin.RegisterDefinition(request)
        assert len(answer.definition.fingerprint) == 64
        assert answer.definition.step_contracts.keys() == {"a"}
        assert (await refused(served.start())).reason == "DEFINITION_NOT_FOUND"

    async def test_activating_getting_and_listing(self, served: Served) -> None:
        first = await served.register("a")
        second = await served.register("a", "b:a", activate=False)
        assert (first.active, second.active) == (True, False)
        request = admin.SetActiveDefinitionRequest(workflow_type="note", definition_fingerprint=second.fingerprint)
        answer = await served.admin.SetActiveDefinition(request)
        assert (answer.definition.active, answer.previous_fingerprint) == (True, first.fingerprint)
        active = await served.admin.GetDefinition(admin.GetDefinitionRequest(workflow_type="note"))
        assert active.definition.fingerprint == second.fingerprint
        listed: list[definition_pb2.RegisteredDefinition] = []
        page = admin.ListDefinitionsRequest(page_size=1)
        while True:
            found = await served.admin.ListDefinitions(page)
            listed += found.definitions
            if not found.next_page_token:
                break
            page.page_token = found.next_page_token
        assert {(item.fingerprint, item.active) for item in listed} == {(first.fingerprint, False), (second.fingerprint, True)}
        only = await served.admin.ListDefinitions(admin.ListDefinitionsRequest(active_only=True))
        assert [item.fingerprint for item in only.definitions] == [second.fingerprint]

    async def test_what_is_asked_for_by_name_and_is_not_there_is_not_found(self, served: Served) -> None:
        found = await refused(served.admin.GetDefinition(admin.GetDefinitionRequest(workflow_type="note")))
        assert (found.code, found.reason) == (grpc.StatusCode.NOT_FOUND, "DEFINITION_NOT_FOUND")


class TestServerInfo:
    async def test_all_defaults_of_the_contract_are_told(self, served: Served) -> None:
        told = (await served.admin.GetServerInfo(admin.GetServerInfoRequest())).defaults
        seconds = {"session_lease": 30, "renew_interval": 10, "acknowledge_window": 5, "attempt_timeout": 600, "cancel_grace": 30}
        seconds |= {"retention": 30 * 86_400, "tombstone_retention": 30 * 86_400, "sweep_interval": 1, "poll_lease": 30}
        assert {name: getattr(told, name).ToSeconds() for name in seconds} == seconds
        assert (told.max_lost_claims, told.priority, told.max_in_flight) == (5, 5, 100)
        retry = told.retry
        assert (retry.max_attempts, retry.initial_interval.ToSeconds(), retry.max_interval.ToSeconds()) == (3, 1, 60)
        assert (retry.backoff_coefficient, retry.jitter) == (2.0, 0.2)
        assert {field.name for field, _ in told.ListFields()} == set(told.DESCRIPTOR.fields_by_name), "a default that is told nowhere"

    async def test_defaults_and_limits_are_those_that_are_enforced(self, served: Served) -> None:
        info = await served.admin.GetServerInfo(admin.GetServerInfoRequest())
        assert info.defaults.session_lease.ToMilliseconds() == limits.SESSION_LEASE
        assert info.defaults.retry.max_attempts == limits.MAX_ATTEMPTS
        assert info.limits.payload_bytes == limits.PAYLOAD
        assert info.limits.json_depth == limits.JSON_DEPTH
        assert (info.store.backend.name, info.store.backend.healthy, info.coordination.name) == ("memory", True, "in-process")
        assert sorted(info.unimplemented_methods) == sorted(unimplemented_methods(AdminService, WorkerService, WorkflowService))
        assert not info.draining
        for message in (info.defaults, info.limits):
            unset = {field.name for field in message.DESCRIPTOR.fields} - {field.name for field, _ in message.ListFields()}
            assert not unset

    def test_every_rpc_is_served(self) -> None:
        assert unimplemented_methods(WorkflowService, WorkerService, AdminService) == []
