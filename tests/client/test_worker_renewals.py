"""The worker's renewals and acknowledgement, against a scripted server."""

import asyncio
import time

import grpc

from perdure import Client, Context, Definition, limits
from perdure.v1 import worker_service_pb2
from tests.client.conftest import ScriptServer
from tests.client.messages import claims, status
from tests.client.probe import Probe
from tests.client.scripted import Stream


async def test_renewals_go_on_at_the_interval_also_when_empty(scripted: ScriptServer, probe: Probe) -> None:
    server = scripted(lease=0.9, renew_interval=0.3)
    async with Client(server.address) as client, client.worker(probe.definition):
        stream = await server.stream()
        renews = await stream.until(lambda stream: stream.renews[2:] and stream.renews)
        assert [renew.renew_id for renew in renews][:3] == [1, 2, 3]
        assert not any(renew.held for renew in renews)


async def test_c36_a_blocked_event_loop_costs_no_renewal(scripted: ScriptServer) -> None:
    server = scripted(lease=0.9, renew_interval=0.3)
    definition = Definition("note")
    streams: list[Stream] = []

    @definition.step()
    async def work(ctx: Context[None]) -> int:
        stream = streams[0]
        before = len(stream.renews)
        stream.until_blocking(lambda stream: len(stream.renews) >= before + 6)  # two leases
        return len(stream.renews) - before

    async with Client(server.address) as client, client.worker(definition):
        streams.append(await server.stream())
        token = await streams[0].grant("work")
        result = await streams[0].result(token)
        assert int(result.completed.output.json) >= 6
        assert any(held.claim_token == token for renew in streams[0].renews for held in renew.held)
    assert len(server.streams) == 1


async def test_a_claim_that_still_runs_is_acknowledged_within_a_second_and_a_fast_one_needs_none(
    scripted: ScriptServer, probe: Probe
) -> None:
    server = scripted()
    async with Client(server.address) as client, client.worker(probe.definition):
        stream = await server.stream()
        await stream.until(lambda stream: stream.renews)  # the one that greets
        await stream.result(await stream.grant("other"))
        granted = time.monotonic()
        token = await stream.grant("work")
        renew = await stream.until(lambda stream: next((renew for renew in stream.renews if renew.held), None))
        assert [held.claim_token for held in renew.held] == [token]
        assert time.monotonic() - granted < 5, "half a second, and what a busy machine adds; the next renewal is 10 s away"
        probe.go.set()


async def test_a_claim_that_must_be_renewed_first_begins_after_the_answer(scripted: ScriptServer, probe: Probe) -> None:
    server = scripted(answers_renews=False)
    async with Client(server.address) as client, client.worker(probe.definition):
        stream = await server.stream()
        token = await stream.grant("other", begin_after_renewed=True)
        renew = await stream.until(lambda stream: next((renew for renew in stream.renews if renew.held), None))
        assert renew.held[0].claim_token == token
        assert stream.results == []
        stream.say(worker_service_pb2.ClaimResponse(renewed=worker_service_pb2.Renewed(renew_id=renew.renew_id)))
        assert (await stream.result(token)).completed.output.json == '"other"'


async def test_a_renewal_that_was_not_stored_does_not_begin_it(scripted: ScriptServer, probe: Probe) -> None:
    server = scripted(answers_renews=False)
    async with Client(server.address) as client, client.worker(probe.definition):
        stream = await server.stream()
        token = await stream.grant("other", begin_after_renewed=True)
        first = await stream.until(lambda stream: next((renew for renew in stream.renews if renew.held), None))
        problem = status(grpc.StatusCode.UNAVAILABLE, "STORE_UNAVAILABLE")
        stream.say(worker_service_pb2.ClaimResponse(renewed=worker_service_pb2.Renewed(renew_id=first.renew_id, status=problem)))
        second = await stream.until(lambda stream: next((renew for renew in stream.renews if renew.renew_id > first.renew_id), None))
        assert stream.results == []
        stream.say(worker_service_pb2.ClaimResponse(renewed=worker_service_pb2.Renewed(renew_id=second.renew_id)))
        await stream.result(token)


async def test_silence_is_told_only_where_it_counts(scripted: ScriptServer, probe: Probe) -> None:
    server = scripted(renew_interval=0.3, lease=5)
    async with Client(server.address) as client, client.worker(probe.definition):
        stream = await server.stream()
        watched = stream.make_claim("work")
        watched.silence_timeout.seconds = 60
        stream.say(claims(watched, stream.make_claim("work")))
        renew = await stream.until(lambda stream: next((renew for renew in stream.renews[3:] if len(renew.held) == 2), None))
        by_token = {held.claim_token: held for held in renew.held}
        assert by_token.pop(watched.claim_token).HasField("since_alive")
        assert not next(iter(by_token.values())).HasField("since_alive")
        probe.go.set()


async def test_many_claims_are_acknowledged_by_one_renewal(scripted: ScriptServer, probe: Probe) -> None:
    server = scripted()
    async with Client(server.address) as client, client.worker(probe.definition):
        stream = await server.stream()
        began = asyncio.get_running_loop().time()
        for _ in range(30):
            await stream.grant("work")
        await stream.until(lambda stream: any(len(renew.held) == 30 for renew in stream.renews))
        # One for all that came within the delay; a slow machine needs longer to grant thirty.
        delays = (asyncio.get_running_loop().time() - began) / limits.ACKNOWLEDGE_DELAY
        assert len([renew for renew in stream.renews if renew.held]) <= 2 + delays
        probe.go.set()


async def test_a_claim_whose_result_is_sent_is_not_named_until_it_is_answered(scripted: ScriptServer, probe: Probe) -> None:
    server = scripted(settles=False, renew_interval=0.2)
    async with Client(server.address) as client, client.worker(probe.definition):
        stream = await server.stream()
        done, running = await stream.grant_all([("other", {}), ("work", {})])
        await stream.result(done)
        before = len(stream.renews)
        renews = await stream.until(lambda stream: stream.renews[before + 1 :])
        named = [{held.claim_token for held in renew.held} for renew in renews]
        assert all(tokens == {running} for tokens in named)
        probe.go.set()
        await stream.result(running)
        settled = [worker_service_pb2.Settled(result_id=result.result_id) for result in stream.results]
        stream.say(worker_service_pb2.ClaimResponse(settled=worker_service_pb2.SettledResults(settled=settled)))
