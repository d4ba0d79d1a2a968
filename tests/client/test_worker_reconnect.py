"""Streams that break, hang, or are asked to leave, against a scripted server."""

import time

import grpc
import pytest

from perdure import Client, Context, Definition, Unavailable
from perdure.v1 import errors_pb2, worker_service_pb2
from tests.client.conftest import ScriptServer
from tests.client.messages import claims, settled, status
from tests.client.probe import Probe


@pytest.mark.parametrize("how", ["ended well", "cut"])
async def test_c57_a_cut_stream_is_opened_again_and_claims_go_on(scripted: ScriptServer, probe: Probe, how: str) -> None:
    server = scripted()
    async with Client(server.address) as client, client.worker(probe.definition):
        stream = await server.stream()
        token = await stream.grant("work")
        await probe.until(lambda: bool(probe.begun))
        if how == "ended well":
            stream.end()
        else:
            server.stop()
            server.start(server.port)
        second = await server.stream(2)
        assert (second.hello.session_id, second.hello.session_secret) == ("session-1", "secret")
        assert list(second.hello.held_claim_tokens) == [token]
        probe.go.set()
        result = await second.result(token)
        assert not result.want_next  # a claim of another stream: its slot is plain credit
        await second.until(lambda stream: stream.credit["note"] == 100)
        assert len(probe.begun) == 1


async def test_c34_an_unanswered_result_is_said_again_the_same(scripted: ScriptServer, probe: Probe) -> None:
    server = scripted(settles=False)
    async with Client(server.address) as client, client.worker(probe.definition):
        stream = await server.stream()
        token = await stream.grant("other")
        first = await stream.result(token)
        stream.end()
        second = await server.stream(2)
        assert list(second.hello.held_claim_tokens) == [token]
        again = await second.result(token)
        assert again.completed == first.completed
        second.say(settled(again.result_id))


async def test_a_busy_store_has_the_result_said_again(scripted: ScriptServer, probe: Probe) -> None:
    server = scripted(settles=False)
    async with Client(server.address) as client, client.worker(probe.definition):
        stream = await server.stream()
        first = await stream.result(await stream.grant("other"))
        stream.say(settled(first.result_id, status(grpc.StatusCode.UNAVAILABLE, "STORE_UNAVAILABLE")))
        results = await stream.until(lambda stream: stream.results[1:])
        assert results[0].claim_token == first.claim_token
        assert not results[0].want_next
        stream.say(settled(results[0].result_id))


async def test_unanswered_checkpoints_and_frames_are_said_again_in_order(scripted: ScriptServer) -> None:
    server = scripted(answers_heartbeats=False)
    definition = Definition("note")

    @definition.step()
    async def work(ctx: Context[int]) -> None:
        ctx.frame("a")
        ctx.frame("b")
        await ctx.save(1)

    async with Client(server.address) as client, client.worker(definition):
        stream = await server.stream()
        token = await stream.grant("work")
        await stream.until(lambda stream: any(item.HasField("checkpoint") for item in stream.heartbeats))
        server.script.answers_heartbeats = True
        stream.end()
        second = await server.stream(2)
        await second.result(token)
        frames = [frame.seq for item in second.heartbeats for frame in item.frames]
        assert frames == [1, 2]
        assert [item.checkpoint_no for item in second.heartbeats if item.HasField("checkpoint")] == [1]


async def test_c57_a_stream_that_answers_no_renewal_is_given_up(scripted: ScriptServer, probe: Probe) -> None:
    server = scripted(lease=30, renew_interval=0.3, answers_renews=False)
    async with Client(server.address) as client, client.worker(probe.definition):
        first = await server.stream()
        began = time.monotonic()
        second = await server.stream(2)
        assert time.monotonic() - began < 10, "long before the lease ends"
        assert second.hello.session_id == "session-1"
        await first.until(lambda stream: stream.ended)


async def test_c57_a_handshake_without_an_answer_is_bounded(scripted: ScriptServer, probe: Probe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perdure.limits.HANDSHAKE_TIMEOUT", 0.3)
    server = scripted(welcomes=False)
    monkeypatch.setattr("perdure.limits.CONNECT_TIMEOUT", 2.0)
    with pytest.raises(Unavailable, match="perdure dev"):
        async with Client(server.address) as client, client.worker(probe.definition):
            pass
    assert server.dials >= 2


async def test_a_dead_session_is_replaced_and_adopts_nothing(scripted: ScriptServer, probe: Probe) -> None:
    server = scripted(resumes=False)
    async with Client(server.address) as client, client.worker(probe.definition):
        stream = await server.stream()
        await stream.grant("work")
        await probe.until(lambda: bool(probe.begun))
        stream.end()
        second = await server.stream(2)
        assert second.hello.session_id == "session-1"
        await probe.until(lambda: bool(probe.ended))
        assert probe.reasons == ["CLAIM_LOST"]
        await second.until(lambda stream: stream.credit["note"] == 100)
        assert second.results == []


async def test_a_session_that_is_lost_by_a_renewal_begins_anew(scripted: ScriptServer, probe: Probe) -> None:
    server = scripted(answers_renews=False, renew_interval=0.3, lease=5)
    async with Client(server.address) as client, client.worker(probe.definition):
        stream = await server.stream()
        await stream.grant("work")
        await probe.until(lambda: bool(probe.begun))
        problem = status(grpc.StatusCode.FAILED_PRECONDITION, "SESSION_LOST")
        server.script.answers_renews = True
        stream.say(worker_service_pb2.ClaimResponse(renewed=worker_service_pb2.Renewed(renew_id=1, status=problem)))
        second = await server.stream(2)
        assert (second.hello.session_id, list(second.hello.held_claim_tokens)) == ("", [])
        await probe.until(lambda: bool(probe.ended))


async def test_go_away_moves_to_a_new_stream_while_the_old_one_still_serves(scripted: ScriptServer, probe: Probe) -> None:
    server = scripted()
    async with Client(server.address) as client, client.worker(probe.definition):
        stream = await server.stream()
        token = await stream.grant("work")
        await probe.until(lambda: bool(probe.begun))
        go_away = worker_service_pb2.GoAway(reason=errors_pb2.ERROR_REASON_DRAINING)
        stream.say(worker_service_pb2.ClaimResponse(go_away=go_away))
        second = await server.stream(2)
        await stream.until(lambda stream: stream.ended)
        probe.go.set()
        await second.result(token)


async def test_claims_of_a_stream_that_was_replaced_are_dropped(
    scripted: ScriptServer, probe: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perdure.limits.HANDSHAKE_TIMEOUT", 0.5)
    server = scripted()
    async with Client(server.address) as client, client.worker(probe.definition):
        stream = await server.stream()
        server.script.welcomes = False
        stream.say(worker_service_pb2.ClaimResponse(go_away=worker_service_pb2.GoAway()))
        await server.stream(2)  # its hello is said, its welcome never comes
        stream.say(claims(stream.make_claim("other"), stream.make_claim("work")))
        server.script.welcomes = True
        third = await server.stream(3)
        assert list(third.hello.held_claim_tokens) == []
        await third.result(await third.grant("other"))
        assert stream.results == []
        assert probe.begun == []
