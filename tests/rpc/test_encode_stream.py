"""What the engine tells a worker, as messages."""

from perdure.v1 import worker_service_pb2 as wire
from perdure_server.engine.values import (
    CancelOut,
    ClaimsOut,
    GoAwayOut,
    GrantedClaim,
    HeartbeatOut,
    LostOut,
    PoolsOut,
    RenewedOut,
    SettledOut,
    StreamOut,
)
from perdure_server.kernel.definition import StepDefinition
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.values import LossCause, Payload, Trace
from perdure_server.kernel.workflow import WorkflowKey
from perdure_server.rpc.encode.stream import messages
from tests.rpc.conftest import from_status
from tests.rpc.worker import EVERYTHING

ALL = frozenset(EVERYTHING)


def granted(size: int = 10, token: str = "t") -> GrantedClaim:
    return GrantedClaim(
        token=token,
        key=WorkflowKey("default", "note", "k"),
        run_id="aa" * 12,
        round=1,
        fence=7,
        fingerprint="f" * 64,
        plan=StepDefinition("a", contract="c" * 32, silence_timeout=30_000),
        claim_no=2,
        attempt=1,
        generation=0,
        pool="p",
        inputs={"input": Payload(binary=b"x" * size)},
        checkpoint=Payload(json="1"),
        checkpoint_no=3,
        wakes=(),
        lease_remaining=1_500,
        attempt_remaining=600_000,
        trace=Trace("1" * 32, "2" * 16, state="a=1"),
        span_id="3" * 16,
        labels={"tenant": "acme"},
        idempotency_key="i",
        wake_token="w",
        begin_after_renewed=True,
        cancel_requested=True,
        last_failure=None,
    )


def test_a_batch_becomes_few_messages_in_a_safe_order() -> None:
    items: list[StreamOut] = [
        LostOut("a", LossCause.EXPIRED),
        SettledOut(1),
        CancelOut("b", 500, "why"),
        ClaimsOut((granted(token="x"),)),
        RenewedOut(7, 1_000),
        SettledOut(2, duplicate=True),
        ClaimsOut((granted(token="y"), granted(token="z"))),
        LostOut("c", LossCause.CLOSED),
        HeartbeatOut(1, "a", cancel_requested=True),
        HeartbeatOut(0, "a"),
        GoAwayOut(1_000, Reason.DRAINING),
    ]
    found = list(messages(items, ALL))
    assert [message.WhichOneof("message") for message in found] == [
        "renewed",
        "settled",
        "claims",
        "cancel",
        "lost",
        "heartbeats_answered",
        "go_away",
    ]
    assert [item.result_id for item in found[1].settled.settled] == [1, 2]
    assert [claim.claim_token for claim in found[2].claims.claims] == ["x", "y", "z"]
    assert [(lost.claim_token, wire.ClaimLossCause.Name(lost.cause)) for lost in found[4].lost.claims] == [
        ("a", "CLAIM_LOSS_CAUSE_EXPIRED"),
        ("c", "CLAIM_LOSS_CAUSE_CLOSED"),
    ]
    assert len(found[5].heartbeats_answered.answers) == 1


def test_kinds_that_the_client_does_not_name_are_not_sent() -> None:
    items: list[StreamOut] = [
        CancelOut("b", 0, ""),
        LostOut("a", LossCause.UNKNOWN),
        HeartbeatOut(1, "a"),
        PoolsOut(()),
        GoAwayOut(0, Reason.DRAINING),
    ]
    assert list(messages(items, frozenset())) == []
    assert [message.WhichOneof("message") for message in messages([RenewedOut(1, 1), SettledOut(1)], frozenset())] == [
        "renewed",
        "settled",
    ]


def test_no_message_is_larger_than_clients_take() -> None:
    claims = tuple(granted(900_000, f"t{index}") for index in range(9))
    found = list(messages([ClaimsOut(claims), SettledOut(1, next_claims=claims), SettledOut(2, next_claims=claims[:2])], ALL))
    assert all(message.ByteSize() < 4 * 1024 * 1024 for message in found)
    told = [claim.claim_token for message in found for claim in message.claims.claims]
    told += [claim.claim_token for message in found for item in message.settled.settled for claim in item.next_claims]
    assert sorted(told) == sorted([f"t{index}" for index in range(9)] * 2 + ["t0", "t1"])


def test_a_claim_says_everything() -> None:
    claim = next(iter(messages([ClaimsOut((granted(),))], ALL))).claims.claims[0]
    unset = {field.name for field in claim.DESCRIPTOR.fields} - {field.name for field, _ in claim.ListFields()}
    later = {"stop_at_lease_end", "hook", "cursor", "failed_inputs"}
    assert unset == later | {"wakes", "generation", "last_failure"}
    assert (claim.workflow.namespace, claim.workflow.round, claim.tracestate) == ("default", 1, "a=1")
    assert claim.traceparent == f"00-{'1' * 32}-{'3' * 16}-01"
    assert claim.lease_remaining.ToMilliseconds() == 1_500


def test_errors_of_renewals_are_statuses() -> None:
    error = Rejection(Reason.SESSION_LOST, "gone")
    found = next(iter(messages([RenewedOut(1, 0, error)], ALL)))
    assert from_status(found.renewed.status).reason == "SESSION_LOST"
