"""What people ask of one workflow, over a real channel: each RPC, what watchers and workers see of it, and each refusal."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import pytest

from perdure.v1 import admin_service_pb2 as admin
from perdure.v1 import definition_pb2, watch_pb2, workflow_pb2
from perdure.v1 import workflow_service_pb2 as wire
from perdure.v1.definition_pb2 import StepPolicy
from perdure.v1.resource_pb2 import StepResolution
from perdure_server.kernel import limits
from tests.rpc.conftest import Refusal, Served, definition, ref, refusal_of, refused
from tests.rpc.test_watch import Reader
from tests.rpc.worker import Worker, connected

State = workflow_pb2.Workflow.State
Step = workflow_pb2.StepView.State


async def register(served: Served, made: definition_pb2.Definition) -> None:
    await served.admin.RegisterDefinition(admin.RegisterDefinitionRequest(definition=made, activate=True))


async def get(served: Served, key: str = "k") -> workflow_pb2.Workflow:
    return (await served.workflows.GetWorkflow(wire.GetWorkflowRequest(workflow=ref(key)))).workflow


async def terminate(served: Served, **fields: Any) -> wire.TerminateWorkflowResponse:
    return await served.workflows.TerminateWorkflow(wire.TerminateWorkflowRequest(workflow=ref(), **fields))


async def pause(served: Served, **fields: Any) -> wire.PauseWorkflowResponse:
    return await served.workflows.PauseWorkflow(wire.PauseWorkflowRequest(workflow=ref(), **fields))


async def resume(served: Served, **fields: Any) -> wire.ResumeWorkflowResponse:
    return await served.workflows.ResumeWorkflow(wire.ResumeWorkflowRequest(workflow=ref(), **fields))


async def replay(served: Served, **fields: Any) -> wire.ReplayWorkflowResponse:
    return await served.workflows.ReplayWorkflow(wire.ReplayWorkflowRequest(**({"workflow": ref()} | fields)))


async def delete(served: Served, **fields: Any) -> wire.DeleteWorkflowResponse:
    return await served.workflows.DeleteWorkflow(wire.DeleteWorkflowRequest(**({"workflow": ref()} | fields)))


async def resolve(served: Served, step: str = "a", **fields: Any) -> admin.ResolveStepResponse:
    given: dict[str, Any] = {"workflow": ref(), "step": step, "reason": "looked", "resolution": resolution(pass_over={})} | fields
    return await served.admin.ResolveStep(admin.ResolveStepRequest(**given))


def resolution(**fields: Any) -> StepResolution:
    return StepResolution(**fields)


async def fail(worker: Worker, claim: Any, result_id: int = 1) -> None:
    """A failure for good."""
    result = {"claim_token": claim.claim_token, "result_id": result_id, "failed": {"type": "t.x", "message": "no", "non_retryable": True}}
    await worker.say(results={"results": [result]})
    await worker.hear_one("settled")


def holding(*steps: str) -> definition_pb2.Definition:
    """Steps that are held when their one attempt fails."""
    made = definition(*steps)
    for step in made.steps:
        step.policy.retry.max_attempts = 1
        step.policy.on_exhausted = StepPolicy.ON_EXHAUSTED_HOLD
    return made


def changes_of(reader: Reader) -> list[watch_pb2.StateChange]:
    return [event.change for event in reader.events if event.WhichOneof("event") == "change"]


class TestPauseAndResume:
    async def test_it_is_seen_everywhere_and_ends(self, served: Served) -> None:
        await served.register("a")
        await served.start()
        reader = Reader(served)
        await reader.until("snapshot")
        first = await pause(served, reason="a look", request_id="r1")
        assert (first.workflow.business_key, first.workflow.round, first.duplicate) == ("k", 1, False)
        found = await get(served)
        assert (found.etag, found.state, found.phase, found.phase_reason) == (
            first.etag,
            State.STATE_RUNNING,
            workflow_pb2.PHASE_PAUSED,
            "paused: a look",
        )
        assert (found.pause.reason, found.pause.pause_time) == ("a look", found.phase_since_time)
        assert (found.steps[0].phase, found.steps[0].state) == (workflow_pb2.PHASE_PAUSED, Step.STATE_READY)
        assert (await pause(served, request_id="r1")).duplicate
        assert (await pause(served, request_id="r2")).duplicate, "it is paused already"
        assert not (await resume(served, request_id="r1")).duplicate, "ids are told apart by verb"
        assert (await resume(served, request_id="r1")).duplicate
        assert not (await get(served)).HasField("pause")
        await reader.until("change", 2)
        told = [(change.paused, change.HasField("paused"), change.workflow_state, change.actor_reason) for change in changes_of(reader)]
        assert told[0][:3] == (True, True, 0)
        assert told[1] == (False, True, 0, "")

    async def test_refusals(self, served: Served) -> None:
        await served.register("a")
        await served.start()
        assert (await resume(served)).duplicate, "it is not paused"
        await terminate(served)
        for call in (pause(served), resume(served), terminate(served)):
            found = await refused(call)
            assert (found.code, found.reason, found.facts["state"]) == (
                grpc.StatusCode.FAILED_PRECONDITION,
                "WORKFLOW_CLOSED",
                "TERMINATED",
            )


class TestTerminate:
    async def test_a_running_worker_is_fenced_over_its_stream(self, served: Served) -> None:
        await served.register("a", "b:a")
        start = await served.start()
        async with connected(served) as worker:
            claim = await worker.claim()
            answer = await terminate(served, reason="enough", request_id="r")
            assert (answer.state, answer.duplicate, answer.fence) == (State.STATE_TERMINATED, False, start.fence)
            lost = await worker.hear_one("lost")
            assert [item.claim_token for item in lost.claims] == [claim.claim_token]
            late = await worker.complete(claim)
            assert late.status.code == grpc.StatusCode.FAILED_PRECONDITION.value[0]
        assert (await terminate(served, request_id="r")).duplicate
        result = await served.workflows.WaitForResult(wire.WaitForResultRequest(workflow=ref()))
        assert (result.done, result.state, result.reason) == (True, State.STATE_TERMINATED, "enough")


class TestReplay:
    async def failed(self, served: Served, made: definition_pb2.Definition | None = None) -> wire.StartWorkflowResponse:
        await register(served, made or definition("a", "b:a"))
        start = await served.start()
        async with connected(served) as worker:
            await worker.complete(await worker.claim())
            await fail(worker, await worker.claim(), 2)
        assert (await get(served)).state == State.STATE_FAILED
        return start

    async def test_what_failed_is_done_again_under_a_higher_fence(self, served: Served) -> None:
        start = await self.failed(served)
        reader = Reader(served, follow=True)
        await reader.until("end")
        would = await replay(served, validate_only=True)
        assert (list(would.reopened_steps), would.state, would.duplicate) == (["b"], State.STATE_RUNNING, False)
        assert (await get(served)).state == State.STATE_FAILED, "only checked"
        named = ref()
        named.expected_fence = start.fence
        answer = await replay(served, workflow=named, request_id="r")
        assert (list(answer.reopened_steps), answer.state, answer.fence > start.fence) == (["b"], State.STATE_RUNNING, True)
        again = await replay(served, workflow=named, request_id="r")
        assert (again.duplicate, again.fence, list(again.reopened_steps)) == (True, answer.fence, [])
        found = await refused(replay(served, workflow=named))
        assert (found.code, found.reason, found.facts["fence"]) == (grpc.StatusCode.ABORTED, "FENCED", str(answer.fence))
        async with connected(served) as worker:
            claim = await worker.claim()
            assert (claim.step, claim.attempt, claim.fence, claim.claim_no) == ("b", 1, answer.fence, 2)
            await worker.complete(claim)
        await reader.until("end", 2)
        assert answer.fence in [change.fence for change in changes_of(reader)]
        view = await get(served)
        assert (view.state, view.totals.replays, view.totals.attempts) == (State.STATE_COMPLETED, 1, 3)
        assert {step.name: step.totals.attempts for step in view.steps} == {"a": 1, "b": 2}

    async def test_completed_steps_reopen_by_name_with_what_depends_on_them(self, served: Served) -> None:
        await served.register("a", "b:a")
        await served.start()
        async with connected(served) as worker:
            settled = await worker.complete(await worker.claim(), want_next=True)
            await worker.complete(settled.next_claims[0], result_id=2)
        assert (await refused(replay(served))).reason == "WORKFLOW_STATE_INVALID"
        assert list((await replay(served, reopen_steps=["a"])).reopened_steps) == ["a", "b"]
        steps = {step.name: (step.state, step.generation) for step in (await get(served)).steps}
        assert steps == {"a": (Step.STATE_READY, 1), "b": (Step.STATE_BLOCKED, 1)}

    async def test_refusals(self, served: Served) -> None:
        await served.register("a")
        await served.start()
        found = await refused(replay(served))
        assert (found.code, found.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "WORKFLOW_NOT_CLOSED")
        await terminate(served)
        found = await refused(replay(served, reopen_steps=["zz"]))
        assert (found.code, list(found.fields)) == (grpc.StatusCode.INVALID_ARGUMENT, ["reopen_steps"])
        found = await refused(replay(served, reopen_steps=["?"]))
        assert list(found.fields) == ["reopen_steps[0]"]


class TestResolve:
    async def held(self, served: Served) -> None:
        await register(served, holding("a", "b:a"))
        await served.start()
        async with connected(served) as worker:
            await fail(worker, await worker.claim())

    async def test_a_held_step_needs_attention_and_is_completed_by_a_person(self, served: Served) -> None:
        await self.held(served)
        found = await get(served)
        assert (found.phase, found.steps[0].phase) == (workflow_pb2.PHASE_NEEDS_ATTENTION, workflow_pb2.PHASE_NEEDS_ATTENTION)
        assert found.phase_reason == "a: a person must decide: t.x: no"
        assert found.steps[0].phase_since_time.ToMilliseconds() > 0
        completed = resolution(completed={"output": {"json": "7"}})
        would = await resolve(served, resolution=completed, validate_only=True)
        assert (would.step.state, (await get(served)).steps[0].state) == (Step.STATE_COMPLETED, Step.STATE_HELD)
        answer = await resolve(served, resolution=completed, request_id="r")
        assert (answer.step.name, answer.step.state, answer.workflow_state) == ("a", Step.STATE_COMPLETED, State.STATE_RUNNING)
        assert (await get(served)).etag == answer.etag
        assert (await resolve(served, resolution=completed, request_id="r")).duplicate
        async with connected(served) as worker:
            assert (await worker.claim()).inputs["a"].json == "7"

    async def test_a_large_output_of_a_person_leaves_the_document(self, served: Served) -> None:
        await self.held(served)
        await resolve(served, resolution=resolution(completed={"output": {"binary": b"x" * (limits.INLINE_PAYLOAD + 1)}}))
        async with connected(served) as worker:
            assert len((await worker.claim()).inputs["a"].binary) == limits.INLINE_PAYLOAD + 1

    @pytest.mark.parametrize(
        ("way", "step", "workflow"),
        [
            (resolution(failed={"type": "t.y"}), Step.STATE_FAILED, State.STATE_FAILED),
            (resolution(retry={"clear_checkpoint": True}), Step.STATE_READY, State.STATE_RUNNING),
            (resolution(pass_over={}), Step.STATE_SKIPPED, State.STATE_COMPLETED),
        ],
    )
    async def test_the_other_ways(self, served: Served, way: StepResolution, step: int, workflow: int) -> None:
        await self.held(served)
        answer = await resolve(served, resolution=way)
        assert (answer.step.state, answer.workflow_state) == (step, workflow)

    async def test_refusals(self, served: Served) -> None:
        await register(served, holding("a", "b:a"))
        await served.start()
        found = await refused(resolve(served))
        assert (found.code, found.reason, found.facts) == (
            grpc.StatusCode.FAILED_PRECONDITION,
            "STEP_STATE_INVALID",
            {"step": "a", "state": "READY"},
        )
        found = await refused(resolve(served, "zz"))
        assert (found.code, found.reason, found.facts) == (grpc.StatusCode.NOT_FOUND, "STEP_NOT_FOUND", {"step": "zz"})
        found = await refused(resolve(served, "?", reason="", resolution=resolution()))
        assert set(found.fields) == {"reason", "step", "resolution"}
        async with connected(served) as worker:
            await fail(worker, await worker.claim())
        found = await refused(resolve(served, resolution=resolution(completed={"choose": ["left"]})))
        assert (found.reason, list(found.fields)) == ("BRANCH_INVALID", ["resolution.completed.choose"])
        found = await refused(resolve(served, resolution=resolution(completed={"output": {"json": "NaN"}})))
        assert list(found.fields) == ["resolution.completed.output"]


class TestDelete:
    async def test_it_is_gone_with_its_watchers_and_the_key_is_free(self, served: Served) -> None:
        await served.register("a")
        request = wire.StartWorkflowRequest(workflow=ref())
        request.input.binary = b"x" * (limits.INLINE_PAYLOAD + 1)
        first = await served.workflows.StartWorkflow(request)
        found = await refused(delete(served))
        assert (found.code, found.reason, found.facts) == (
            grpc.StatusCode.FAILED_PRECONDITION,
            "WORKFLOW_NOT_CLOSED",
            {"state": "RUNNING"},
        )
        await terminate(served)
        reader = Reader(served, follow=True)
        await reader.until("end")
        await delete(served, validate_only=True)
        assert (await get(served)).state == State.STATE_TERMINATED, "only checked"
        payload_ids = list(served.running.engine.store.payloads._stored)  # type: ignore[attr-defined]  # the in-memory store's
        assert payload_ids
        answer = await delete(served, reason="asked to")
        assert (answer.workflow.business_key, answer.workflow.round) == ("k", 1)
        assert not served.running.engine.store.payloads._stored  # type: ignore[attr-defined]  # the in-memory store's
        found = await refused(reader.call.read())
        assert (found.code, found.reason) == (grpc.StatusCode.NOT_FOUND, "WORKFLOW_NOT_FOUND")
        found = await refused(delete(served))
        assert (found.code, found.reason) == (grpc.StatusCode.NOT_FOUND, "WORKFLOW_NOT_FOUND")
        again = await served.start()
        assert (again.created, again.fence > first.fence) == (True, True)

    async def test_the_current_round_is_not_deleted_by_its_number(self, served: Served) -> None:
        await served.register("a")
        await served.start()
        await terminate(served)
        named = ref()
        named.round = 1
        assert list((await refused(delete(served, workflow=named))).fields) == ["workflow.round"]
        named.round = 2
        assert (await refused(delete(served, workflow=named))).reason == "WORKFLOW_NOT_FOUND"


Verb = Callable[..., Awaitable[Any]]


class TestEveryVerb:
    @pytest.mark.parametrize("verb", [terminate, pause, resume, replay, delete, resolve])
    async def test_what_is_wrong_is_named_at_once(self, served: Served, verb: Verb) -> None:
        found = await refused(verb(served, reason="x" * 5_000, request_id="x" * 129, etag="x" * 300))
        assert set(found.fields) == {"reason", "request_id", "etag"}

    @pytest.mark.parametrize("verb", [terminate, pause, resume, replay, delete, resolve])
    async def test_unknown_workflows_are_not_found(self, served: Served, verb: Verb) -> None:
        await served.register("a")
        found = await refused(verb(served))
        assert (found.code, found.reason) == (grpc.StatusCode.NOT_FOUND, "WORKFLOW_NOT_FOUND")

    @pytest.mark.parametrize("verb", [terminate, pause])
    async def test_another_etag_is_a_conflict_and_the_current_one_is_not(self, served: Served, verb: Verb) -> None:
        await served.register("a")
        await served.start()
        old = (await get(served)).etag
        await served.workflows.Signal(wire.SignalRequest(workflow=ref(), signal_name="s", signal_id="1"))
        conflict: Refusal = await refused(verb(served, etag=old))
        assert (conflict.code, conflict.reason) == (grpc.StatusCode.ABORTED, "REVISION_CONFLICT")
        etag = (await get(served)).etag
        assert not (await verb(served, etag=etag, request_id="r")).duplicate
        assert (await verb(served, etag=etag, request_id="r")).duplicate, "a repeat does not conflict with itself"

    @pytest.mark.parametrize("verb", [replay, delete])
    async def test_etags_of_ended_workflows(self, served: Served, verb: Verb) -> None:
        await served.register("a")
        await served.start()
        old = (await get(served)).etag
        await terminate(served)
        assert (await refused(verb(served, etag=old))).reason == "REVISION_CONFLICT"
        await verb(served, etag=(await get(served)).etag)

    async def test_of_two_at_once_with_one_etag_one_wins(self, served: Served) -> None:
        await served.register("a")
        await served.start()
        etag = (await get(served)).etag
        calls = [pause(served, etag=etag, reason=str(number)) for number in range(2)]
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        failed = [refusal_of(error).reason for error in outcomes if isinstance(error, grpc.aio.AioRpcError)]
        assert failed == ["REVISION_CONFLICT"]
