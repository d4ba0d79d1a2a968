"""What operators do by the client, on a whole server: schedules, batches, namespaces, queues, the audit trail, files, watches of many."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from perdure import (
    AlreadyExists,
    BatchOperation,
    BatchState,
    Client,
    Conflict,
    Context,
    Cron,
    Definition,
    Every,
    ExistingSent,
    Filter,
    NamespaceLimits,
    NotAllowed,
    NotFound,
    PerdureError,
    Run,
    ScheduledStart,
    ScheduleTimes,
    Start,
    StepPolicy,
    WorkflowChanged,
    WorkflowPolicy,
    WorkflowRemoved,
    WorkflowState,
)
from tests.conftest import Eventually

letter = Definition("letter")


@letter.step()
async def write(ctx: Context[None], input: str) -> str:
    return f"dear {input}"


async def test_schedules_are_put_read_rest_fire_and_go(client: Client) -> None:
    await client.definitions.register(letter, activate=True)
    start = ScheduledStart(workflow=letter, key="daily-{fire_time}", input="ann", labels={"tenant": "acme"}, retention=timedelta(days=2))
    triggers: list[Cron | Every] = [Cron("0 3 * * *", "Europe/Berlin"), Every(timedelta(hours=2), phase=timedelta(minutes=5))]
    times = ScheduleTimes(jitter=timedelta(seconds=3), catch_up_window=timedelta(minutes=5))
    made = await client.schedules.put("daily", triggers, start, times=times, overlap="buffer_one", note="letters")
    assert (made.created, list(made.triggers), made.overlap, len(made.next_fire_times)) == (True, triggers, "buffer_one", 10)
    again = await client.schedules.get("daily")
    assert (again.start.key, again.start.labels, again.start.retention) == ("daily-{fire_time}", {"tenant": "acme"}, timedelta(days=2))
    resting = await client.schedules.pause("daily", note="holidays")
    assert (resting.paused, resting.note, list(resting.triggers)) == (True, "holidays", triggers)
    assert not (await client.schedules.resume("daily")).paused
    planned = datetime(2030, 1, 1, tzinfo=UTC)
    fired = await client.schedules.trigger("daily", planned_time=planned)
    assert fired.workflow is not None
    assert (fired.workflow.business_key, fired.problem, fired.planned_time) == ("daily-2030-01-01T00:00:00Z", "", planned)
    assert [found.schedule_id async for found in client.schedules.list(letter)] == ["daily"]
    with pytest.raises(Conflict):
        await client.schedules.put("daily", triggers, start, etag=made.etag)
    await client.schedules.delete("daily")
    with pytest.raises(NotFound):
        await client.schedules.pause("daily")


async def test_a_batch_counts_works_and_is_told(client: Client, eventually: Eventually) -> None:
    await client.definitions.register(letter, activate=True)
    runs = await client.start_many([Start(workflow=letter, key=f"k{number}", input="ann") for number in range(3)])
    assert [run.created for run in runs if isinstance(run, Run)] == [True] * 3
    every = Filter(workflow=letter)
    assert (await client.batches.start(every, BatchOperation.cancel(), validate_only=True)).matched == 3
    batch = await client.batches.start(every, BatchOperation.cancel(), reason="no need")

    async def is_done() -> bool:
        return (await client.batches.get(batch.batch_id)).state is BatchState.COMPLETED

    await eventually(is_done)
    assert ((await client.batches.get(batch.batch_id)).succeeded, batch.operation, batch.reason) == (3, "cancel", "no need")
    assert [found.batch_id async for found in client.batches.list(states=[BatchState.COMPLETED])] == [batch.batch_id]
    counted = await client.count(every, group_by="state")
    assert (counted.count, dict(counted.groups)) == (3, {"CANCELLED": 3})
    redacted = await client.batches.redact(runs[0].ref if isinstance(runs[0], Run) else every, kinds=["INPUT"], reason="asked to")
    assert (redacted.matched, redacted.redacted) == (1, 1)
    purge = await client.batches.purge(every, validate_only=True)
    assert (purge.matched, purge.batch) == (3, None)
    records = [record async for record in client.operations.audit(methods=["StartBatch", "RedactPayloads"])]
    assert [(record.method, record.reason, record.problem) for record in records] == [
        ("RedactPayloads", "asked to", ""),
        ("StartBatch", "no need", ""),
    ]


async def test_of_several_starts_one_may_fail_alone(client: Client) -> None:
    await client.definitions.register(letter, activate=True)
    await client.start(letter, key="taken", input="ann")
    taken, free = await client.start_many(
        [Start(workflow=letter, key="taken", input="bob"), Start(workflow=letter, key="free", input="bob")]
    )
    assert isinstance(taken, AlreadyExists)
    assert not isinstance(free, PerdureError)
    assert free.ref.round == 1


async def test_namespaces_and_their_limits(client: Client) -> None:
    limits = NamespaceLimits(open_workflows=10, starts_per_second=2.5)
    made = await client.namespaces.put("acme", description="a customer", limits=limits, retention=timedelta(days=7))
    assert (made.created, made.limits, made.retention) == (True, limits, timedelta(days=7))
    assert (await client.namespaces.get("acme")).description == "a customer"
    assert "acme" in [found.name async for found in client.namespaces.list()]
    with pytest.raises(NotFound):
        await client.namespaces.get("nobody")


async def test_definitions_are_counted_changed_and_deleted(client: Client) -> None:
    first = await client.definitions.register(letter, activate=True)
    await client.start(letter, key="k", input="ann")
    assert (await client.definitions.count_open("letter")).count == 1
    policy = WorkflowPolicy(retention=timedelta(days=3))
    changed = await client.definitions.update_policy("letter", policy=policy, steps={"write": StepPolicy(priority=9)}, reason="soon")
    assert changed.policy_revision > first.policy_revision
    assert changed.message.definition.steps[0].policy.priority == 9
    with pytest.raises(NotAllowed):
        await client.definitions.delete("letter", first.fingerprint)
    with pytest.raises(NotFound):
        await client.definitions.delete("letter", first.fingerprint[::-1])


async def test_queues_workers_and_past_claims(client: Client, eventually: Eventually) -> None:
    await client.definitions.register(letter, activate=True)
    run = await client.start(letter, key="k", input="ann")

    async def waits() -> bool:
        found = [queue async for queue in client.operations.queues(workflow_type="letter")]
        return [(queue.step, queue.ready, queue.workers) for queue in found] == [("write", 1, 0)]

    await eventually(waits)
    async with client.worker(letter, worker_id="w-1"):
        assert await run.result(str) == "dear ann"
        assert [session.worker_id async for session in client.operations.workers(workflow_type="letter")] == ["w-1"]
    attempts = [attempt async for attempt in run.attempts("write")]
    assert [(attempt.outcome, attempt.claim_no, attempt.charged) for attempt in attempts] == [("COMPLETED", 1, True)]
    again = await client.start(letter, key="k", input="bob", on_closed="new_round")
    assert [found.round async for found in again.rounds()] == [2, 1]
    assert (await again.explain()).steps[0].blockers[0].kind == "queue"


async def test_a_handle_from_the_start_deletes_the_key_with_all_rounds(client: Client) -> None:
    await client.definitions.register(letter, activate=True)
    first = await client.start(letter, key="k", input="ann")
    await first.terminate()
    second = await client.start(letter, key="k", input="bob", on_closed="new_round")
    await second.terminate()
    await second.delete()
    with pytest.raises(NotFound):
        await client.run(letter, "k").get()
    assert (await client.start(letter, key="k", input="eve", on_closed="new_round")).created


async def test_a_workflow_travels_as_a_file(client: Client) -> None:
    await client.definitions.register(letter, activate=True)
    run = await client.start(letter, key="k", input="a secret")
    whole = b"".join([piece async for piece in run.export()])
    bare = b"".join([piece async for piece in run.export(with_payloads=False)])
    assert b"a secret" in whole
    assert b"a secret" not in bare
    assert b'"payloads":false' in bare.splitlines()[0]
    copy = await client.import_workflow(whole, key="copy")
    assert (copy.business_key, copy.state, copy.phase) == ("copy", WorkflowState.RUNNING, "PAUSED")
    with pytest.raises(NotFound):
        _ = [piece async for piece in client.run(letter, "nobody").export()]


async def test_a_watch_of_many_tells_what_comes_and_goes(client: Client) -> None:
    await client.definitions.register(letter, activate=True)
    await client.start(letter, key="k0", input="ann", labels={"tenant": "acme"})
    watching = client.watch_many(Filter(labels={"tenant": "acme"}, states=[WorkflowState.RUNNING]))
    async with asyncio.timeout(10):
        first = await anext(watching)
        assert isinstance(first, WorkflowChanged)
        assert first.workflow.business_key == "k0"
        sent = await anext(watching)
        assert isinstance(sent, ExistingSent)
        assert sent.count == 1
        await client.run(letter, "k0").cancel()
        gone = await anext(watching)
        while not isinstance(gone, WorkflowRemoved):
            gone = await anext(watching)
        assert gone.ref.business_key == "k0"
    await watching.aclose()
