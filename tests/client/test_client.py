"""The client against a whole server on the in-memory store."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from perdure import (
    AlreadyExists,
    CallTimeout,
    Client,
    Conflict,
    Context,
    Definition,
    ErrorReason,
    Failure,
    InvalidRequest,
    NotAllowed,
    NotFound,
    PerdureError,
    Rate,
    StartSignal,
    StepState,
    Unavailable,
    Woken,
    WorkflowCancelled,
    WorkflowFailed,
    WorkflowState,
)
from perdure.config import connection_config
from perdure_server.main import Running


def greeting() -> Definition:
    definition = Definition("greeting")

    @definition.step()
    async def greet(ctx: Context[None], input: str) -> str:
        if input == "bad":
            raise Failure("greeting.bad", "no", non_retryable=True)
        ctx.frame("hello ")
        ctx.frame(input)
        return f"hello {input}"

    definition.wait("approval", after=greet, signal="approve", payload=int)

    @definition.step()
    async def send(ctx: Context[None], greet: str, approval: Woken[int]) -> tuple[str, int]:
        return greet, approval.value or 0

    return definition


@pytest.fixture
async def worked(client: Client) -> AsyncIterator[Client]:
    async with client.worker(greeting()):
        yield client


async def test_a_workflow_from_start_to_result(worked: Client) -> None:
    definition = greeting()
    run = await worked.start(definition, key="k1", input="anna", labels={"tenant": "acme"})
    assert run.created
    seen: list[str] = []
    async for event in run.watch():
        seen.append(str(event))
        if event.waits_for("approve"):
            sent = await run.signal("approve", 5, signal_id="s-1")
            assert not sent.duplicate
    assert seen[-1] == "COMPLETED"
    assert await run.result() == ("hello anna", 5)
    assert await run.result(list[object]) == ["hello anna", 5]
    workflow = await run.get()
    assert (workflow.state, workflow.input(), workflow.output(), workflow.labels) == (
        "COMPLETED",
        "anna",
        ["hello anna", 5],
        {"tenant": "acme"},
    )
    assert {step.name: step.state for step in workflow.steps.values()} == dict.fromkeys(["greet", "approval", "send"], StepState.COMPLETED)
    assert workflow.steps["greet"].output() == "hello anna"
    assert workflow.end_time is not None


async def test_a_repeat_is_the_same_workflow_and_another_input_is_refused(worked: Client) -> None:
    first = await worked.start("greeting", key="k", input="anna")
    second = await worked.start("greeting", key="k", input="anna")
    assert (first.created, second.created) == (True, False)
    assert first.started is not None
    assert second.started is not None
    assert first.started.run_id == second.started.run_id
    with pytest.raises(AlreadyExists) as caught:
        await worked.start("greeting", key="k", input="bert")
    assert caught.value.reason == ErrorReason.START_INPUT_MISMATCH
    with pytest.raises(AlreadyExists):
        await worked.start("greeting", key="k", input="anna", on_open="reject")


async def test_a_signal_may_ride_along_and_counts_once(worked: Client) -> None:
    run = await worked.start(greeting(), key="k", input="anna", signals=[StartSignal("approve", 7, "s-1")])
    assert await run.result() == ("hello anna", 7)
    with pytest.raises(NotAllowed) as caught:
        await run.signal("approve", 8)
    assert caught.value.reason == ErrorReason.WORKFLOW_CLOSED


async def test_failures_and_cancels_are_raised_with_their_words(worked: Client) -> None:
    run = await worked.start("greeting", key="bad", input="bad")
    with pytest.raises(WorkflowFailed) as failed:
        await run.result()
    assert (failed.value.failure.type, failed.value.step, failed.value.reason) == ("greeting.bad", "greet", "FAILED")
    assert "greeting.bad: no" in str(failed.value)
    run = await worked.start("greeting", key="long", input="anna")
    assert await run.cancel("not needed") in {WorkflowState.CANCELLING, WorkflowState.CANCELLED}
    with pytest.raises(WorkflowCancelled, match="not needed"):
        await run.result()


async def test_result_waits_no_longer_than_it_is_told(client: Client) -> None:
    await client.definitions.register(greeting(), activate=True)
    run = await client.start("greeting", key="k", input="anna")
    with pytest.raises(CallTimeout, match="it is RUNNING"):
        await run.result(timeout=timedelta(milliseconds=50))


async def test_what_does_not_exist_is_not_found(client: Client) -> None:
    with pytest.raises(NotFound) as caught:
        await client.get("greeting", "nobody")
    assert (caught.value.reason, caught.value.code) == (ErrorReason.WORKFLOW_NOT_FOUND, "NOT_FOUND")
    with pytest.raises(NotFound) as caught:
        await client.start("nothing", key="k")
    assert caught.value.reason == ErrorReason.DEFINITION_NOT_FOUND
    assert "definitions apply" in caught.value.metadata["command"]
    with pytest.raises(NotFound):
        async for _ in client.run("greeting", "nobody").watch():
            pass


async def test_all_violations_come_at_once(client: Client) -> None:
    await client.definitions.register(greeting(), activate=True)
    with pytest.raises(InvalidRequest) as caught:
        await client.start("greeting", key="x" * 600, input="a", labels={"": "v"}, request_id="r" * 200)
    assert len(caught.value.violations) >= 3
    assert all(violation.field in str(caught.value) for violation in caught.value.violations)


async def test_a_fence_that_moved_on_is_a_conflict(client: Client) -> None:
    await client.definitions.register(greeting(), activate=True)
    run = await client.start("greeting", key="k", input="anna")
    assert run.started is not None
    with pytest.raises(Conflict) as caught:
        await client.run("greeting", "k", expected_fence=run.started.fence + 1).signal("approve")
    assert caught.value.reason == ErrorReason.FENCED


async def test_lists_go_over_pages(client: Client) -> None:
    await client.definitions.register(greeting(), activate=True)
    for number in range(105):
        await client.start("greeting", key=f"k-{number}", input="a", labels={"half": str(number % 2)})
    assert len([workflow async for workflow in client.list("greeting")]) == 105
    odd = [workflow.business_key async for workflow in client.list(labels={"half": "1"}, oldest_first=True)]
    assert len(odd) == 52
    assert [workflow async for workflow in client.list(states=[WorkflowState.COMPLETED])] == []


async def test_a_start_may_be_delayed(client: Client) -> None:
    await client.definitions.register(greeting(), activate=True)
    at = datetime.now(UTC) + timedelta(hours=1)
    run = await client.start("greeting", key="k", input="a", start_at=at)
    next_time = (await run.get()).next_time
    assert next_time is not None
    assert abs(next_time - at) < timedelta(seconds=1)
    with pytest.raises(ValueError, match="time zone"):
        await client.start("greeting", key="l", start_at=datetime(2030, 1, 1))  # noqa: DTZ001 -- that is the fault


async def test_definitions_are_registered_activated_and_read(client: Client) -> None:
    first = await client.definitions.register(greeting())
    assert (first.created, first.active) == (True, False)
    again = await client.definitions.register(greeting(), activate=True)
    assert (again.created, again.active, again.fingerprint) == (False, True, first.fingerprint)
    other = greeting()
    other.version = "2"
    second = await client.definitions.register(other)
    assert second.fingerprint != first.fingerprint
    assert (await client.definitions.activate("greeting", second.fingerprint)).active
    assert (await client.definitions.get("greeting")).version == "2"
    assert len([stored async for stored in client.definitions.list("greeting")]) == 2
    with pytest.raises(NotFound):
        await client.definitions.get("nothing")


async def test_the_server_tells_about_itself(client: Client) -> None:
    info = await client.server_info()
    assert info.server_version
    assert info.limits.stream_result_bytes == 256 * 1024


async def test_without_a_server_the_first_call_gives_up_soon_and_says_what_to_do() -> None:
    async with Client("127.0.0.1:9", connect_timeout=timedelta(seconds=0.3)) as client:
        with pytest.raises(Unavailable, match=r"127\.0\.0\.1:9.*perdure dev"):
            await client.server_info()
        with pytest.raises(Unavailable):
            async for _ in client.run("a", "b").watch():
                pass


def test_the_environment_is_read_in_one_place() -> None:
    config = connection_config(environment={"PERDURE_ADDRESS": "h:1", "PERDURE_NAMESPACE": "n", "PERDURE_TOKEN": "secret"})
    assert (config.address, config.namespace, config.token) == ("h:1", "n", "secret")
    assert "secret" not in repr(config)
    assert connection_config("a:2", environment={"PERDURE_ADDRESS": "h:1"}).address == "a:2"
    assert connection_config(environment={}).address == "127.0.0.1:7463"


async def test_a_call_that_is_cancelled_is_cancelled(client: Client) -> None:
    await client.definitions.register(greeting(), activate=True)
    run = await client.start("greeting", key="k", input="a")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await run.result()


async def test_errors_have_one_root(real: Running) -> None:
    async with Client(f"127.0.0.1:{real.port}") as client:
        for call in (client.get("a", "b"), client.signal("no-token", "go"), client.definitions.get("a")):
            with pytest.raises(PerdureError) as caught:
                await call
            assert caught.value.reason in set(ErrorReason)


async def test_resources_are_put_listed_and_deleted(client: Client) -> None:
    made = await client.resources.put("llm", capacity=5, rate=Rate(10, timedelta(seconds=1)), per_label="tenant", description="calls")
    assert (made.name, made.capacity, made.rate, made.per_label) == ("llm", 5, Rate(10, timedelta(seconds=1), 10), "tenant")
    assert [found async for found in client.resources.list()] == [made]
    with pytest.raises(Conflict):
        await client.resources.put("llm", capacity=6, etag="r1")
    assert (await client.resources.put("llm", etag=made.etag)).rate is None
    await client.resources.delete("llm")
    with pytest.raises(NotFound):
        await client.resources.delete("llm")


async def test_a_worker_that_has_stopped_is_listed_no_more(client: Client) -> None:
    async with client.worker(greeting()):
        assert len([worker async for worker in client.operations.workers()]) == 1
    assert [worker async for worker in client.operations.workers()] == [], "not only when its lease is over"
    run = await client.start(greeting(), key="k", input="anna")
    assert (await run.explain()).phase == "NO_WORKER"
