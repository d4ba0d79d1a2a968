"""The worker's session against a scripted server: renewals, acknowledgement, loss, cancel, reconnect, credit, stop."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import grpc
import pytest

from perdure import Client, Context, Definition, DefinitionRejected, Unavailable
from perdure.v1 import errors_pb2, worker_service_pb2
from tests.client import process_steps
from tests.client.conftest import ScriptServer
from tests.client.scripted import CLAIM_LOST, Stream, cancel, claims, lost, settled, status
from tests.conftest import Eventually


class Probe:
    """An activity that a test can hold and look into."""

    def __init__(self) -> None:
        self.definition = Definition("note")
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.reasons: list[str] = []
        self.go = asyncio.Event()
        self.running = asyncio.Condition()
        self.definition.step(name="work")(self._work)
        self.definition.step(name="other")(self._other)

    async def _work(self, ctx: Context[str]) -> str:
        self.begun.append(ctx.wake_token)
        async with self.running:
            self.running.notify_all()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.reasons.append(ctx.cancel_reason)
            raise
        finally:
            self.ended.append(ctx.wake_token)
            async with self.running:
                self.running.notify_all()
        return "done"

    async def _other(self, ctx: Context[None]) -> str:
        return "other"

    async def until(self, predicate: Callable[[], bool]) -> None:
        async with asyncio.timeout(10), self.running:
            await self.running.wait_for(predicate)


@pytest.fixture
async def probe() -> Probe:
    return Probe()


# ---- renewals and acknowledgement


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
        assert time.monotonic() - granted < 1.5
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


# ---- loss and cancel


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
async def test_a_slot_whose_claim_the_server_had_dropped_is_offered_again(scripted: ScriptServer, probe: Probe, told_first: bool) -> None:
    server = scripted(settles=False)
    async with Client(server.address) as client, client.worker(probe.definition, slots=1):
        stream = await server.stream()
        result = await stream.result(await stream.grant("other"))
        if told_first:
            # Lost and result crossed: the server knew the token no more, so the offered slot became no credit.
            stream.credit["note"] = 0
            stream.say(lost(result.claim_token))
        stream.say(settled(result.result_id, CLAIM_LOST))
        again = await stream.result(await stream.grant("other"))
        stream.say(settled(again.result_id))


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
        await eventually(lambda: not _is_alive(process_id), what="the process is gone")
        assert [result.claim_token for result in stream.results] == [token]


def _is_alive(process_id: int) -> bool:
    try:
        return Path(f"/proc/{process_id}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def test_at_the_end_of_the_own_lease_only_holders_of_permits_stop(scripted: ScriptServer, probe: Probe) -> None:
    server = scripted(lease=0.6, renew_interval=5, answers_renews=False)
    async with Client(server.address) as client, client.worker(probe.definition):
        stream = await server.stream()
        await stream.grant("work", stop_at_lease_end=True)
        other = await stream.grant("work")
        await probe.until(lambda: len(probe.begun) == 2)
        await probe.until(lambda: len(probe.ended) == 1)
        assert probe.reasons == ["CLAIM_LOST"]
        probe.go.set()
        await stream.result(other)
        assert len(stream.results) == 1


# ---- contracts and slots


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


# ---- reconnect


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
    server = scripted(lease=3, renew_interval=0.3, answers_renews=False)
    async with Client(server.address) as client, client.worker(probe.definition):
        first = await server.stream()
        began = time.monotonic()
        second = await server.stream(2)
        assert time.monotonic() - began < 3
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


# ---- start and stop


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
