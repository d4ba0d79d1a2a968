"""Claims that are lost or cancelled, contracts, slots and credit, against a scripted server."""

import asyncio
import contextlib

import pytest

from perdure import Client, Context, Definition
from perdure.v1 import worker_service_pb2
from tests.client import process_steps
from tests.client.conftest import ScriptServer
from tests.client.messages import CLAIM_LOST, cancel, claims, lost, settled
from tests.client.probe import Probe
from tests.conftest import Eventually
from tests.processes import is_alive


async def test_c33_a_lost_step_that_comes_back_is_another_claim(scripted: ScriptServer, probe: Probe) -> None:
    server = scripted()
    async with Client(server.address) as client, client.worker(probe.definition):
        stream = await server.stream()
        first = await stream.grant("work")
        await probe.until(lambda: len(probe.begun) == 1)
        stream.say(lost(first))
        second = await stream.grant("work")
        await probe.until(lambda: len(probe.begun) == 2 and len(probe.ended) == 1)
        probe.go.set()
        await stream.result(second)
        assert [result.claim_token for result in stream.results] == [second]
        assert probe.reasons == ["CLAIM_LOST"]


@pytest.mark.parametrize(
    ("cause", "reason"),
    [
        (worker_service_pb2.CLAIM_LOSS_CAUSE_CLOSED, "TERMINATED"),
        (worker_service_pb2.CLAIM_LOSS_CAUSE_TIMED_OUT, "TIMED_OUT"),
        (worker_service_pb2.CLAIM_LOSS_CAUSE_CANCELLED, "WORKFLOW_CANCELLED"),
        (worker_service_pb2.CLAIM_LOSS_CAUSE_SUPERSEDED, "CLAIM_LOST"),
    ],
)
async def test_an_activity_is_told_why_its_claim_is_lost(
    scripted: ScriptServer, probe: Probe, cause: "worker_service_pb2.ClaimLossCause.ValueType", reason: str
) -> None:
    server = scripted()
    async with Client(server.address) as client, client.worker(probe.definition):
        stream = await server.stream()
        stream.say(lost(await stream.grant("work"), cause=cause))
        await probe.until(lambda: len(probe.ended) == 1)
        assert probe.reasons == [reason]
        assert not stream.results


async def test_a_result_that_comes_too_late_is_dropped_and_the_slot_is_free(scripted: ScriptServer, probe: Probe) -> None:
    server = scripted(settles=False)
    async with Client(server.address) as client, client.worker(probe.definition, slots=1):
        stream = await server.stream()
        result = await stream.result(await stream.grant("other"))
        stream.say(settled(result.result_id, CLAIM_LOST))
        again = await stream.result(await stream.grant("other"))
        stream.say(settled(again.result_id))
        assert len(stream.results) == 2


@pytest.mark.parametrize("told_first", [False, True])
async def test_a_slot_is_offered_once_though_its_claim_was_lost_when_the_result_came(
    scripted: ScriptServer, probe: Probe, told_first: bool
) -> None:
    server = scripted(settles=False)
    async with Client(server.address) as client, client.worker(probe.definition, slots=1):
        stream = await server.stream()
        result = await stream.result(await stream.grant("other"))
        if told_first:
            stream.say(lost(result.claim_token))  # it crossed the result, which is what has offered the slot
        stream.say(settled(result.result_id, CLAIM_LOST))
        again = await stream.result(await stream.grant("other"))
        stream.say(settled(again.result_id))
        assert stream.credit["note"] == 1


async def test_a_cancel_raises_in_the_activity_and_is_reported(scripted: ScriptServer, probe: Probe) -> None:
    server = scripted()
    async with Client(server.address) as client, client.worker(probe.definition):
        stream = await server.stream()
        token = await stream.grant("work")
        await probe.until(lambda: bool(probe.begun))
        stream.say(cancel(token, "WORKFLOW_FAILING"))
        assert (await stream.result(token)).HasField("cancelled")
        assert probe.reasons == ["WORKFLOW_FAILING"]


async def test_a_cancelled_activity_may_still_complete_and_a_thread_looks_for_itself(scripted: ScriptServer) -> None:
    server = scripted()
    definition = Definition("note")
    looking = asyncio.Event()
    loop = asyncio.get_running_loop()

    @definition.step()
    async def stubborn(ctx: Context[None]) -> str:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return "all the same"

    @definition.step()
    def looks(ctx: Context[None]) -> None:
        loop.call_soon_threadsafe(looking.set)
        while not ctx.cancelled:
            ctx.alive()
        ctx.raise_if_cancelled()

    async with Client(server.address) as client, client.worker(definition):
        stream = await server.stream()
        first, second = await stream.grant("stubborn"), await stream.grant("looks")
        async with asyncio.timeout(10):
            await looking.wait()
        stream.say(cancel(first))
        stream.say(cancel(second))
        assert (await stream.result(first)).completed.output.json == '"all the same"'
        assert (await stream.result(second)).HasField("cancelled")


async def test_a_cancelled_process_looks_for_itself_and_a_lost_one_is_killed(scripted: ScriptServer, eventually: Eventually) -> None:
    server = scripted()
    async with Client(server.address) as client, client.worker(process_steps.definition):
        stream = await server.stream()
        token = await stream.grant("waits_for_cancel")
        await stream.until(lambda stream: stream.heartbeats)
        stream.say(cancel(token))
        assert (await stream.result(token)).HasField("cancelled")
        endless = await stream.grant("never_ends")
        heartbeat = await stream.until(lambda stream: next((item for item in stream.heartbeats if item.claim_token == endless), None))
        process_id = int(heartbeat.frames[0].payload.json.strip('"'))
        stream.say(lost(endless))
        await eventually(lambda: not is_alive(process_id), what="the process is gone")
        assert [result.claim_token for result in stream.results] == [token]


async def test_at_the_end_of_the_own_lease_only_holders_of_permits_stop(scripted: ScriptServer, probe: Probe) -> None:
    server = scripted(lease=0.6, renew_interval=5, answers_renews=False)
    async with Client(server.address) as client, client.worker(probe.definition):
        stream = await server.stream()
        await stream.grant("work", stop_at_lease_end=True)
        other = await stream.grant("work")
        await probe.until(lambda: len(probe.begun) == 2)
        await probe.until(lambda: len(probe.ended) == 1)
        assert probe.reasons == ["CLAIM_LOST"]
        # Nor does one begin that comes now, before the lease goes on.
        await stream.grant("work", stop_at_lease_end=True)
        later = await stream.grant("work")
        await probe.until(lambda: len(probe.begun) == 3)
        probe.go.set()
        await stream.result(other)
        await stream.result(later)
        assert (len(probe.begun), len(stream.results)) == (3, 2)


async def test_a_claim_of_another_contract_is_given_back(scripted: ScriptServer, probe: Probe) -> None:
    server = scripted()
    async with Client(server.address) as client, client.worker(probe.definition):
        stream = await server.stream()
        result = await stream.result(await stream.grant("work", step_contract="of another version"))
        assert result.HasField("released")
        assert probe.begun == []


async def test_slots_bound_what_runs_and_every_free_slot_is_offered_once(scripted: ScriptServer, probe: Probe) -> None:
    server = scripted()
    async with Client(server.address) as client, client.worker(probe.definition, slots={"work": 2}):
        stream = await server.stream()
        assert {pool.pool: pool.slots for pool in stream.hello.pools} == {"note.work": 2, "note": 100}
        tokens = [await stream.grant("work"), await stream.grant("work")]
        await probe.until(lambda: len(probe.begun) == 2)
        assert stream.credit["note.work"] == 0
        probe.go.set()
        for token in tokens:
            await stream.result(token)
        await stream.until(lambda stream: stream.credit["note.work"] == 2)
        assert all(result.want_next for result in stream.results)


async def test_claims_beyond_the_slots_wait_for_one(scripted: ScriptServer, probe: Probe) -> None:
    server = scripted()
    async with Client(server.address) as client, client.worker(probe.definition, slots={"work": 1}):
        stream = await server.stream()
        stream.say(claims(*[stream.make_claim("work") for _ in range(3)]))
        await probe.until(lambda: len(probe.begun) == 1)
        probe.go.set()
        await stream.until(lambda stream: len(stream.results) == 3)
        await stream.until(lambda stream: stream.credit["note.work"] >= 1)


async def test_the_next_claim_comes_with_the_answer(scripted: ScriptServer, probe: Probe) -> None:
    server = scripted(settles=False)
    async with Client(server.address) as client, client.worker(probe.definition):
        stream = await server.stream()
        result = await stream.result(await stream.grant("other"))
        assert result.want_next
        following = stream.make_claim("other")
        stream.say(settled(result.result_id, next_claims=[following]))
        last = await stream.result(following.claim_token)
        stream.say(settled(last.result_id))


async def test_one_message_carries_many_results(scripted: ScriptServer, probe: Probe) -> None:
    server = scripted()
    async with Client(server.address) as client, client.worker(probe.definition):
        stream = await server.stream()
        await stream.grant_all([("work", {}) for _ in range(50)])
        await probe.until(lambda: len(probe.begun) == 50)
        probe.go.set()
        await stream.until(lambda stream: len(stream.results) == 50)
        assert sum(message.HasField("results") for message in stream.messages) <= 5
