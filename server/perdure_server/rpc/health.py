"""grpc.health.v1: one name per service, readiness under each and under "", liveness under a name of its own.

Readiness is "the store is reached and nobody drains"; it decides where traffic goes. Liveness is the process; it decides on restarts, and
must not follow the store: restarting servers does not bring a store back.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable

import grpc
from grpc_health.v1 import health_pb2

from perdure_server.rpc.probe import LIVENESS
from perdure_server.rpc.transport import Context


class HealthService:
    """Answers by asking `ready` when a change is possible; a one-way switch makes all but liveness NOT_SERVING."""

    descriptor = health_pb2.DESCRIPTOR.services_by_name["Health"]

    def __init__(self, names: Iterable[str], ready: Callable[[], bool]) -> None:
        self._names = frozenset({"", *names})
        self._ready = ready
        self._left = False
        self._serving = False
        self._changed = asyncio.Event()

    def leave(self) -> None:
        """The server is about to stop."""
        self._left = True
        self.look()

    def look(self) -> None:
        """See whether readiness changed, and tell those who watch."""
        serving = not self._left and self._ready()
        if serving != self._serving or self._left:
            self._serving = serving
            self._changed.set()
            self._changed = asyncio.Event()

    async def check(self, request: health_pb2.HealthCheckRequest, context: Context) -> health_pb2.HealthCheckResponse:
        """The state of one service now."""
        status = self._status(request.service)
        if status == health_pb2.HealthCheckResponse.SERVICE_UNKNOWN:
            # The protocol of this service wants a bare NOT_FOUND; nothing of ours is under way here.
            await context.abort(grpc.StatusCode.NOT_FOUND, "unknown service")
        return health_pb2.HealthCheckResponse(status=status)

    async def watch(self, request: health_pb2.HealthCheckRequest, _context: Context) -> AsyncIterator[health_pb2.HealthCheckResponse]:
        """The state now and at each change; ends when the server leaves, since an open stream would hold up its stop."""
        last: int | None = None
        while True:
            changed, left = self._changed, self._left  # both before the answer, which may take a while to be sent
            status = self._status(request.service)
            if status != last:
                yield health_pb2.HealthCheckResponse(status=status)
                last = status
            if left:
                return
            await changed.wait()

    def _status(self, service: str) -> int:
        states = health_pb2.HealthCheckResponse
        if service == LIVENESS:
            return int(states.SERVING)
        if service not in self._names:
            return int(states.SERVICE_UNKNOWN)
        return int(states.SERVING if not self._left and self._ready() else states.NOT_SERVING)
