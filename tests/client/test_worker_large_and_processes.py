"""Large values by unary calls, and activities in processes of their own, against a scripted server."""

import asyncio
import json
import os
from datetime import timedelta

import grpc
import pytest

from perdure import ClaimLost, Client, Context, Definition, PerdureError, Woken
from perdure.v1 import payload_pb2
from perdure.waits import WAIT_RESULT_TYPE
from tests.client import process_steps
from tests.client.conftest import ScriptServer
from tests.client.messages import claims, lost, settled, status


def one_step(function: object, **options: object) -> Definition:
    definition = Definition("note")
    definition.step(name="work", **options)(function)  # type: ignore[arg-type]  # made up per test
    return definition


async def test_values_stored_apart_are_fetched_before_the_activity_begins(scripted: ScriptServer) -> None:
    server = scripted()

    async def work(ctx: Context[str], input: str) -> int:
        return len(input) + len(ctx.checkpoint or "")

    server.payloads |= {"big": payload_pb2.Payload(json=f'"{"x" * 1000}"'), "small": payload_pb2.Payload(json='"yy"')}
    async with Client(server.address) as client, client.worker(one_step(work)):
        stream = await server.stream()
        claim = stream.make_claim("work")
        claim.inputs["input"].ref.payload_id = "big"
        claim.checkpoint.ref.payload_id = "small"
        stream.say(claims(claim))
        assert (await stream.result(claim.claim_token)).completed.output.json == "1002"


async def test_large_results_and_checkpoints_go_by_unary_calls(scripted: ScriptServer) -> None:
    server = scripted()

    async def work(ctx: Context[str]) -> str:
        await ctx.save("c" * 300_000)
        return "r" * 300_000

    async with Client(server.address) as client, client.worker(one_step(work)):
        stream = await server.stream()
        token = await stream.grant("work")
        await stream.until(lambda _: server.completes)
        # The slot is free again, by a credit of its own.
        await stream.until(lambda stream: stream.credit["note"] == 100)
    assert server.completes[0].claim_token == token
    assert len(server.completes[0].completed.output.json) == 300_002
    assert not server.completes[0].want_next
    assert len(server.unary_heartbeats[0].checkpoint.json) == 300_002
    assert stream.results == []


async def test_a_result_that_is_larger_than_any_message_fails_the_attempt(scripted: ScriptServer) -> None:
    server = scripted()

    async def work(ctx: Context[None]) -> str:
        return "r" * 5_000_000  # this server is gRPC's own: it takes 4 MiB

    async with Client(server.address) as client, client.worker(one_step(work)):
        stream = await server.stream()
        failed = (await stream.result(await stream.grant("work"))).failed
    assert failed.type == "perdure.result_refused"
    assert "larger than max" in failed.message


async def test_a_thread_that_saves_much_learns_that_its_claim_is_lost(scripted: ScriptServer) -> None:
    server = scripted(stores_large_checkpoints=False)
    caught: list[str] = []
    done = asyncio.Event()
    loop = asyncio.get_running_loop()

    def work(ctx: Context[str]) -> None:
        try:
            ctx.save_blocking("c" * 300_000)
        except ClaimLost as error:
            caught.append(error.cause)
            raise
        finally:
            loop.call_soon_threadsafe(done.set)

    async with Client(server.address) as client, client.worker(one_step(work), grace=timedelta(0)):
        stream = await server.stream()
        token = await stream.grant("work")
        await stream.until(lambda _: server.unary_heartbeats)
        stream.say(lost(token))
        async with asyncio.timeout(10):
            await done.wait()
    assert caught == ["EXPIRED"]


async def test_a_thread_that_saves_much_is_not_left_waiting_when_the_worker_stops(
    scripted: ScriptServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perdure.limits.UNWIND_TIMEOUT", 0.2)
    server = scripted(stores_large_checkpoints=False)
    caught: list[str] = []
    done = asyncio.Event()
    loop = asyncio.get_running_loop()

    def work(ctx: Context[str]) -> None:
        try:
            ctx.save_blocking("c" * 300_000)
        except ClaimLost as error:
            caught.append(error.cause)
        finally:
            loop.call_soon_threadsafe(done.set)

    async with Client(server.address) as client:
        async with client.worker(one_step(work), grace=timedelta(0)):
            stream = await server.stream()
            await stream.grant("work")
            await stream.until(lambda _: server.unary_heartbeats)
        async with asyncio.timeout(10):
            await done.wait()
    assert caught == ["UNKNOWN"]


async def test_a_result_that_the_server_does_not_take_fails_the_attempt_with_its_words(scripted: ScriptServer) -> None:
    server = scripted(settles=False)

    async def work(ctx: Context[None]) -> str:
        return "too much"

    async with Client(server.address) as client, client.worker(one_step(work)):
        stream = await server.stream()
        token = await stream.grant("work")
        first = await stream.result(token)
        stream.say(settled(first.result_id, status(grpc.StatusCode.INVALID_ARGUMENT, "PAYLOAD_TOO_LARGE", "output is over 2 MiB")))
        second = await stream.until(lambda stream: stream.results[1:])
        assert second[0].failed.type == "perdure.result_refused"
        assert "over 2 MiB" in second[0].failed.message
        stream.say(settled(second[0].result_id))


async def test_process_activities_run_in_a_spawned_process_with_checkpoints_and_frames(scripted: ScriptServer) -> None:
    server = scripted()
    async with Client(server.address) as client, client.worker(process_steps.definition, slots=2):
        stream = await server.stream()
        first = await stream.result(await stream.grant("measure", inputs={"input": "20"}))
        second = await stream.result(await stream.grant("measure", inputs={"input": "5"}))
        process, total = json.loads(first.completed.output.json)
        assert (process != os.getpid(), total) == (True, 190)
        assert json.loads(second.completed.output.json)[0] == process  # kept for the next one
        assert first.last_frame_seq == 1
        assert [heartbeat.checkpoint.json for heartbeat in stream.heartbeats if heartbeat.HasField("checkpoint")] == ['"half"', '"half"']
        failed = (await stream.result(await stream.grant("fails"))).failed
        assert (failed.type, failed.message) == ("ValueError", "as planned")


async def test_c64_a_process_that_dies_fails_only_its_own_attempt(scripted: ScriptServer) -> None:
    server = scripted()
    async with Client(server.address) as client, client.worker(process_steps.definition):
        stream = await server.stream()
        failed = (await stream.result(await stream.grant("dies"))).failed
        assert failed.type == "perdure.process_died"
        assert "137" in failed.message
        assert (await stream.result(await stream.grant("measure", inputs={"input": "3"}))).HasField("completed")


async def test_large_signals_inside_the_output_of_a_wait_are_fetched(scripted: ScriptServer) -> None:
    server = scripted()
    definition = Definition("note")
    definition.wait("choice", signal="choose", payload=str)

    @definition.step(name="work")
    async def work(ctx: Context[None], choice: Woken[str]) -> int:
        return len(choice.value or "")

    server.payloads["big"] = payload_pb2.Payload(json=f'"{"x" * 1000}"')
    wake = '{"condition":"choose","signalId":"c","payload":{"ref":{"payloadId":"big","sizeBytes":"1002"}},"signalName":"choose"}'
    async with Client(server.address) as client, client.worker(definition):
        stream = await server.stream()
        claim = stream.make_claim("work", inputs={"choice": f'{{"condition":"choose","wakes":[{wake}]}}'})
        claim.inputs["choice"].content_type = WAIT_RESULT_TYPE
        stream.say(claims(claim))
        assert (await stream.result(claim.claim_token)).completed.output.json == "1000"


async def test_c64_a_forked_child_is_told_that_its_channel_is_of_no_use(scripted: ScriptServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server = scripted()
    async with Client(server.address) as client, client.worker(process_steps.definition):
        await server.stream()
        with pytest.raises(PerdureError):
            await client.get("note", "k")  # opens the channel; the scripted server does not know the call
        monkeypatch.setattr("os.getpid", lambda: 1)
        with pytest.raises(RuntimeError, match="fork"):
            await client.get("note", "k")
        monkeypatch.undo()
