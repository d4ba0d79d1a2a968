"""TestService, for tests without sleeping: served by `perdure dev --test` alone, refused by every other server."""

from perdure.testing.v1 import test_service_pb2 as wire
from perdure_server.engine.rehearsal import Rehearsal
from perdure_server.engine.time_travel import Advanced
from perdure_server.rpc.decode import testing as decode
from perdure_server.rpc.encode import values
from perdure_server.rpc.transport import Context


class RefusedTestingService:
    """On a server that keeps real work, nobody moves the clock."""

    descriptor = wire.DESCRIPTOR.services_by_name["TestService"]


class TestingService(RefusedTestingService):
    """Moves the clock, plays the worker, and waits until nothing moves."""

    def __init__(self, rehearsal: Rehearsal) -> None:
        self._rehearsal = rehearsal

    async def advance_time(self, request: wire.AdvanceTimeRequest, _context: Context) -> wire.AdvanceTimeResponse:
        """Let time pass, from due time to due time."""
        kind, amount = decode.target(request)
        time, waits = self._rehearsal.time, not request.skip_wait_idle
        if kind == "by":
            advanced = await time.advance_by(amount, waits)
        elif kind == "to_time":
            advanced = await time.advance_to(amount, waits)
        else:
            advanced = await time.advance_to_next_due(waits)
        return _advanced(advanced)

    async def script_outcomes(self, request: wire.ScriptOutcomesRequest, _context: Context) -> wire.ScriptOutcomesResponse:
        """Play the worker of a type."""
        namespace, scripts = decode.outcomes(request)
        count = await self._rehearsal.scripts.script(namespace, request.workflow_type, scripts, request.replace)
        return wire.ScriptOutcomesResponse(script_count=count)

    async def wait_idle(self, request: wire.WaitIdleRequest, _context: Context) -> wire.WaitIdleResponse:
        """Wait until nothing moves, for a while."""
        scope, within = decode.idle_wait(request)
        quiet = await self._rehearsal.idleness.wait(scope, within)
        response = wire.WaitIdleResponse(idle=not quiet.busy, busy=quiet.busy)
        values.time(response.now_time, self._rehearsal.clock.now())
        if quiet.next_due is not None:
            values.time(response.next_due_time, quiet.next_due)
        return response


def _advanced(advanced: Advanced) -> wire.AdvanceTimeResponse:
    response = wire.AdvanceTimeResponse(fired_count=advanced.fired)
    values.time(response.now_time, advanced.now)
    values.duration(response.advanced, advanced.passed)
    if advanced.next_due is not None:
        values.time(response.next_due_time, advanced.next_due)
    return response
