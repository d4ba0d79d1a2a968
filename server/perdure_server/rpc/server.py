"""The gRPC server: what it serves, how it treats connections, how it starts and stops."""

import asyncio
import ipaddress
import logging
from functools import partial
from typing import Final

import grpc
from grpc_reflection.v1alpha import reflection
from msgspec import Struct
from msgspec.structs import replace

from perdure_server.engine.audit import Audit
from perdure_server.engine.rehearsal import Rehearsal
from perdure_server.engine.service import Engine
from perdure_server.kernel.limits import SECOND
from perdure_server.ports.instruments import RPC_TIME
from perdure_server.ports.telemetry import Telemetry
from perdure_server.rpc import limits
from perdure_server.rpc.admin_service import AdminService
from perdure_server.rpc.audited import audited
from perdure_server.rpc.batch_step_options import step_options_verb
from perdure_server.rpc.doors.doors import Doors, authorised
from perdure_server.rpc.doors.entrance import DoorSettings, Entrance
from perdure_server.rpc.encode.phases import phase_number
from perdure_server.rpc.guard import Guard
from perdure_server.rpc.health import HealthService
from perdure_server.rpc.leaving import Leaving
from perdure_server.rpc.registry import Around, Servicer, generic_handler, unimplemented_methods
from perdure_server.rpc.server_info import ServerFacts
from perdure_server.rpc.testing_service import RefusedTestingService, TestingService
from perdure_server.rpc.transport import Behaviour
from perdure_server.rpc.worker_service import WorkerService
from perdure_server.rpc.workflow_service import WorkflowService

LOGGER = logging.getLogger(__name__)

OPTIONS: Final = (
    ("grpc.max_receive_message_length", limits.REQUEST),
    ("grpc.max_send_message_length", limits.RESPONSE_MAX),
    # The server pings idle connections, so that a worker that vanished without a word is noticed.
    ("grpc.keepalive_time_ms", limits.KEEPALIVE_INTERVAL),
    ("grpc.keepalive_timeout_ms", limits.KEEPALIVE_TIMEOUT),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    # Clients may ping as they like: a connection that is closed for "too many pings" takes claims with it.
    ("grpc.http2.min_ping_interval_without_data_ms", limits.PING_INTERVAL_MIN),
    ("grpc.http2.max_ping_strikes", 0),
    # Ten thousand clients that come back at once wait their turn; the default answers some beyond a thousand with CANCELLED.
    ("grpc.server.max_pending_requests", limits.PENDING_CALLS),
    ("grpc.server.max_pending_requests_hard_limit", 2 * limits.PENDING_CALLS),
)


def _aging(stream_age: int) -> tuple[tuple[str, int], ...]:
    """After our own go_away; see limits.STREAM_AGE."""
    age = int(stream_age * limits.CONNECTION_AGE_FACTOR)
    return (("grpc.max_connection_age_ms", age), ("grpc.max_connection_age_grace_ms", age))


class AddressInUse(Exception):
    """The address cannot be bound; the message says which and what to do."""


class ServerOptions(Struct, frozen=True):
    """Where to listen. Port 0 takes a free one. `insecure` allows addresses beyond loopback without doors. `stream_age` in ms.

    `shares_port`: other processes of this machine may listen on it, too; else a second one fails.
    """

    address: str
    port: int
    insecure: bool = False
    sample_ratio: float = 1.0
    stream_age: int = limits.STREAM_AGE
    doors: DoorSettings = DoorSettings()
    shares_port: bool = False


class RpcServer:
    """Serves one engine. `start`, then `leave` and `stop`."""

    def __init__(
        self, engine: Engine, options: ServerOptions, facts: ServerFacts, telemetry: Telemetry, *, rehearsal: Rehearsal | None = None
    ) -> None:
        """Raises DoorsInvalid."""
        self._engine = engine
        self.entrance = Entrance(options.doors, engine.clock, telemetry, engine.supervisor.run)
        engine.listing.phase_of = phase_number
        self._options = options
        self.leaving = Leaving(options.stream_age)
        self.guard = Guard(lambda method, code, took: telemetry.record(RPC_TIME, took, ("grpc", method.removeprefix("/"), code)))
        # The guard is outermost, so that whatever an interceptor after it raises is mapped as well.
        sharing = ("grpc.so_reuseport", int(options.shares_port))
        self._server = grpc.aio.server(interceptors=(self.guard,), options=(*OPTIONS, sharing, *_aging(options.stream_age)))
        facts = replace(facts, unimplemented=tuple(unimplemented_methods(WorkflowService, WorkerService, AdminService)))
        services: tuple[Servicer, ...] = (
            WorkflowService(engine, self.leaving, options.sample_ratio),
            WorkerService(engine, self.leaving, facts.version),
            (admin := AdminService(engine, facts)),
        )
        engine.operations.batch_runner.verbs["update_step_options"] = step_options_verb(admin.update_step_options)
        if rehearsal is not None:
            services = (*services, TestingService(rehearsal))
        names = [service.descriptor.full_name for service in services]
        self._health = HealthService(names, lambda: engine.ready)
        if rehearsal is None:
            services = (*services, RefusedTestingService())
        around = _around(engine.audit, self.entrance.doors)
        handlers = [generic_handler(service, around) for service in services]
        self._server.add_generic_rpc_handlers((*handlers, generic_handler(self._health)))  # health answers anybody
        if options.doors.reflection:
            shown = [*names, self._health.descriptor.full_name, reflection.SERVICE_NAME]
            reflection.enable_server_reflection(shown, self._server)

    async def start(self) -> int:
        """Listen; returns the port. Raises AddressInUse."""
        port = self._bind()
        await self._server.start()
        self._engine.supervisor.loop(self._health_step, "health")
        if self._options.doors != DoorSettings():
            self._engine.supervisor.loop(self.entrance.step, "doors")
        return port

    def leave(self) -> None:
        """First step of a stop: health says NOT_SERVING, so that no new traffic is sent here."""
        self._health.leave()

    async def stop(self, grace: int) -> None:
        """Last step: long calls end politely, short ones are served until nobody calls any more, up to `grace` ms; what is left is cut.

        Connections are told last: grpc answers a call that meets a stopped server with CANCELLED, which nobody tries again (case C60).
        """
        self._health.leave()
        self.leaving.begin()
        try:
            async with asyncio.timeout(grace / SECOND):
                await self._quiet()
        except TimeoutError:
            LOGGER.warning("calls still running after the grace are cut: %d", self.guard.in_flight)
        await self._server.stop(limits.LINGER / SECOND)
        # `Server.stop` counts calls on the wire, not handlers.
        await asyncio.wait_for(self.guard.idle(), limits.LINGER / SECOND)
        LOGGER.info("gRPC stopped, handlers left: %d", self.guard.in_flight)

    async def _quiet(self) -> None:
        entered = -1
        while entered != self.guard.entered:
            await self.guard.idle()
            entered = self.guard.entered
            await self._engine.clock.sleep(limits.QUIET)

    async def _health_step(self) -> None:
        await self._engine.clock.sleep(self._engine.clock.together(limits.HEALTH_INTERVAL))
        self._health.look()

    def _bind(self) -> int:
        options = self._options
        credentials = self.entrance.credentials
        if not options.insecure and not is_loopback(options.address) and (credentials is None or self.entrance.doors is None):
            raise AddressInUse(f"{options.address} is not a loopback address: that takes TLS and an access file, or `insecure`")
        host = f"[{options.address}]" if ":" in options.address else options.address
        address = f"{host}:{options.port}"
        try:
            bind = self._server
            port = bind.add_insecure_port(address) if credentials is None else bind.add_secure_port(address, credentials)
        except RuntimeError:
            port = 0
        if not port:
            raise AddressInUse(f"cannot listen on {address}; is another server there? Choose another port, or 0 for a free one")
        return port


def _around(audit: Audit, doors: Doors | None) -> Around:
    if doors is None:
        return partial(audited, audit)

    def around(method: str, behaviour: Behaviour) -> Behaviour:
        # The audit is between: it names the caller that was proved, and notes what it was not allowed to do.
        return doors.authenticated(method, audited(audit, method, authorised(method, behaviour)))

    return around


def is_loopback(address: str) -> bool:
    """Whether an address reaches this machine only."""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
