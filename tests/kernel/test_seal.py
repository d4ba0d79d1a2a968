"""The derived fields: when the sweep must look, in which queues there is work, which sessions hold claims."""

from perdure_server.kernel import limits
from perdure_server.kernel.claims import Ticket, grant
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.outcomes import Completed, Report, report
from perdure_server.kernel.seal import next_wake, queue_id, seal
from perdure_server.kernel.values import Payload
from perdure_server.kernel.workflow import StepState, WorkflowState
from tests.kernel.harness import T0, Run, activity, after, chain, on_signal, payload, plan, waiting

S, W = StepState, WorkflowState


def ready(run: Run) -> list[str]:
    """The queues in which it has work."""
    return list(run.workflow.ready)


def sessions(run: Run) -> list[str]:
    """The sessions that hold its claims."""
    return list(run.workflow.sessions)


def test_wake_time_is_the_first_thing_that_falls_due() -> None:
    run = Run(plan(waiting("w", after(9_000)), "a", "b", workflow_timeout=60_000))
    assert run.workflow.wake_time == T0 + 9_000
    run.grant("a", acknowledged=False)
    assert run.workflow.wake_time == T0 + limits.ACKNOWLEDGE_WITHIN, "then somebody judges whether it was delivered"
    run.grant("b")
    run.fail("b")
    assert run.workflow.wake_time == T0 + 1_000


def test_without_anything_due_there_is_no_wake_time() -> None:
    assert Run(plan("a")).workflow.wake_time is None
    assert Run(plan(waiting("w", on_signal("go")))).workflow.wake_time is None


def test_a_chain_of_quick_steps_writes_no_index() -> None:
    run = Run(chain(40))
    written = set()
    for number in range(40):
        run.grant(f"s{number}", acknowledged=False)
        written.add(run.workflow.wake_time)
        run.now += 100
        run.complete(f"s{number}")
    assert written == {T0 + limits.ACKNOWLEDGE_WITHIN}, "early is allowed, late is not"
    assert (run.is_(), run.workflow.wake_time) == (W.COMPLETED, None)


def test_a_wake_time_that_has_passed_is_set_anew() -> None:
    run = Run(plan("a", "b: a"))
    run.grant("a", acknowledged=False)
    run.now += limits.ACKNOWLEDGE_WITHIN
    run.acknowledge("a")
    assert run.workflow.wake_time == T0 + limits.ATTEMPT_TIMEOUT
    run.complete("a")
    assert run.workflow.wake_time == T0 + limits.ATTEMPT_TIMEOUT, "early, and ahead: kept"
    run.grant("b")
    assert run.workflow.wake_time == T0 + limits.ATTEMPT_TIMEOUT


def test_a_wake_time_that_is_too_late_falls() -> None:
    run = Run(plan("a", "b"))
    run.grant("a")
    assert run.workflow.wake_time == T0 + limits.ATTEMPT_TIMEOUT
    run.grant("b")
    run.wait("b", after(limits.ATTEMPT_TIMEOUT - 1))
    assert run.workflow.wake_time == T0 + limits.ATTEMPT_TIMEOUT - 1, "by a millisecond"


def test_when_an_early_wake_time_passes_a_touch_corrects_it() -> None:
    run = Run(plan("a"))
    run.grant("a", acknowledged=False)
    run.complete("a")
    run = Run(plan("a", "b"))
    run.grant("a", acknowledged=False)
    run.complete("a")
    assert run.workflow.wake_time == T0 + limits.ACKNOWLEDGE_WITHIN, "nothing is due then: early"
    run.now += limits.ACKNOWLEDGE_WITHIN
    run.do(lambda draft: draft.touch())
    assert run.workflow.wake_time is None


def test_next_wake_is_exact() -> None:
    run = Run(plan("a", "b: a"))
    run.grant("a", acknowledged=False)
    run.complete("a")
    assert (run.workflow.wake_time, next_wake(run.workflow)) == (T0 + limits.ACKNOWLEDGE_WITHIN, None)


def test_ready_names_the_queues_with_work() -> None:
    definition = plan(activity("a", queue="gpu"), "b", "c: a b")
    run = Run(definition)
    prefix = definition.fingerprint[:16]
    assert ready(run) == [f"default/default/note/{prefix}/b", f"default/gpu/note/{prefix}/a"]
    run.grant("a")
    assert ready(run) == [f"default/default/note/{prefix}/b"]
    run.grant("b")
    assert ready(run) == []


def test_a_start_may_choose_queues() -> None:
    definition = plan(activity("a", queue="gpu"), "b", "c")
    run = Run(definition, queue="batch", step_queues={"b": "fast"})
    queues = [queue_id(definition, run.workflow, name).split("/")[1] for name in "abc"]
    assert queues == ["batch", "fast", "batch"]
    assert ready(run) == sorted(queue_id(definition, run.workflow, name) for name in "abc")


def test_a_paused_workflow_is_only_counted() -> None:
    run = Run(plan("a", "b"))
    run.grant("a")
    before = ready(run)
    run.pause()
    assert ready(run) == ["S//default/note"], "as one that waits for a person, however many of its steps are ready"
    run.fail("a")
    assert ready(run) == ["S//default/note"]
    run.resume()
    assert ready(run) == before
    run.pause()
    run.cancel()
    assert ready(run) == []


def test_sessions_names_who_holds_claims() -> None:
    run = Run(plan("a", "b", "c"))
    run.grant("a", "worker-2")
    run.grant("b", "worker-1")
    run.grant("c", "worker-2")
    assert sessions(run) == ["worker-1", "worker-2"]
    run.complete("a")
    assert sessions(run) == ["worker-1", "worker-2"]
    run.complete("c")
    assert sessions(run) == ["worker-1"]
    run.cancel()
    assert sessions(run) == ["worker-1"], "a cancelling claim is held"


def test_an_eager_chain_in_one_session_touches_neither_ready_nor_sessions() -> None:
    run = Run(chain(3))
    run.grant("s0")
    before = run.workflow
    draft = Draft(run.definition, run.workflow, run.now)
    report(draft, Report("s0", run.claim("s0").nonce, Completed(), b"d"))
    grant(draft, "s1", Ticket("1" * 28, "1" * 16, "worker-1", 1, acknowledged=True))
    sealed = seal(run.definition, before, draft.finish(), run.now)
    assert sealed.sessions is before.sessions, "the same object: the store does not write it"
    assert sealed.ready is before.ready
    assert sealed.wake_time is before.wake_time
    assert sealed.revision == before.revision + 1


def test_payload_bytes_inside_the_document_are_counted() -> None:
    run = Run(plan("a", "b: a"), input="12345678")
    assert run.workflow.inline_bytes == 10, "the JSON with its quotes"
    run.signal("go", value="1234")
    assert run.workflow.inline_bytes == 16
    run.grant("a")
    run.checkpoint("a", 1, "123")
    assert run.workflow.inline_bytes == 21
    run.fail("a", details=payload("12"))
    assert run.workflow.inline_bytes == 29, "once as the failure, once among the errors"
    run.pass_time(2_000)
    run.grant("a")
    run.complete("a", "1")
    assert run.workflow.inline_bytes == 16 + 3 + 4, "the checkpoint and the failure are gone, the error stays"
    run.signal("other", value="12")
    run.cancel()
    assert run.workflow.inline_bytes == 27


def test_an_ended_workflow_has_none_of_them_but_expires() -> None:
    run = Run(plan("a", retention=1_000))
    run.run_through("a")
    workflow = run.workflow
    assert (workflow.wake_time, workflow.ready, workflow.sessions, workflow.expire_time) == (None, (), (), T0 + 1_000)


def test_payloads_are_counted_in_bytes_not_in_characters() -> None:
    assert Payload(json='"' + "é" * 10 + '"').inline_size == 22
    assert Payload(binary=b"\0" * 5).inline_size == 5
