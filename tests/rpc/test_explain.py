"""ExplainWorkflow and ListAttempts, and what hooks, branches and phases look like on the wire."""

from itertools import pairwise

import grpc
import pytest
from msgspec.structs import replace

from perdure.v1 import definition_pb2, workflow_pb2
from perdure.v1 import workflow_service_pb2 as wire
from perdure.v1.claim_pb2 import Pool
from perdure.v1.definition_pb2 import StepPolicy
from perdure_server.engine.values import QueueFact, Unserved
from perdure_server.kernel import limits
from perdure_server.kernel.workflow import Paused, Step, StepState, Throttle
from perdure_server.rpc.encode import phases
from tests.kernel.harness import Run, plan
from tests.rpc.conftest import Served, definition, ref, refused
from tests.rpc.test_people import fail, get, holding, pause, register, resolve, terminate
from tests.rpc.worker import connected

State = workflow_pb2.Workflow.State
Attempt = workflow_pb2.Attempt


READY = Step(state=StepState.READY, since=0)
PHASES: dict[str, tuple[Step, QueueFact | None]] = {  # the first one that a step has is the workflow's
    "needs_attention": (Step(state=StepState.HELD, since=0), None),
    "paused": (READY, QueueFact(Unserved.PAUSED, 0, Paused(0))),
    "executing": (Step(state=StepState.RUNNING, since=0), None),
    "incompatible": (READY, QueueFact(Unserved.INCOMPATIBLE, 0)),
    "no_worker": (READY, QueueFact(Unserved.NO_WORKER, 0)),
    "throttled": (Step(state=StepState.READY, since=0, throttled=Throttle("llm", 0)), None),
    "queued": (READY, None),
    "backing_off": (Step(state=StepState.BACKOFF, since=0, claim_no=1), None),
    "waiting": (Step(state=StepState.WAITING, since=0), None),
}


async def explain(served: Served, step: str = "") -> wire.ExplainWorkflowResponse:
    return await served.workflows.ExplainWorkflow(wire.ExplainWorkflowRequest(workflow=ref(), step=step))


async def attempts(served: Served, **fields: object) -> wire.ListAttemptsResponse:
    return await served.workflows.ListAttempts(wire.ListAttemptsRequest(workflow=ref(), **fields))  # type: ignore[arg-type]  # its fields


class TestExplain:
    async def test_a_ready_step_without_workers_says_what_would_move_it(self, served: Served) -> None:
        made = await served.register("a", "b:a")
        await served.start()
        found = await explain(served)
        assert (found.state, found.phase, found.workflow.business_key) == (State.STATE_RUNNING, workflow_pb2.PHASE_NO_WORKER, "k")
        assert found.summary == "RUNNING; a: no worker serves this step in queue default"
        a, b = found.steps
        assert (a.step, a.phase, a.state) == ("a", workflow_pb2.PHASE_NO_WORKER, workflow_pb2.StepView.STATE_READY)
        queue = a.blockers[0].queue
        assert (queue.queue, queue.worker_count, queue.free_slots, queue.step_contract) == ("default", 0, 0, made.step_contracts["a"])
        assert "note/a" in a.suggestions[0]
        assert (b.step, [(item.dependency, item.summary) for item in b.blockers]) == ("b", [("a", "for step a, which is READY")])
        assert b.since_time == (await get(served)).start_time

    async def test_a_document_that_nears_its_budget_is_named(self, served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
        await served.register("a")
        await served.start()
        assert "%" not in (await explain(served)).summary
        monkeypatch.setattr(limits, "DOCUMENT_WARNING", 0)
        monkeypatch.setattr(limits, "DOCUMENT", 1)
        assert " % full of payloads" in (await explain(served)).summary

    async def test_workers_of_another_contract_are_told_apart_from_none(self, served: Served) -> None:
        await served.register("a")
        await served.start()
        other = Pool(pool="p", workflow_type="note", step_contracts={"a": "f" * 64}, slots=3)
        async with connected(served, pools=[other]):
            found = await explain(served)
            assert (found.phase, found.steps[0].blockers[0].queue.incompatible_worker_count) == (workflow_pb2.PHASE_INCOMPATIBLE, 1)
        elsewhere = Pool(pool="p", queue="gpu", workflow_type="note", any_contract=True, steps=["a"])
        async with connected(served, pools=[elsewhere]):
            assert (await explain(served)).steps[0].blockers[0].queue.worker_count == 0

    async def test_workers_and_their_slots_are_counted(self, served: Served) -> None:
        await served.register("a")
        await served.start()
        async with connected(served, pools=[Pool(pool="p", workflow_type="note", any_contract=True, slots=3)]):
            found = await explain(served)
            queue = found.steps[0].blockers[0].queue
            assert (found.phase, queue.worker_count, queue.free_slots, queue.ahead_count) == (workflow_pb2.PHASE_QUEUED, 1, 3, 0)

    async def test_a_claim_is_told_with_its_holder_and_its_times(self, served: Served) -> None:
        await served.register("a")
        await served.start()
        async with connected(served) as worker:
            await worker.claim()
            found = await explain(served)
            claim = found.steps[0].blockers[0].claim
            assert (found.phase, claim.worker_id, claim.claim_no, claim.attempt) == (workflow_pb2.PHASE_EXECUTING, "w", 1, 1)
            assert claim.lease_end_time.seconds > 0
            start = found.steps[0].since_time.ToMilliseconds()
            assert claim.attempt_end_time.ToMilliseconds() == start + limits.ATTEMPT_TIMEOUT == found.steps[0].next_time.ToMilliseconds()

    async def test_a_wait_names_signals_and_times(self, served: Served) -> None:
        made = definition("wait_go")
        made.steps[0].wait.wait.any_of[0].signal.count = 2
        made.steps[0].wait.wait.any_of.add(name="late").after.seconds = 60
        await register(served, made)
        await served.start()
        await served.workflows.Signal(wire.SignalRequest(workflow=ref(), signal_name="wait_go", signal_id="1"))
        found = await explain(served)
        signal, late = found.steps[0].blockers
        assert (signal.signal_name, signal.summary) == ("wait_go", "for the signal wait_go (1 of 2 are stored)")
        assert (late.due_time, found.phase) == (found.steps[0].next_time, workflow_pb2.PHASE_WAITING)
        assert list(found.steps[0].suggestions) == ["Send the signal wait_go (Signal)."]

    async def test_a_retry_a_person_and_a_pause(self, served: Served) -> None:
        made = holding("a", "b")
        made.steps[1].policy.Clear()
        made.steps[1].policy.retry.initial_interval.seconds = 60
        await register(served, made)
        await served.start()
        async with connected(served) as worker:
            for claim in (await worker.claim(), await worker.claim()):
                result = {"claim_token": claim.claim_token, "failed": {"type": "t.x", "message": "no"}}
                await worker.say(results={"results": [result]})
                await worker.hear_one("settled")
        a, b = (await explain(served)).steps
        assert (a.phase, a.blockers[0].person.reason) == (workflow_pb2.PHASE_NEEDS_ATTENTION, "t.x: no")
        assert "ResolveStep" in a.suggestions[0]
        assert (b.phase, b.blockers[0].summary, b.blockers[0].due_time) == (
            workflow_pb2.PHASE_BACKING_OFF,
            "for its next attempt",
            b.next_time,
        )
        await pause(served, reason="a look")
        found = await explain(served)
        assert (found.summary, found.phase) == (
            "RUNNING, but paused: a look; nothing is granted until it is resumed.",
            workflow_pb2.PHASE_NEEDS_ATTENTION,
        )
        assert [blocker.person.reason for blocker in found.steps[1].blockers][:1] == ["a look"]
        assert not found.steps[1].HasField("next_time"), "what comes due waits for the resume"

    async def test_ended_ones_and_refusals(self, served: Served) -> None:
        await served.register("a")
        found = await refused(explain(served))
        assert (found.code, found.reason) == (grpc.StatusCode.NOT_FOUND, "WORKFLOW_NOT_FOUND")
        await served.start()
        assert (await refused(explain(served, "zz"))).reason == "STEP_NOT_FOUND"
        assert list((await refused(explain(served, "?"))).fields) == ["step"]
        await terminate(served, reason="enough")
        ended = await explain(served)
        assert (ended.phase, len(ended.steps), ended.summary) == (0, 0, "TERMINATED: enough; nothing is left to happen.")
        assert (await explain(served, "a")).steps[0].summary == "has ended: CANCELLED"


class TestAttempts:
    async def test_failures_the_current_claim_and_the_completion_newest_first(self, served: Served) -> None:
        made = definition("a", "b:a")
        made.steps[0].policy.retry.initial_interval.nanos = 1_000_000
        await register(served, made)
        await served.start()
        async with connected(served) as worker:
            claim = await worker.claim()
            await worker.say(results={"results": [{"claim_token": claim.claim_token, "failed": {"type": "t.x", "message": "no"}}]})
            await worker.hear_one("settled")
            await worker.complete(await worker.claim(), result_id=2)
            await worker.claim()
            found = (await attempts(served)).attempts
            assert [(item.step, item.claim_no, item.attempt, item.outcome, item.charged) for item in found] == [
                ("b", 1, 1, Attempt.OUTCOME_UNSPECIFIED, True),
                ("a", 2, 2, Attempt.OUTCOME_COMPLETED, True),
                ("a", 1, 1, Attempt.OUTCOME_FAILED, True),
            ]
            assert (found[0].worker_id, found[0].HasField("end_time"), len(found[0].span_id)) == ("w", False, 16)
            assert (found[2].failure.type, found[2].HasField("end_time")) == ("t.x", True)
            assert [item.step for item in (await attempts(served, step="b")).attempts] == ["b"]
        first = await attempts(served, page_size=2)
        second = await attempts(served, page_size=2, page_token=first.next_page_token)
        assert ([item.step for item in second.attempts], second.next_page_token) == (["a"], "")
        assert (await refused(attempts(served, step="a", page_token=first.next_page_token))).reason == "PAGE_TOKEN_INVALID"

    async def test_what_a_person_completed_is_no_attempt(self, served: Served) -> None:
        await register(served, holding("a"))
        await served.start()
        async with connected(served) as worker:
            await fail(worker, await worker.claim())
        await resolve(served)
        assert [item.outcome for item in (await attempts(served)).attempts] == [Attempt.OUTCOME_FAILED]

    async def test_refusals(self, served: Served) -> None:
        await served.register("a")
        assert (await refused(attempts(served))).reason == "WORKFLOW_NOT_FOUND"
        await served.start()
        found = await refused(attempts(served, step="zz"))
        assert (found.code, found.reason, found.facts) == (grpc.StatusCode.NOT_FOUND, "STEP_NOT_FOUND", {"step": "zz"})
        assert set((await refused(attempts(served, step="?", page_size=-1))).fields) == {"step", "page_size"}


def saga() -> definition_pb2.Definition:
    """reserve -> charge, undone by `release`, then settled by `tidy`."""
    made = definition("reserve", "charge:reserve", "release", "tidy")
    made.steps[0].compensate_with = "release"
    made.hooks.failure_finalizer.step = "tidy"
    made.steps[3].policy.retry.initial_interval.nanos = 1_000_000
    made.steps[3].policy.retry.max_attempts = 2
    return made


class TestHooks:
    async def test_compensation_and_finalizer_are_told_why_they_run(self, served: Served) -> None:
        await register(served, saga())
        await served.start()
        async with connected(served) as worker:
            reserve = await worker.claim()
            await worker.complete(reserve, '"seat 7"')
            await fail(worker, await worker.claim())
            release = await worker.claim()
            view = {step.name: step for step in (await get(served)).steps}
            await worker.complete(release)
            tidy = await worker.claim()
            await worker.complete(tidy)
        hook = release.hook
        assert (release.step, hook.kind, hook.compensates, hook.in_doubt) == (
            "release",
            workflow_pb2.HOOK_KIND_COMPENSATION,
            "reserve",
            False,
        )
        assert (hook.compensated_output.json, hook.compensated_idempotency_key) == ('"seat 7"', reserve.idempotency_key)
        assert (hook.failure.type, hook.failed_step) == ("t.x", "charge")
        assert (view["release"].hook, view["release"].compensates) == (workflow_pb2.HOOK_KIND_COMPENSATION, "reserve")
        assert (tidy.hook.kind, tidy.hook.compensates, tidy.max_attempts) == (workflow_pb2.HOOK_KIND_FAILURE_FINALIZER, "", 0)
        assert [(item.step, item.state) for item in tidy.hook.unfinished] == [
            ("reserve", workflow_pb2.StepView.STATE_COMPENSATED),
            ("charge", workflow_pb2.StepView.STATE_FAILED),
        ]
        found = await get(served)
        assert (found.state, found.failed_step) == (State.STATE_FAILED, "charge")
        assert found.steps[0].state == workflow_pb2.StepView.STATE_COMPENSATED

    async def test_a_failed_dependency_that_is_passed_over_is_told_as_such(self, served: Served) -> None:
        made = definition("a", "b:a")
        made.steps[0].policy.on_exhausted = StepPolicy.ON_EXHAUSTED_CONTINUE
        await register(served, made)
        await served.start()
        async with connected(served) as worker:
            await fail(worker, await worker.claim())
            claim = await worker.claim()
            assert (claim.step, dict(claim.inputs), claim.failed_inputs["a"].type) == ("b", {}, "t.x")

    async def test_a_cancel_is_told_to_its_finalizer(self, served: Served) -> None:
        made = definition("a", "undo")
        made.hooks.cancel_finalizer.step = "undo"
        await register(served, made)
        await served.start()
        await served.workflows.CancelWorkflow(wire.CancelWorkflowRequest(workflow=ref(), reason="enough"))
        async with connected(served) as worker:
            claim = await worker.claim()
        assert (claim.hook.kind, claim.hook.cancel.reason) == (workflow_pb2.HOOK_KIND_CANCEL_FINALIZER, "enough")
        assert claim.hook.cancel.request_time == (await get(served)).cancel.request_time


class TestBranches:
    async def test_a_result_chooses(self, served: Served) -> None:
        made = definition("ask", "left:ask", "right:ask")
        made.steps[0].branches.add(name="l", steps=["left"])
        made.steps[0].branches.add(name="r", steps=["right"])
        await register(served, made)
        await served.start()
        async with connected(served) as worker:
            claim = await worker.claim()
            for choice, refusal in (("zz", True), ("r", False)):
                result = {"claim_token": claim.claim_token, "result_id": 1, "completed": {"choose": [choice]}}
                await worker.say(results={"results": [result]})
                settled = (await worker.hear_one("settled")).settled[0]
                assert bool(settled.status.code) is refusal
        steps = {step.name: step for step in (await get(served)).steps}
        assert list(steps["ask"].chosen_branches) == ["r"]
        assert (steps["left"].state, steps["right"].state) == (workflow_pb2.StepView.STATE_SKIPPED, workflow_pb2.StepView.STATE_READY)


class TestPhases:
    def test_every_phase_has_its_place(self) -> None:
        assert set(phases.PRECEDENCE) == set(workflow_pb2.Phase.values()) - {workflow_pb2.PHASE_UNSPECIFIED}
        assert len(set(phases.PRECEDENCE)) == len(phases.PRECEDENCE)

    @pytest.mark.parametrize(("stands", "hidden"), list(pairwise(PHASES)))
    def test_a_workflow_has_the_first_phase_of_its_steps(self, stands: str, hidden: str) -> None:
        workflow = replace(Run(plan(hidden, stands)).workflow, steps={name: PHASES[name][0] for name in (hidden, stands)})
        facts = {f"/{name}": fact for name in (hidden, stands) if (fact := PHASES[name][1]) is not None}
        found = phases.workflow_phase(workflow, facts)
        assert found is not None
        assert workflow_pb2.Phase.Name(found.phase) == f"PHASE_{stands.upper()}"

    def test_every_live_state_of_a_step_has_a_phase(self) -> None:
        for state in StepState:
            found = phases.step_phase(Step(state=state, since=5), Paused(7))
            assert (found is None) == (state is StepState.BLOCKED or state > StepState.HELD)
            if found is not None:
                assert found.since == (7 if state is StepState.READY else 5)
