"""The Claim stream, message by message."""

import asyncio
from typing import Any

import grpc
import pytest

from perdure.v1 import worker_service_pb2 as wire
from perdure.v1 import workflow_service_pb2 as workflows
from perdure.v1.claim_pb2 import HeldClaim, OfferedDefinition, Pool
from perdure_server.kernel import limits
from perdure_server.kernel.rejection import Reason
from perdure_server.ports.instruments import RPC_TIME
from perdure_server.rpc import limits as rpc_limits
from perdure_server.rpc.encode.workers import reason_value
from perdure_server.rpc.transport import EOF
from tests.conftest import Eventually
from tests.rpc.conftest import Served, definition, from_status, ref, refusal_of, refused
from tests.rpc.worker import EVERYTHING, Worker, connected

ALL = frozenset(EVERYTHING)


def stream(served: Served) -> Worker:
    stub: Any = served.workers
    return Worker(stub.Claim())


async def read_on(worker: Worker) -> None:
    """To the end of its stream."""
    while await worker.hear() is not EOF:
        pass


class TestHello:
    async def test_welcome_says_what_the_worker_must_know(self, served: Served) -> None:
        registered = await served.register("a", "wait_go:a")
        async with connected(served) as worker:
            welcome = worker.welcome
            assert welcome.session_id
            assert welcome.session_secret
            assert (welcome.resumed, welcome.connection_no) == (False, 1)
            assert welcome.lease_duration.ToMilliseconds() == limits.SESSION_LEASE
            assert welcome.renew_interval.ToMilliseconds() == limits.SESSION_LEASE // 3
            assert welcome.max_message_bytes == rpc_limits.REQUEST
            assert [(step.step, list(step.accepted_fingerprints)) for step in welcome.pools[0].steps] == [("a", [registered.fingerprint])]

    async def test_the_first_message_must_be_hello(self, served: Served) -> None:
        worker = stream(served)
        await worker.say(credit=wire.Credit(pool="p", count=1))
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await worker.hear()
        found = refusal_of(caught.value)
        assert (found.code, found.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "PROTOCOL_VIOLATION")

    async def test_a_faulty_hello_names_every_fault(self, served: Served) -> None:
        worker = stream(served)
        await worker.say(hello=wire.Hello(pools=[Pool(pool="p", workflow_type="?", any_contract=True)]))
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await worker.hear()
        assert refusal_of(caught.value).fields.keys() == {"hello.worker_id", "hello.pools[0].workflow_type"}

    async def test_a_contract_that_nobody_registered_is_a_status_not_an_error(self, served: Served) -> None:
        await served.register("a")
        pools = [
            Pool(pool="old", workflow_type="note", step_contracts={"a": "0" * 32}),
            Pool(pool="none", workflow_type="other", step_contracts={"a": "0" * 32}),
            Pool(pool="good", workflow_type="note", any_contract=True),
        ]
        async with connected(served, pools=pools) as worker:
            found = [from_status(pool.status).reason if pool.HasField("status") else "" for pool in worker.welcome.pools]
            assert found == ["DEFINITION_MISMATCH", "DEFINITION_NOT_FOUND", ""]
            step = from_status(worker.welcome.pools[0].steps[0].status)
            assert step.facts == {"step": "a", "step_contract": "0" * 32}

    async def test_definitions_that_are_brought_along(self, served: Served) -> None:
        broken = definition("a:a", workflow_type="broken")
        offers = [
            OfferedDefinition(definition=definition("a", "b:a"), register=True),
            OfferedDefinition(definition=broken),
            OfferedDefinition(definition=definition("x", workflow_type="shown")),
        ]
        pools = [Pool(pool="p", workflow_type="note", definition_index=0)]
        async with connected(served, pools=pools, definitions=offers) as worker:
            first, second, third = worker.welcome.definitions
            assert (first.active, len(first.fingerprint), set(first.step_contracts)) == (True, 64, {"a", "b"})
            assert from_status(second.status).reason == "DEFINITION_CYCLE"
            assert (third.active, len(third.fingerprint)) == (False, 64)
            assert {step.step: list(step.accepted_fingerprints) for step in worker.welcome.pools[0].steps} == {
                "a": [first.fingerprint],
                "b": [first.fingerprint],
            }
            await served.start()
            assert (await worker.claim()).step == "a"

    async def test_a_hello_activates_nothing_where_something_is_active(self, served: Served) -> None:
        active = await served.register("a")
        offers = [OfferedDefinition(definition=definition("b"), register=True)]
        async with connected(served, definitions=offers) as worker:
            assert not worker.welcome.definitions[0].active
        await served.start()
        found = await served.workflows.GetWorkflow(workflows.GetWorkflowRequest(workflow=ref()))
        assert found.workflow.definition_fingerprint == active.fingerprint

    async def test_a_reconnect_adopts_its_session(self, served: Served) -> None:
        await served.register("a")
        await served.start()
        async with connected(served) as worker:
            claim = await worker.claim()
            session = {"session_id": worker.welcome.session_id, "session_secret": worker.welcome.session_secret}
        async with connected(served, held_claim_tokens=[claim.claim_token, "nonsense"], **session) as again:
            assert (again.welcome.resumed, again.welcome.connection_no) == (True, 2)
            assert [lost.claim_token for lost in again.welcome.lost] == ["nonsense"]
            assert not (await again.complete(claim)).HasField("status")


class TestMessages:
    async def test_c37_nothing_comes_without_credit_and_one_credit_is_one_claim(self, served: Served) -> None:
        await served.register("a")
        for index in range(3):
            await served.start(f"k{index}")
        async with connected(served) as worker:
            claim = await worker.claim()
            assert (claim.pool, claim.step, claim.inputs["input"].json) == ("p", "a", "1")
            assert claim.traceparent.startswith("00-")
            await worker.say(renew=wire.Renew(renew_id=1, held=[HeldClaim(claim_token=claim.claim_token)]))
            assert (await worker.hear_one("renewed")).renew_id == 1, "no second claim came before"

    async def test_the_next_claim_comes_with_the_answer(self, served: Served) -> None:
        await served.register("a", "b:a")
        await served.start()
        async with connected(served) as worker:
            settled = await worker.complete(await worker.claim(), '"x"', want_next=True)
            assert [(claim.step, claim.inputs["a"].json) for claim in settled.next_claims] == [("b", '"x"')]

    async def test_results_are_answered_each_by_its_id(self, served: Served) -> None:
        await served.register("a")
        await served.start()
        async with connected(served) as worker:
            claim = await worker.claim()
            good, lost, bad = (wire.Result(result_id=number) for number in (1, 2, 3))
            good.claim_token = claim.claim_token
            good.completed.SetInParent()
            lost.claim_token = "nonsense"
            lost.completed.SetInParent()
            bad.completed.output.json = "NaN"
            await worker.say(results=wire.Results(results=[good, lost, bad]))
            answers: dict[int, wire.Settled] = {}
            while len(answers) < 3:
                answers |= {item.result_id: item for item in (await worker.hear_one("settled")).settled}
            assert not answers[1].HasField("status")
            assert from_status(answers[2].status).reason == "CLAIM_LOST"
            assert from_status(answers[3].status).fields == {"completed.output": "is not JSON: NaN is no JSON number"}

    async def test_heartbeats(self, served: Served) -> None:
        await served.register("a")
        await served.start()
        async with connected(served) as worker:
            claim = await worker.claim()
            stored = wire.StreamHeartbeat(claim_token=claim.claim_token, checkpoint_no=1, heartbeat_id=5)
            stored.checkpoint.json = '"here"'
            silent = wire.StreamHeartbeat(claim_token=claim.claim_token, alive=True)
            lost = wire.StreamHeartbeat(claim_token="nonsense", alive=True)
            await worker.say(heartbeats=wire.Heartbeats(heartbeats=[silent, stored, lost]))
            answers: list[wire.HeartbeatAnswer] = []
            while len(answers) < 2:
                answers += (await worker.hear_one("heartbeats_answered")).answers
            unknown, known = sorted(answers, key=lambda answer: answer.heartbeat_id)
            assert (known.heartbeat_id, known.HasField("status")) == (5, False)
            assert (unknown.heartbeat_id, unknown.claim_token) == (0, "nonsense")
            assert from_status(unknown.status).reason == "CLAIM_LOST"

    async def test_a_cancel_is_told_to_those_who_understand_it(self, served: Served) -> None:
        await served.register("a")
        await served.start()
        async with connected(served) as worker:
            claim = await worker.claim()
            await served.workflows.CancelWorkflow(workflows.CancelWorkflowRequest(workflow=ref(), reason="enough"))
            cancel = (await worker.hear_one("cancel")).claims[0]
            assert (cancel.claim_token, cancel.grace_remaining.seconds) == (claim.claim_token, 30)
            result = wire.Result(claim_token=claim.claim_token, result_id=1)
            result.cancelled.SetInParent()
            await worker.say(results=wire.Results(results=[result]))
            assert not (await worker.hear_one("settled")).settled[0].HasField("status")

    async def test_what_is_wrong_is_refused_and_the_stream_goes_on(self, served: Served) -> None:
        await served.register("a")
        await served.start()
        async with connected(served) as worker:
            await worker.say(credit=wire.Credit(pool="nowhere", count=1))
            await worker.say(hello=wire.Hello(worker_id="again"))
            await worker.call.write(wire.ClaimRequest())
            await worker.say(credit=wire.Credit(pool="p", count=0))
            refusals = [await worker.hear_one("refused") for _ in range(4)]
            assert [refusal.message_no for refusal in refusals] == [2, 3, 4, 5]
            assert [from_status(refusal.status).reason for refusal in refusals] == [
                "INVALID_ARGUMENT",
                "PROTOCOL_VIOLATION",
                "UNKNOWN_MESSAGE",
                "INVALID_ARGUMENT",
            ]
            assert (await worker.claim()).step == "a"

    async def test_a_message_of_a_newer_client_is_answered(self, served: Served) -> None:
        async with connected(served) as worker:
            newer = wire.ClaimRequest.FromString(b"\xfa\x01\x00")  # field 31, which this server does not know
            await worker.call.write(newer)
            assert from_status((await worker.hear_one("refused")).status).reason == "UNKNOWN_MESSAGE"

    async def test_a_new_definition_is_told(self, served: Served) -> None:
        await served.register("a")
        async with connected(served) as worker:
            second = await served.register("a", "b:a")
            changed = (await worker.hear_one("pools_changed")).pools[0]
            assert second.fingerprint in changed.accepted_fingerprints


class TestEnds:
    async def test_a_half_close_is_answered_to_the_end(self, served: Served) -> None:
        await served.register("a")
        await served.start()
        worker = stream(served)
        await worker.hello()
        claim = await worker.claim()
        result = wire.Result(claim_token=claim.claim_token, result_id=1)
        result.completed.SetInParent()
        await worker.say(results=wire.Results(results=[result]))
        await worker.call.done_writing()
        assert (await worker.hear_one("settled")).settled[0].result_id == 1
        assert await worker.hear() is EOF
        assert await worker.call.code() is grpc.StatusCode.OK
        result_now = await served.workflows.WaitForResult(workflows.WaitForResultRequest(workflow=ref()))
        assert result_now.done

    async def test_a_half_close_with_nothing_open_ends_at_once(self, served: Served) -> None:
        worker = stream(served)
        await worker.hello()
        await worker.call.done_writing()
        assert await worker.hear() is EOF
        assert await worker.call.code() is grpc.StatusCode.OK

    async def test_a_stream_that_says_nothing_at_all_ends(self, served: Served) -> None:
        worker = stream(served)
        await worker.call.done_writing()
        assert await worker.hear() is EOF

    async def test_c32_credit_ends_with_the_stream(self, served: Served, eventually: Eventually) -> None:
        await served.register("a")
        async with connected(served) as worker:
            await worker.say(credit=wire.Credit(pool="p", count=5))
            await eventually(served.running.engine.desk.idle_queues)
        await eventually(lambda: not served.running.engine.desk.idle_queues())
        await eventually(lambda: served.running.server.guard.in_flight == 0)

    async def test_a_newer_connection_ends_the_older_politely(self, served: Served) -> None:
        worker = stream(served)
        await worker.hello()
        session = {"session_id": worker.welcome.session_id, "session_secret": worker.welcome.session_secret}
        async with connected(served, **session):
            assert (await worker.hear_one("go_away")).reason == reason_value(Reason.SESSION_SUPERSEDED)
            assert await worker.hear() is EOF
            assert await worker.call.code() is grpc.StatusCode.OK

    async def test_an_old_stream_is_asked_to_leave_without_a_reason(self, served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
        served.running.server.leaving.stream_age = 50
        monkeypatch.setattr(rpc_limits, "GO_AWAY_GRACE", 100)
        worker = stream(served)
        await worker.hello()
        leave = await worker.hear_one("go_away")
        assert (leave.reason, leave.grace.ToMilliseconds()) == (0, 100)
        assert await worker.hear() is EOF
        assert await worker.call.code() is grpc.StatusCode.OK

    async def test_c57_c62_a_worker_that_does_not_read_is_cut(
        self, served: Served, monkeypatch: pytest.MonkeyPatch, eventually: Eventually
    ) -> None:
        monkeypatch.setattr(rpc_limits, "WRITE_STALL", 200)
        await served.register("a")
        for index in range(30):
            request = workflows.StartWorkflowRequest(workflow=ref(f"k{index}"))
            request.input.binary = b"x" * 15_000
            await served.workflows.StartWorkflow(request)
        narrow = (("grpc.http2.bdp_probe", 0), ("grpc.http2.lookahead_bytes", 65_536))
        async with grpc.aio.insecure_channel(f"127.0.0.1:{served.running.port}", options=narrow) as channel:
            worker = stream(Served(served.running, channel))
            await worker.hello()
            await worker.say(credit=wire.Credit(pool="p", count=30))
            cut = ("grpc", "perdure.v1.WorkerService/Claim", "RESOURCE_EXHAUSTED")
            await eventually(lambda: served.running.telemetry.counted(RPC_TIME, cut) == 1)
            told = await refused(read_on(worker))
            assert (told.code, told.reason, told.facts) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED", {"scope": "stream"})

    async def test_c62_a_worker_that_does_not_even_read_its_welcome_is_cut(
        self, served: Served, monkeypatch: pytest.MonkeyPatch, eventually: Eventually
    ) -> None:
        monkeypatch.setattr(rpc_limits, "WRITE_STALL", 200)
        await served.register("a")
        narrow = (("grpc.http2.bdp_probe", 0), ("grpc.http2.lookahead_bytes", 65_536))
        async with grpc.aio.insecure_channel(f"127.0.0.1:{served.running.port}", options=narrow) as channel:
            worker = stream(Served(served.running, channel))
            unknown = {f"step_{number}": "c" * 60 for number in range(64)}
            pools = [Pool(pool=f"p{number}", workflow_type="note", step_contracts=unknown) for number in range(100)]
            await worker.say(hello=wire.Hello(worker_id="w", pools=pools, capabilities=EVERYTHING))
            cut = ("grpc", "perdure.v1.WorkerService/Claim", "RESOURCE_EXHAUSTED")
            await eventually(lambda: served.running.telemetry.counted(RPC_TIME, cut) == 1)
            told = await refused(read_on(worker))
            assert (told.code, told.reason, told.facts) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED", {"scope": "stream"})

    async def test_c59_many_streams_leave_no_handler_and_no_task(self, served: Served, eventually: Eventually) -> None:
        before = len(asyncio.all_tasks())
        for _ in range(100):
            async with connected(served):
                pass
        await eventually(lambda: served.running.server.guard.in_flight == 0)
        await eventually(lambda: len(asyncio.all_tasks()) <= before + 2)
