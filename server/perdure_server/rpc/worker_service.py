"""WorkerService: decode, ask the engine, encode."""

from contextlib import suppress

from msgspec.structs import replace

from perdure.v1 import worker_service_pb2 as wire
from perdure_server.engine.service import Engine
from perdure_server.engine.values import GrantedClaim, ResultIn
from perdure_server.kernel.outcomes import Released
from perdure_server.kernel.rejection import FieldViolation, Rejection
from perdure_server.rpc import limits, offers
from perdure_server.rpc.claim_stream import ClaimStream
from perdure_server.rpc.decode import values as decode_values
from perdure_server.rpc.decode import workers as decode
from perdure_server.rpc.encode import values, workers
from perdure_server.rpc.encode.stream import how_many_fit
from perdure_server.rpc.faults import Faults
from perdure_server.rpc.leaving import Leaving
from perdure_server.rpc.transport import Context
from perdure_server.rpc.workflow_service import within_deadline


class WorkerService:
    """What workers call."""

    descriptor = wire.DESCRIPTOR.services_by_name["WorkerService"]

    def __init__(self, engine: Engine, leaving: Leaving, server_version: str) -> None:
        self._engine = engine
        self._leaving = leaving
        self._server_version = server_version

    async def claim(self, _requests: object, context: Context) -> None:
        """The stream of claims."""
        await ClaimStream(self._engine, self._leaving, context, self._server_version).run()

    async def complete(self, request: wire.CompleteRequest, _context: Context) -> wire.CompleteResponse:
        """Settle one claim."""
        settled = await self._engine.complete(decode.result(request))
        response = wire.CompleteResponse(duplicate=settled.duplicate)
        for claim in await self._that_fit(settled.next_claims):
            workers.claim(response.next_claims.add(), claim)
        return response

    async def heartbeat(self, request: wire.HeartbeatRequest, _context: Context) -> wire.HeartbeatResponse:
        """Checkpoint, frames and sign of life of one claim; renews its session."""
        answer = await self._engine.heartbeat(decode.heartbeat(request))
        response = wire.HeartbeatResponse(cancel_requested=answer.cancel_requested)
        values.duration(response.lease_remaining, answer.lease_remaining)
        return response

    async def poll_claims(self, request: wire.PollClaimsRequest, context: Context) -> wire.PollClaimsResponse:
        """Wait for claims without a stream."""
        checked = await offers.check(self._engine, request.definitions, request.namespace or decode_values.DEFAULT_NAMESPACE)
        hello, most, wait = decode.poll(request, checked)
        await offers.register(self._engine, request.definitions, checked, wire.Welcome())
        async with self._leaving.cut_short():
            served, claims, lease = await self._engine.poll(replace(hello, peer=context.peer()), most, within_deadline(wait, context))
        response = wire.PollClaimsResponse()
        values.duration(response.lease_duration, lease)
        for status in served:
            workers.pool_status(response.pools.add(), status)
        if (size := response.ByteSize()) > limits.POOL_STATUSES:
            await self._give_back(claims)
            text = f"need an answer of {size} bytes without any claim, more than {limits.POOL_STATUSES}: name fewer"
            raise FieldViolation([("pools", text)])
        for claim in await self._that_fit(claims):
            workers.claim(response.claims.add(), claim)
        return response

    async def renew_claims(self, request: wire.RenewClaimsRequest, _context: Context) -> wire.RenewClaimsResponse:
        """Renew the leases of claims from PollClaims."""
        faults = Faults()
        if not request.held:
            faults.add("held", "is empty")
        lease = decode.poll_lease(request, faults)
        faults.check()
        return workers.renewed_claims(await self._engine.renew_claims(decode.held(request.held), lease))

    async def _that_fit(self, claims: tuple[GrantedClaim, ...]) -> tuple[GrantedClaim, ...]:
        """As many as one answer may carry; the others are given back, uncharged, before anybody has seen them."""
        fitting = how_many_fit(claims)
        await self._give_back(claims[fitting:])
        return claims[:fitting]

    async def _give_back(self, claims: tuple[GrantedClaim, ...]) -> None:
        for claim in claims:
            with suppress(Rejection):
                await self._engine.complete(ResultIn(claim.token, Released()))
