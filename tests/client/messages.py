"""Messages as a server makes them."""

from collections.abc import Sequence

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc import error_details_pb2, status_pb2

from perdure.v1 import claim_pb2, worker_service_pb2


def status(code: grpc.StatusCode, reason: str = "", message: str = "", **metadata: str) -> status_pb2.Status:
    """A google.rpc.Status as a server makes it."""
    made = status_pb2.Status(code=code.value[0], message=message or reason)
    if reason:
        packed = AnyMessage()
        packed.Pack(error_details_pb2.ErrorInfo(reason=reason, domain="perdure", metadata=metadata))
        made.details.append(packed)
    return made


CLAIM_LOST = status(grpc.StatusCode.FAILED_PRECONDITION, "CLAIM_LOST", cause="EXPIRED")


def claims(*granted: claim_pb2.Claim) -> worker_service_pb2.ClaimResponse:
    """The message that grants claims."""
    return worker_service_pb2.ClaimResponse(claims=worker_service_pb2.Claims(claims=granted))


def answered(heartbeat_id: int, problem: status_pb2.Status | None = None, *, cancel: bool = False) -> worker_service_pb2.ClaimResponse:
    """The message that answers a heartbeat."""
    answer = worker_service_pb2.HeartbeatAnswer(heartbeat_id=heartbeat_id, status=problem, cancel_requested=cancel)
    return worker_service_pb2.ClaimResponse(heartbeats_answered=worker_service_pb2.HeartbeatsAnswered(answers=[answer]))


def settled(
    result_id: int, problem: status_pb2.Status | None = None, next_claims: Sequence[claim_pb2.Claim] = ()
) -> worker_service_pb2.ClaimResponse:
    """The message that answers a result."""
    answer = worker_service_pb2.Settled(result_id=result_id, status=problem, next_claims=next_claims)
    return worker_service_pb2.ClaimResponse(settled=worker_service_pb2.SettledResults(settled=[answer]))


def lost(
    token: str, cause: "worker_service_pb2.ClaimLossCause.ValueType" = worker_service_pb2.CLAIM_LOSS_CAUSE_EXPIRED
) -> worker_service_pb2.ClaimResponse:
    """The message that says that a claim is lost."""
    return worker_service_pb2.ClaimResponse(
        lost=worker_service_pb2.LostClaims(claims=[worker_service_pb2.LostClaim(claim_token=token, cause=cause)])
    )


def cancel(token: str, reason: str = "WORKFLOW_CANCELLED") -> worker_service_pb2.ClaimResponse:
    """The message that asks an activity to stop."""
    return worker_service_pb2.ClaimResponse(
        cancel=worker_service_pb2.CancelClaims(claims=[worker_service_pb2.CancelClaim(claim_token=token, reason=reason)])
    )
