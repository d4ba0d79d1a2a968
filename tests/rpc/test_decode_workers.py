"""What workers send."""

import timeit
from collections.abc import Callable

import pytest

from perdure.v1.claim_pb2 import HeldClaim
from perdure.v1.worker_service_pb2 import (
    CompleteRequest,
    HeartbeatRequest,
    Hello,
    PollClaimsRequest,
    RenewClaimsRequest,
    Result,
    StreamHeartbeat,
)
from perdure_server.engine.values import HeartbeatIn, HeldIn, ResultIn
from perdure_server.kernel import limits
from perdure_server.kernel.children import pack
from perdure_server.kernel.contracts import with_contracts
from perdure_server.kernel.definition import Definition, StepDefinition
from perdure_server.kernel.outcomes import Cancelled, Completed, Failed, Page, Released, Waiting
from perdure_server.kernel.rejection import FieldViolation, Reason
from perdure_server.kernel.values import Condition, Failure, Payload, Wait
from perdure_server.ports.coordination import Frame
from perdure_server.ports.store import Subscription
from perdure_server.rpc.decode import workers
from perdure_server.rpc.faults import Faults, RequestRefused

NOTE = with_contracts(Definition("default", "note", (StepDefinition("a"), StepDefinition("b"))))


def fields_of(call: Callable[[], object]) -> list[str]:
    with pytest.raises(RequestRefused) as caught:
        call()
    return sorted(field for field, _ in caught.value.violations)


class TestResults:
    def test_completed(self) -> None:
        message = Result(claim_token="t", want_next=True, last_frame_seq=3, result_id=9)
        message.completed.output.json = "1"
        assert workers.result(message, 9) == ResultIn("t", Completed(Payload(json="1")), True, 3, 9)
        message.completed.ClearField("output")
        assert workers.result(message, 9).outcome == Completed()

    def test_the_unary_form_is_the_same(self) -> None:
        message = CompleteRequest(claim_token="t")
        message.completed.SetInParent()
        assert workers.result(message) == ResultIn("t", Completed())

    def test_failed(self) -> None:
        message = Result(claim_token="t")
        message.failed.type = "asr.quota"
        assert workers.result(message).outcome == Failed(Failure("asr.quota"))

    def test_waiting_keeps_clears_or_sets_the_checkpoint(self) -> None:
        message = Result(claim_token="t")
        message.waiting.wait.any_of.add().after.seconds = 1
        wait = Wait((Condition("after", after=1_000),))
        assert workers.result(message).outcome == Waiting(wait, None, keep_checkpoint=True)
        message.waiting.checkpoint.SetInParent()
        assert workers.result(message).outcome == Waiting(wait, None, keep_checkpoint=False)
        message.waiting.checkpoint.json = '"task-1"'
        assert workers.result(message).outcome == Waiting(wait, Payload(json='"task-1"'), keep_checkpoint=False)

    def test_released_and_cancelled(self) -> None:
        message = Result(claim_token="t")
        message.released.SetInParent()
        assert workers.result(message).outcome == Released()
        message.cancelled.SetInParent()
        assert workers.result(message).outcome == Cancelled()
        message.cancelled.checkpoint.json = '"half done"'
        assert workers.result(message).outcome == Cancelled(Payload(json='"half done"'), keep_checkpoint=False)

    def test_a_page_and_what_is_wrong_with_one(self) -> None:
        message = Result(claim_token="t")
        message.page.children.add(json="1")
        message.page.children.add()
        message.page.cursor.json = "2"
        assert workers.result(message).outcome == Page(2, pack([Payload(json="1"), Payload()]), Payload(json="2"))
        message.page.children.add(json="{")
        with pytest.raises(FieldViolation) as caught:
            workers.result(message)
        assert [field for field, _ in caught.value.violations] == ["page.children[2]"]
        message.page.Clear()
        assert workers.result(message).outcome == Page(), "the last page may be empty"

    def test_branches_are_chosen_with_the_output_and_never_by_a_worker_s_wait(self) -> None:
        message = Result(claim_token="t")
        message.completed.choose.extend(["x", "y", "x"])
        assert workers.result(message).outcome == Completed(None, ("x", "y"))
        message.waiting.wait.any_of.add(choose=["x"]).after.seconds = 1
        assert fields_of(lambda: workers.result(message)) == ["waiting.wait.any_of[0].choose"]

    def test_faults(self) -> None:
        assert fields_of(lambda: workers.result(Result(last_frame_seq=-1))) == ["last_frame_seq", "outcome"]
        message = Result()
        message.completed.output.json = "NaN"
        with pytest.raises(FieldViolation) as caught:
            workers.result(message)
        assert (caught.value.reason, caught.value.violations[0][0]) == (Reason.PAYLOAD_INVALID, "completed.output")

    def test_decoding_a_result_is_cheap(self) -> None:
        """A guard against an order of magnitude, not a benchmark: about 5 us beside the check of the JSON."""
        message = Result(claim_token="t" * 60, want_next=True, result_id=1)
        message.completed.output.binary = b"x" * 100
        number = 2_000
        best = min(timeit.repeat(lambda: workers.result(message, 1), number=number, repeat=5)) / number
        assert best < 100e-6, f"{best * 1e6:.1f} us"


class TestHeartbeats:
    def test_everything(self) -> None:
        message = StreamHeartbeat(claim_token="t", checkpoint_no=2, alive=True, heartbeat_id=4)
        message.checkpoint.json = "1"
        message.frames.add(seq=1, kind=1).payload.json = '"x"'
        message.frames.add(seq=2, kind=2)
        assert workers.heartbeat(message, 4) == HeartbeatIn(
            "t", True, Payload(json="1"), 2, (Frame("", 0, 1, 1, 0, Payload(json='"x"')), Frame("", 0, 2, 2, 0, None)), True, 4
        )

    def test_a_checkpoint_without_data_clears_and_an_absent_one_keeps(self) -> None:
        message = HeartbeatRequest(claim_token="t")
        assert workers.heartbeat(message).has_checkpoint is False
        message.checkpoint.SetInParent()
        assert (workers.heartbeat(message).has_checkpoint, workers.heartbeat(message).checkpoint) == (True, None)

    def test_faults(self) -> None:
        message = HeartbeatRequest(checkpoint_no=-1)
        message.frames.add(seq=0, kind=0).payload.binary = b"x" * (limits.FRAME_PAYLOAD + 1)
        assert fields_of(lambda: workers.heartbeat(message)) == ["checkpoint_no", "frames[0].kind", "frames[0].payload", "frames[0].seq"]
        many = HeartbeatRequest()
        for seq in range(limits.FRAMES_PER_CALL + 1):
            many.frames.add(seq=seq + 1, kind=1)
        assert fields_of(lambda: workers.heartbeat(many)) == ["frames"]


class TestHello:
    def test_contracts(self) -> None:
        message = Hello(worker_id="w", client_name="perdure-python", client_version="1", session_id="s", session_secret="x", auto_ack=True)
        message.pools.add(pool="p", queue="gpu", workflow_type="note", step_contracts={"a": "c1"}, slots=2)
        message.lease.seconds = 6
        message.held_claim_tokens.append("t")
        found = workers.hello(message, ())
        assert (found.namespace, found.worker_id, found.client, found.auto_ack, found.lease) == (
            "default",
            "w",
            "perdure-python/1",
            True,
            6_000,
        )
        assert (found.session_id, found.session_secret, found.held_tokens) == ("s", "x", ("t",))
        assert found.pools == (Subscription("p", "gpu", "note", {"a": "c1"}, 2),)

    def test_contracts_come_from_a_definition_that_is_brought_along(self) -> None:
        message = Hello(worker_id="w")
        message.pools.add(pool="all", workflow_type="note", definition_index=0)
        message.pools.add(pool="one", workflow_type="note", definition_index=0, steps=["b"])
        found = workers.hello(message, (NOTE,))
        contracts = {step.name: step.contract for step in NOTE.steps}
        assert [pool.step_contracts for pool in found.pools] == [contracts, {"b": contracts["b"]}]

    def test_any_contract_is_the_empty_one(self) -> None:
        message = Hello(worker_id="w")
        message.pools.add(pool="all", workflow_type="note", any_contract=True)
        message.pools.add(pool="one", workflow_type="note", any_contract=True, steps=["b"])
        assert [pool.step_contracts for pool in workers.hello(message, ()).pools] == [{}, {"b": ""}]

    def test_faults(self) -> None:
        message = Hello()
        message.pools.add(pool="p", workflow_type="note", steps=["a"])
        message.pools.add(pool="p", workflow_type="?", queue="?", definition_index=3, slots=-1)
        message.pools.add(pool="q", workflow_type="other", definition_index=0, steps=["zz"])
        message.pools.add(pool="r", workflow_type="note", namespace="other")
        assert fields_of(lambda: workers.hello(message, (NOTE,))) == [
            "hello.pools",
            "hello.pools[0].steps",
            "hello.pools[1].definition_index",
            "hello.pools[1].queue",
            "hello.pools[1].slots",
            "hello.pools[1].workflow_type",
            "hello.pools[2].definition_index",
            "hello.pools[2].steps",
            "hello.pools[3].namespace",
            "hello.pools[3].step_contracts",
            "hello.worker_id",
        ]

    def test_capabilities_are_kept_as_far_as_they_are_short(self) -> None:
        found = workers.hello(Hello(worker_id="w", capabilities=["x" * 10_000, *"abc"] * 100), ()).capabilities
        assert (len(found), max(map(len, found)), found[1:4]) == (limits.WORKER_CAPABILITIES, limits.ID_LENGTH, ("a", "b", "c"))

    def test_the_faults_of_a_definition_are_those_of_the_pools_that_point_to_it(self) -> None:
        message = Hello(worker_id="w")
        message.pools.add(pool="p", workflow_type="note", definition_index=0)
        broken = FieldViolation([("definition.steps", "is empty")], Reason.DEFINITION_INVALID)
        assert fields_of(lambda: workers.hello(message, (broken,))) == ["hello.definitions[0].definition.steps"]


class TestUnary:
    def test_poll(self) -> None:
        message = PollClaimsRequest(worker_id="w", max_claims=0)
        message.pools.add(pool="p", workflow_type="note", any_contract=True)
        message.wait_time.seconds = 5
        hello, most, wait = workers.poll(message, ())
        assert (hello.auto_ack, most, wait, hello.lease) == (True, 1, 5_000, 0)

    def test_poll_faults(self) -> None:
        message = PollClaimsRequest(max_claims=101)
        message.wait_time.seconds = 61
        message.lease.seconds = 601
        assert fields_of(lambda: workers.poll(message, ())) == ["lease", "max_claims", "pools", "wait_time", "worker_id"]

    def test_held(self) -> None:
        message = HeldClaim(claim_token="b")
        message.since_alive.FromMilliseconds(1_500)
        assert workers.held([HeldClaim(claim_token="a"), message]) == [HeldIn("a", 0), HeldIn("b", 1_500)]
        message.since_alive.seconds = -1
        assert fields_of(lambda: workers.held([HeldClaim(), message])) == ["held[1].since_alive"]

    def test_leases_have_bounds(self) -> None:
        message = RenewClaimsRequest()
        assert workers.poll_lease(message, Faults()) == 0
        message.lease.seconds = 1
        faults = Faults()
        workers.poll_lease(message, faults)
        assert fields_of(faults.check) == ["lease"]
