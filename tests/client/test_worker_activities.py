"""Activities of a worker against a scripted server: what they get, what they can do, what is reported."""

import asyncio
import contextvars
import json
import threading
from dataclasses import dataclass
from datetime import timedelta

import pytest

from perdure import ClaimLost, Client, Context, Definition, Failure, Payload, Retry, Wait, Woken
from perdure.v1 import worker_service_pb2
from tests.client.conftest import ScriptServer
from tests.client.messages import CLAIM_LOST, answered, claims
from tests.client.scripted import ScriptedServer

request_id: contextvars.ContextVar[str] = contextvars.ContextVar("request_id", default="")


@dataclass
class Audio:
    url: str
    size: int = 0


def one_step(function: object, **options: object) -> Definition:
    definition = Definition("note")
    definition.step(name="work", **options)(function)  # type: ignore[arg-type]  # made up per test
    return definition


async def run_once(server: ScriptedServer, definition: Definition, **fields: object) -> worker_service_pb2.Result:
    """Grants `work` once and gives what the worker reported."""
    async with Client(server.address) as client, client.worker(definition, worker_id="w"):
        stream = await server.stream()
        return await stream.result(await stream.grant("work", **fields))


async def test_an_async_activity_gets_typed_inputs_and_its_output_is_reported(scripted: ScriptServer) -> None:
    seen: list[tuple[Audio, list[object]]] = []

    async def work(ctx: Context[None], input: Audio) -> dict[str, int]:
        seen.append((input, [ctx.attempt, ctx.fence, ctx.idempotency_key, ctx.business_key, ctx.labels, ctx.traceparent]))
        return {"big": 2**63 + 1}

    traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    fields = {"inputs": {"input": '{"url":"s3://a","size":9007199254740993}'}, "labels": {"tenant": "acme"}, "traceparent": traceparent}
    result = await run_once(scripted(), one_step(work), **fields)
    assert result.completed.output.json == '{"big":9223372036854775809}'
    audio, facts = seen[0]
    assert audio == Audio("s3://a", 9007199254740993)
    assert facts == [1, 7, "idempotency-work", "key-1", {"tenant": "acme"}, traceparent]


async def test_a_plain_function_runs_in_a_thread_with_the_context_variables_of_the_worker(scripted: ScriptServer) -> None:
    def work(ctx: Context[None], input: int) -> list[object]:
        return [threading.current_thread().name.startswith("perdure-activity"), request_id.get(), input + 1]

    request_id.set("r-1")
    result = await run_once(scripted(), one_step(work), inputs={"input": "41"})
    assert json.loads(result.completed.output.json) == [True, "r-1", 42]


async def test_no_output_is_no_value_and_bytes_travel_as_they_are(scripted: ScriptServer) -> None:
    async def nothing(ctx: Context[None]) -> None:
        return None

    async def binary(ctx: Context[None]) -> bytes:
        return b"\x00\xff"

    assert not (await run_once(scripted(), one_step(nothing))).completed.HasField("output")
    assert (await run_once(scripted(), one_step(binary))).completed.output.binary == b"\x00\xff"


async def test_frames_are_numbered_from_1_and_all_sent_before_the_result(scripted: ScriptServer) -> None:
    server = scripted()

    async def work(ctx: Context[None]) -> str:
        text = "".join([await ctx.frame(str(number)) for number in range(250)])
        ctx.progress(3, 10, unit="pages")
        ctx.log("done")
        return text

    result = await run_once(server, one_step(work))
    stream = await server.stream()
    frames = [frame for heartbeat in stream.heartbeats for frame in heartbeat.frames]
    assert [frame.seq for frame in frames] == list(range(1, 253))
    assert result.last_frame_seq == 252
    assert max(len(heartbeat.frames) for heartbeat in stream.heartbeats) == 100
    kinds = [message.WhichOneof("message") for message in stream.messages]
    assert kinds.index("results") > kinds.index("heartbeats")
    assert json.loads(frames[250].payload.json) == {"done": 3, "total": 10, "unit": "pages"}


async def test_a_frame_over_its_limit_is_refused_where_it_is_sent(scripted: ScriptServer) -> None:
    async def work(ctx: Context[None]) -> str:
        with pytest.raises(ValueError, match="65536"):
            ctx.frame("x" * 70_000)
        return "ok"

    assert (await run_once(scripted(), one_step(work))).completed.output.json == '"ok"'


async def test_save_returns_when_the_checkpoint_is_stored(scripted: ScriptServer) -> None:
    server = scripted(answers_heartbeats=False)
    steps: list[str] = []

    async def work(ctx: Context[str]) -> str:
        assert ctx.checkpoint == "task-0"
        saved = await ctx.save("task-1")
        steps.append("stored")
        return saved + str(ctx.checkpoint)

    async with Client(server.address) as client, client.worker(one_step(work)):
        stream = await server.stream()
        claim = stream.make_claim("work", checkpoint_no=4)
        claim.checkpoint.json = '"task-0"'
        stream.say(claims(claim))
        heartbeat = await stream.until(lambda stream: next(iter(stream.heartbeats), None))
        assert (heartbeat.checkpoint.json, heartbeat.checkpoint_no, steps) == ('"task-1"', 5, [])
        stream.say(answered(heartbeat.heartbeat_id))
        result = await stream.result(claim.claim_token)
        assert result.completed.output.json == '"task-1task-1"'


@pytest.mark.parametrize("blocking", [False, True])
async def test_save_raises_claim_lost_and_nothing_is_reported(
    scripted: ScriptServer, blocking: bool, caplog: pytest.LogCaptureFixture
) -> None:
    server = scripted(answers_heartbeats=False)
    caught: list[str] = []
    done = asyncio.Event()
    loop = asyncio.get_running_loop()

    async def later(ctx: Context[int]) -> None:
        try:
            await ctx.save(1)
        except ClaimLost as error:
            caught.append(error.cause)
            raise
        finally:
            done.set()

    def at_once(ctx: Context[int]) -> None:
        try:
            ctx.save_blocking(1)
        except ClaimLost as error:
            caught.append(error.cause)
            raise
        finally:
            loop.call_soon_threadsafe(done.set)

    async with Client(server.address) as client, client.worker(one_step(at_once if blocking else later)):
        stream = await server.stream()
        await stream.grant("work")
        heartbeat = await stream.until(lambda stream: next(iter(stream.heartbeats), None))
        stream.say(answered(heartbeat.heartbeat_id, CLAIM_LOST))
        async with asyncio.timeout(10):
            await done.wait()
    assert caught == ["EXPIRED"]
    assert stream.results == []
    assert "is lost (EXPIRED)" in caplog.text
    assert "raised" not in caplog.text


async def test_save_blocking_on_the_loop_is_an_error_not_a_deadlock(scripted: ScriptServer) -> None:
    async def work(ctx: Context[int]) -> None:
        ctx.save_blocking(1)

    result = await run_once(scripted(), one_step(work))
    assert result.failed.type == "RuntimeError"
    assert "await ctx.save" in result.failed.message


async def test_a_wait_keeps_the_checkpoint_unless_another_is_given(scripted: ScriptServer) -> None:
    server = scripted()

    async def keeps(ctx: Context[str]) -> Wait:
        return Wait.any(signal="asr.done", after=timedelta(seconds=30))

    async def replaces(ctx: Context[str]) -> Wait:
        return Wait.any(after=timedelta(seconds=1), checkpoint="new")

    async def clears(ctx: Context[str]) -> Wait:
        return Wait.any(after=timedelta(seconds=1), checkpoint=None)

    kept = (await run_once(server, one_step(keeps))).waiting
    assert not kept.HasField("checkpoint")
    assert [condition.WhichOneof("kind") for condition in kept.wait.any_of] == ["signal", "after"]
    replaced = (await run_once(scripted(), one_step(replaces))).waiting
    assert (replaced.checkpoint.json, replaced.checkpoint_no) == ('"new"', 1)
    cleared = (await run_once(scripted(), one_step(clears))).waiting
    assert cleared.HasField("checkpoint")
    assert cleared.checkpoint.WhichOneof("data") is None


async def test_what_woke_a_step_is_decoded(scripted: ScriptServer) -> None:
    server = scripted()

    async def work(ctx: Context[None]) -> list[object]:
        woken = ctx.woken(int)
        assert woken is not None
        return [woken.condition, woken.value, woken.timed_out]

    async with Client(server.address) as client, client.worker(one_step(work)):
        stream = await server.stream()
        claim = stream.make_claim("work")
        claim.wakes.add(condition="go", signal_id="s-1", signal_name="go").payload.json = "7"
        stream.say(claims(claim))
        result = await stream.result(claim.claim_token)
    assert json.loads(result.completed.output.json) == ["go", 7, False]


async def test_the_output_of_a_wait_step_comes_as_woken(scripted: ScriptServer) -> None:
    server = scripted()
    definition = Definition("note")
    definition.wait("choice", signal="choose", payload=int)

    @definition.step(name="work")
    async def work(ctx: Context[None], choice: Woken[int]) -> list[object]:
        return [choice.value, choice.condition, choice.timed_out]

    wait_result = '{"condition":"choose","wakes":[{"condition":"choose","signalId":"c","payload":{"json":"3"},"signalName":"choose"}]}'
    timer = '{"condition":"after","wakes":[{"condition":"after","wakeTime":"2030-01-01T00:00:00Z"}]}'
    async with Client(server.address) as client, client.worker(definition):
        stream = await server.stream()
        first = await stream.result(await stream.grant("work", inputs={"choice": wait_result}))
        second = await stream.result(await stream.grant("work", inputs={"choice": timer}))
    assert json.loads(first.completed.output.json) == [3, "choose", False]
    assert json.loads(second.completed.output.json) == [None, "after", True]


async def test_failures_carry_the_author_s_type_and_the_stack(scripted: ScriptServer) -> None:
    async def own(ctx: Context[None]) -> None:
        raise Failure("asr.quota", "no minutes left", details={"left": 0}, non_retryable=True, retry_after=timedelta(minutes=5))

    async def other(ctx: Context[None]) -> None:
        raise ValueError("é" * 5000)

    async def exits(ctx: Context[None]) -> None:
        raise SystemExit(3)

    failed = (await run_once(scripted(), one_step(own))).failed
    assert (failed.type, failed.message, failed.non_retryable, failed.retry_after.seconds) == ("asr.quota", "no minutes left", True, 300)
    assert json.loads(failed.details.json)["details"] == {"left": 0}
    failed = (await run_once(scripted(), one_step(other))).failed
    assert failed.type == "ValueError"
    assert len(failed.message.encode()) == 4096
    assert "in other" in json.loads(failed.details.json)["stack"]
    assert (await run_once(scripted(), one_step(exits))).failed.type == "SystemExit"


async def test_an_input_of_another_type_fails_the_attempt_and_says_which(scripted: ScriptServer) -> None:
    async def work(ctx: Context[None], input: Audio) -> None:
        raise AssertionError("must not run")

    failed = (await run_once(scripted(), one_step(work), inputs={"input": '{"url":5}'})).failed
    assert failed.type == "perdure.errors.PayloadRejected"
    assert "input input" in failed.message
    assert "$.url" in failed.message


async def test_a_signal_of_another_type_fails_the_attempt_and_says_which(scripted: ScriptServer) -> None:
    server = scripted()
    definition = Definition("note")
    definition.wait("choice", signal="choose", payload=int)

    @definition.step(name="work")
    async def work(ctx: Context[None], choice: Woken[int]) -> None:
        raise AssertionError("must not run")

    wrong = '{"condition":"choose","wakes":[{"condition":"choose","payload":{"json":"true"},"signalName":"choose"}]}'
    async with Client(server.address) as client, client.worker(definition):
        stream = await server.stream()
        failed = (await stream.result(await stream.grant("work", inputs={"choice": wrong}))).failed
    assert failed.message.startswith("input choice, what a signal carried: not a int")


async def test_an_output_that_cannot_travel_fails_the_attempt(scripted: ScriptServer) -> None:
    async def work(ctx: Context[None]) -> dict[str, list[float]]:
        return {"scores": [1.0, float("nan")]}

    failed = (await run_once(scripted(), one_step(work))).failed
    assert "NaN" in failed.message
    assert "scores[1]" in failed.message


async def test_a_failed_dependency_comes_as_a_failure_where_it_is_annotated(scripted: ScriptServer) -> None:
    server = scripted()
    definition = Definition("note")

    @definition.step(on_exhausted="continue", retry=Retry(max_attempts=1))
    async def fetch(ctx: Context[None]) -> str:
        return ""

    @definition.step(name="work")
    async def work(ctx: Context[None], fetch: str | Failure) -> str:
        return f"without: {fetch.type}" if isinstance(fetch, Failure) else fetch

    async with Client(server.address) as client, client.worker(definition):
        stream = await server.stream()
        claim = stream.make_claim("work")
        claim.failed_inputs["fetch"].type = "http.gone"
        stream.say(claims(claim))
        assert (await stream.result(claim.claim_token)).completed.output.json == '"without: http.gone"'
        assert (await stream.result(await stream.grant("work", inputs={"fetch": '"page"'}))).completed.output.json == '"page"'


async def test_raw_payloads_pass_through_untouched(scripted: ScriptServer) -> None:
    async def work(ctx: Context[None], input: Payload) -> Payload:
        return Payload(binary=(input.json or "").encode(), encoding="rot13", digest="d", metadata={"key": b"1"})

    output = (await run_once(scripted(), one_step(work), inputs={"input": '{"a": 1.0}'})).completed.output
    assert (output.binary, output.encoding, output.digest, dict(output.metadata)) == (b'{"a": 1.0}', "rot13", "d", {"key": b"1"})
