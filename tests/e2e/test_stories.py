"""The promises of one workflow, told by unary calls on a real server: order, retries, timeouts, signals, cancel, tokens."""

import json

import grpc

from perdure.v1 import payload_pb2, worker_service_pb2, workflow_pb2, workflow_service_pb2
from tests.e2e.channels import CANCELLED, COMPLETED, FAILED, Perdure, State, output, refused


async def test_three_steps_run_in_order_each_with_the_output_of_the_one_before(perdure: Perdure) -> None:
    await perdure.register("a", "b: a", "c: b")
    await perdure.start(text='{"from": "start"}')
    for name, needed, given in (("a", "input", '{"from": "start"}'), ("b", "a", '"of a"'), ("c", "b", '"of b"')):
        claim = await perdure.taken()
        assert (claim.step, claim.attempt, claim.inputs[needed].json) == (name, 1, given)
        assert await perdure.poll(wait=0.0) is None, "nothing else may run meanwhile"
        await perdure.complete(claim, f'"of {name}"')
    ended = await perdure.ended()
    assert (ended.state, ended.output.json) == (COMPLETED, '"of c"')
    ends = [event.change.step for event in await perdure.watched() if event.WhichOneof("event") == "change"]
    assert not ends, "the snapshot says it all"


async def test_branches_run_side_by_side_and_the_join_waits_for_both(perdure: Perdure) -> None:
    await perdure.register("a", "left: a", "right: a", "join: left right")
    await perdure.start()
    await perdure.complete(await perdure.taken("a"))
    left, right = await perdure.taken("left"), await perdure.taken("right")
    await perdure.complete(left, '"l"')
    assert await perdure.poll(wait=0.0) is None
    await perdure.complete(right, '"r"')
    join = await perdure.taken()
    assert {name: value.json for name, value in join.inputs.items()} == {"left": '"l"', "right": '"r"'}


async def test_fails_twice_then_succeeds_with_attempts_and_state_right(perdure: Perdure) -> None:
    await perdure.register("a", "b: a")
    await perdure.start()
    for attempt in (1, 2):
        claim = await perdure.taken()
        assert (claim.step, claim.attempt, claim.claim_no) == ("a", attempt, attempt)
        await perdure.fail(claim, f"no. {attempt}")
    claim = await perdure.taken()
    assert (claim.attempt, claim.last_failure.message) == (3, "no. 2")
    await perdure.complete(claim)
    steps = await perdure.steps()
    assert (steps["a"].state, steps["a"].attempt, steps["a"].totals.attempts) == (State.STATE_COMPLETED, 3, 3)
    assert (await perdure.get()).state == workflow_pb2.Workflow.STATE_RUNNING
    await perdure.complete(await perdure.taken("b"))
    assert (await perdure.ended()).state == COMPLETED


async def test_a_step_that_exhausts_its_attempts_fails_the_workflow(perdure: Perdure) -> None:
    await perdure.register("a", "b: a")
    await perdure.start()
    for attempt in (1, 2, 3):
        await perdure.fail(await perdure.taken(), f"no. {attempt}")
    ended = await perdure.ended()
    assert (ended.state, ended.failed_step, ended.failure.message) == (FAILED, "a", "no. 3")
    assert await perdure.poll(wait=0.0) is None


async def test_an_old_token_is_lost_and_changes_nothing(perdure: Perdure) -> None:
    await perdure.register("a", "b: a", attempt_timeout=0.2)
    await perdure.start()
    old = await perdure.taken()
    new = await perdure.taken()  # once the first attempt's time is over
    assert (old.attempt, new.attempt, new.step) == (1, 2, "a")
    before = await perdure.get()
    refusal = await refused(perdure.complete(old, '"late"'))
    assert (refusal.code, refusal.reason, refusal.facts["cause"]) == (grpc.StatusCode.FAILED_PRECONDITION, "CLAIM_LOST", "TIMED_OUT")
    assert (
        await refused(perdure.workers.Heartbeat(worker_service_pb2.HeartbeatRequest(claim_token=old.claim_token)))
    ).reason == "CLAIM_LOST"
    assert (await perdure.get()).etag == before.etag
    assert (await perdure.complete(new, '"in time"')).duplicate is False
    assert (await perdure.steps())["a"].output.json == '"in time"'


async def test_c34_the_same_complete_twice_has_one_effect(perdure: Perdure) -> None:
    await perdure.register("a", "b: a")
    await perdure.start()
    claim = await perdure.taken()
    assert not (await perdure.complete(claim, '"x"')).duplicate
    before = await perdure.get()
    assert (await perdure.complete(claim, '"x"')).duplicate
    assert (await perdure.get()).etag == before.etag
    refusal = await refused(perdure.complete(claim, '"another"'))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "CLAIM_ALREADY_SETTLED")
    following = await perdure.taken()
    assert (following.step, following.inputs["a"].json) == ("b", '"x"')
    assert await perdure.poll(wait=0.0) is None


async def test_c07_a_signal_before_its_wait_is_consumed_by_it(perdure: Perdure) -> None:
    await perdure.register("a", "wait_go: a", "b: wait_go")
    await perdure.start()
    early = await perdure.signal("wait_go", "s1", '"early"')
    assert not early.consumed
    assert (await perdure.signal("wait_go", "s1", '"early"')).duplicate
    assert [(item.signal_name, item.count) for item in (await perdure.get()).pending_signals] == [("wait_go", 1)]
    await perdure.complete(await perdure.taken("a"))
    claim = await perdure.taken("b")
    wake = json.loads(claim.inputs["wait_go"].json)["wakes"][0]
    assert (wake["signalId"], wake["payload"]["json"]) == ("s1", '"early"')
    found = await perdure.get()
    assert not found.pending_signals
    assert next(step.state for step in found.steps if step.name == "wait_go") == State.STATE_COMPLETED


async def test_a_signal_wakes_a_step_that_waits_with_its_checkpoint(perdure: Perdure) -> None:
    await perdure.register("a")
    await perdure.start()
    claim = await perdure.taken()
    waiting = worker_service_pb2.CompleteRequest(claim_token=claim.claim_token)
    waiting.waiting.checkpoint.json = '"task-7"'
    waiting.waiting.wait.any_of.add().signal.signal_name = "done"
    await perdure.workers.Complete(waiting)
    assert (await perdure.steps())["a"].state == State.STATE_WAITING
    call = workflow_service_pb2.SignalRequest(
        wake_token=claim.wake_token, signal_name="done", signal_id="s", payload=payload_pb2.Payload(json="5")
    )
    assert (await perdure.workflows.Signal(call)).consumed
    again = await perdure.taken()
    assert (again.checkpoint.json, again.wakes[0].payload.json, again.attempt) == ('"task-7"', "5", 1)
    await perdure.complete(again)
    assert (await perdure.ended()).state == COMPLETED


async def test_a_cycle_is_refused_with_its_path(perdure: Perdure) -> None:
    refusal = await refused(perdure.register("a: c", "b: a", "c: b", "d"))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "DEFINITION_CYCLE")
    told = f"{refusal.message} {dict(refusal.facts)} {dict(refusal.fields)}"
    assert any(path in told for path in ("a -> c -> b -> a", "a -> b -> c -> a", "b -> a -> c -> b", "c -> b -> a -> c")), told


async def test_a_step_that_blocks_times_out_and_unlocks_nothing(perdure: Perdure) -> None:
    await perdure.register("a", "b: a", attempt_timeout=0.2, attempts=1)
    await perdure.start()
    blocked = await perdure.taken()
    ended = await perdure.ended()
    assert (ended.state, ended.failed_step) == (FAILED, "a")
    assert await perdure.poll(wait=0.0) is None
    refusal = await refused(perdure.complete(blocked))
    assert (refusal.reason, refusal.facts["cause"]) == ("CLAIM_LOST", "TIMED_OUT")
    steps = await perdure.steps()
    assert steps["b"].state != State.STATE_READY
    assert steps["b"].claim_no == 0
    assert await perdure.poll(wait=0.2) is None


async def test_cancel_while_running_starts_nothing_new(perdure: Perdure) -> None:
    await perdure.register("a", "b: a", "other", "after: other")
    await perdure.start()
    running = await perdure.taken("a")
    done = await perdure.taken("other")
    await perdure.complete(done)
    await perdure.cancel(reason="enough")
    assert await perdure.poll(wait=0.0) is None, "`after` was ready, and is not granted any more"
    answer = await perdure.workers.Heartbeat(worker_service_pb2.HeartbeatRequest(claim_token=running.claim_token))
    assert answer.cancel_requested
    await perdure.complete(running, '"kept"', want_next=True)
    ended = await perdure.ended()
    steps = {step.name: step for step in ended.steps}
    assert (ended.state, ended.cancel.reason, steps["a"].output.json) == (CANCELLED, "enough", '"kept"')
    assert [steps[name].claim_no for name in ("b", "after")] == [0, 0]
    assert await perdure.poll(wait=0.0) is None


async def test_a_result_that_says_nothing_is_named_by_its_field(perdure: Perdure) -> None:
    await perdure.register("a")
    await perdure.start()
    claim = await perdure.taken()
    refusal = await refused(perdure.workers.Complete(worker_service_pb2.CompleteRequest(claim_token=claim.claim_token)))
    assert refusal.code is grpc.StatusCode.INVALID_ARGUMENT
    assert refusal.fields
    await perdure.workers.Complete(worker_service_pb2.CompleteRequest(claim_token=claim.claim_token, completed=output("1")))
