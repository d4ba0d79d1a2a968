"""What the engine has to tell a worker, put into as few messages as their size allows: one message costs as much as many items."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from perdure.v1.worker_service_pb2 import ClaimResponse
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
from perdure_server.kernel.values import Payload
from perdure_server.rpc import limits
from perdure_server.rpc.encode import values, workers

_CLAIM_FIELDS = 1024  # what a claim takes beside its payloads, generously


def messages(items: Iterable[StreamOut], capabilities: frozenset[str]) -> Iterator[ClaimResponse]:
    """The messages for these items. Kinds that the client does not name are left out, except those that every client must know.

    Renewals go first, since leases depend on them; claims go before what is said about them; go_away is the last word.
    """
    settled: list[SettledOut] = []
    claims: list[GrantedClaim] = []
    others: list[StreamOut] = []
    for item in items:
        if isinstance(item, SettledOut):
            settled.append(item)
        elif isinstance(item, ClaimsOut):
            claims.extend(item.claims)
        elif isinstance(item, RenewedOut):
            message = ClaimResponse()
            workers.renewed(message.renewed, item)
            yield message
        else:
            others.append(item)
    yield from _settled(settled, claims)
    yield from _claims(claims)
    if others:
        yield from _others(others, capabilities)


def _settled(items: list[SettledOut], claims: list[GrantedClaim]) -> Iterator[ClaimResponse]:
    message, size = ClaimResponse(), 0
    for answer in items:
        item = answer
        own = limits.KIB + sum(claim_size(claim) for claim in item.next_claims)
        if own > limits.RESPONSE:  # too much for any one message: they go as claims of their own
            claims.extend(item.next_claims)
            item, own = replace(item, next_claims=()), limits.KIB
        if size and size + own > limits.RESPONSE:
            yield message
            message, size = ClaimResponse(), 0
        workers.settled(message.settled.settled.add(), item)
        size += own
    if size:
        yield message


def _claims(items: list[GrantedClaim]) -> Iterator[ClaimResponse]:
    message, size = ClaimResponse(), 0
    for item in items:
        own = claim_size(item)
        if size and size + own > limits.RESPONSE:
            yield message
            message, size = ClaimResponse(), 0
        workers.claim(message.claims.claims.add(), item)
        size += own
    if size:
        yield message


def _others(items: list[StreamOut], capabilities: frozenset[str]) -> Iterator[ClaimResponse]:
    cancel, lost, heartbeats, pools, last = (ClaimResponse() for _ in range(5))
    for item in items:
        if isinstance(item, CancelOut):
            target = cancel.cancel.claims.add(claim_token=item.token, reason=item.reason)
            values.duration(target.grace_remaining, item.grace)
        elif isinstance(item, LostOut):
            workers.lost(lost.lost.claims.add(), item.token, item.cause)
        elif isinstance(item, HeartbeatOut) and (item.heartbeat_id or item.error is not None):
            workers.heartbeat_answer(heartbeats.heartbeats_answered.answers.add(), item)
        elif isinstance(item, PoolsOut):
            for served in item.pools:
                workers.pool_status(pools.pools_changed.pools.add(), served)
        elif isinstance(item, GoAwayOut):
            values.duration(last.go_away.grace, item.grace)
            last.go_away.reason = workers.reason_value(item.reason)
    kinds = (("cancel", cancel), ("lost", lost), ("heartbeats", heartbeats), ("pools", pools), ("go_away", last))
    return (message for name, message in kinds if name in capabilities and message.WhichOneof("message"))


def how_many_fit(claims: Sequence[GrantedClaim]) -> int:
    """How many of these one message may carry; at least one."""
    size = 0
    for index, claim in enumerate(claims):
        size += claim_size(claim)
        if index and size > limits.RESPONSE - limits.POOL_STATUSES:
            return index
    return len(claims)


def claim_size(claim: GrantedClaim) -> int:
    """About how many bytes a claim takes in a message."""
    size = _CLAIM_FIELDS + 64 * len(claim.labels)
    for value in claim.inputs.values():
        size += _payload_size(value)
    for woken in claim.wakes:
        size += _payload_size(woken.payload)
    for failure in claim.failed_inputs.values():
        size += len(failure.message) + _payload_size(failure.details)
    return size + _payload_size(claim.checkpoint)


def _payload_size(value: Payload | None) -> int:
    # Characters, not bytes, for JSON: at most a factor of 4 too small, and a claim carries at most 1 MiB in all.
    return 0 if value is None else value.inline_size
