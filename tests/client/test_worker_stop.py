"""How a worker starts and stops, against a scripted server."""

import asyncio
import threading
import time
from datetime import timedelta

import grpc
import pytest

from perdure import Client, Context, Definition, DefinitionRejected, Unavailable
from tests.client.conftest import ScriptServer
from tests.client.messages import claims, settled, status
from tests.client.probe import Probe
from tests.conftest import Eventually


async def test_a_definition_with_faults_is_raised_at_the_start(scripted: ScriptServer, probe: Probe) -> None:
    server = scripted(definition_status=status(grpc.StatusCode.INVALID_ARGUMENT, "DEFINITION_INVALID", "no good"))
    with pytest.raises(DefinitionRejected, match="no good"):
        async with Client(server.address) as client, client.worker(probe.definition):
            pass


async def test_c30_leaving_the_block_waits_for_what_runs_and_renews_until_the_last_answer(scripted: ScriptServer, probe: Probe) -> None:
    server = scripted(settles=False, renew_interval=0.3, lease=5)
    async with Client(server.address) as client:
        worker = client.worker(probe.definition)
        await worker.__aenter__()
        stream = await server.stream()
        token = await stream.grant("work")
        await probe.until(lambda: bool(probe.begun))
        async with asyncio.TaskGroup() as group:
            leaving = group.create_task(worker.__aexit__(None, None, None))
            await stream.until(lambda stream: stream.drained)
            late = stream.make_claim("other")
            stream.say(claims(late))
            assert (await stream.result(late.claim_token)).HasField("released")
            before = len(stream.renews)
            await stream.until(lambda stream: len(stream.renews) >= before + 2)
            probe.go.set()
            result = await stream.result(token)
            assert not result.want_next
            before = len(stream.renews)
            await stream.until(lambda stream: len(stream.renews) >= before + 2)
            assert not leaving.done()
            for item in list(stream.results):
                stream.say(settled(item.result_id))
    assert stream.half_closed


async def test_a_claim_that_waits_for_a_slot_is_given_back_when_the_slot_becomes_free_by_the_drain(
    scripted: ScriptServer, probe: Probe
) -> None:
    server = scripted(answers_renews=False)
    async with Client(server.address) as client:
        async with client.worker(probe.definition, slots=1):
            stream = await server.stream()
            first = stream.make_claim("work", begin_after_renewed=True)  # it has the slot, and may not begin yet
            second = stream.make_claim("work")
            stream.say(claims(first, second))
            await stream.until(lambda stream: [renew for renew in stream.renews if len(renew.held) == 2])
        assert stream.drained
        given_back = {result.claim_token for result in stream.results if result.HasField("released")}
        assert given_back == {first.claim_token, second.claim_token}
    assert probe.begun == []


async def test_after_the_grace_claims_are_given_back_and_not_reported_as_cancelled(scripted: ScriptServer, probe: Probe) -> None:
    server = scripted()
    async with Client(server.address) as client:
        async with client.worker(probe.definition, grace=timedelta(0)):
            stream = await server.stream()
            token = await stream.grant("work")
            await probe.until(lambda: bool(probe.begun))
        result = await stream.result(token)
        assert result.HasField("released")
        assert not result.released.HasField("checkpoint")
        assert probe.reasons == ["DRAINING"]


async def test_a_thread_that_does_not_stop_is_left_behind(
    scripted: ScriptServer, monkeypatch: pytest.MonkeyPatch, eventually: Eventually
) -> None:
    monkeypatch.setattr("perdure.limits.UNWIND_TIMEOUT", 0.2)
    server = scripted()
    definition = Definition("note")
    stop = threading.Event()
    running = threading.Event()

    @definition.step()
    def deaf(ctx: Context[None]) -> None:
        running.set()
        stop.wait(20)

    async with Client(server.address) as client:
        async with client.worker(definition, grace=timedelta(0)):
            stream = await server.stream()
            token = await stream.grant("deaf")
            await eventually(running.is_set)
        assert (await stream.result(token)).HasField("released")
    stop.set()


async def test_stop_without_a_server_is_bounded(scripted: ScriptServer, probe: Probe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perdure.limits.SETTLE_TIMEOUT", 0.3)
    server = scripted()
    async with Client(server.address) as client:
        async with client.worker(probe.definition):
            stream = await server.stream()
            await stream.grant("work")
            await probe.until(lambda: bool(probe.begun))
            server.stop()
            probe.go.set()
            began = time.monotonic()
        assert time.monotonic() - began < 5


async def test_no_server_at_the_start_says_what_to_do(probe: Probe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perdure.limits.CONNECT_TIMEOUT", 0.5)
    with pytest.raises(Unavailable, match="perdure dev"):
        async with Client("127.0.0.1:9") as client, client.worker(probe.definition):
            pass


async def test_run_ends_with_stop_and_an_error_in_the_block_goes_on(scripted: ScriptServer, probe: Probe) -> None:
    server = scripted()
    async with Client(server.address) as client:
        worker = client.worker(probe.definition)
        async with asyncio.TaskGroup() as group:
            running = group.create_task(worker.run())
            await server.stream()
            worker.stop()
        assert not running.cancelled()
        with pytest.raises(ValueError, match="mine"):
            async with client.worker(probe.definition):
                raise ValueError("mine")


async def test_what_cannot_be_served_is_refused_at_once(probe: Probe) -> None:
    async with Client("127.0.0.1:9") as client:
        with pytest.raises(ValueError, match=r"'wrok' names no step.*note\.work"):
            client.worker(probe.definition, slots={"wrok": 1})
        with pytest.raises(ValueError, match="nothing to run"):
            client.worker(Definition("empty"))
        with pytest.raises(ValueError, match="at least 1 slot"):
            client.worker(probe.definition, slots={"work": 0})
