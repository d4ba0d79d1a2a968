"""Builds everything, owns start and stop. The only file that imports adapters.

Start is one stack and stop is its reverse: the store is opened first and closed last. Each part of a stop is bounded, and a watchdog ends
the process soon after the grace in any case, also when MongoDB hangs (case C60).
"""

import asyncio
import gc
import logging
import os
import secrets
import signal
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Final, NoReturn

from perdure_server import config as configuration
from perdure_server.config import Config
from perdure_server.coordination.local import LocalCoordination
from perdure_server.engine.clock import StoreClock
from perdure_server.engine.entropy import Entropy
from perdure_server.engine.rehearsal import Rehearsal
from perdure_server.engine.service import Engine
from perdure_server.engine.settings import EngineSettings
from perdure_server.engine.shifted_clock import ShiftedClock
from perdure_server.kernel.limits import SECOND
from perdure_server.ports.coordination import Coordination
from perdure_server.ports.errors import StoreError, StoreUnavailable
from perdure_server.ports.outbox import Outbox
from perdure_server.ports.store import Store
from perdure_server.ports.telemetry import Meter
from perdure_server.rpc.doors.certificates import TlsFiles
from perdure_server.rpc.doors.entrance import DoorSettings
from perdure_server.rpc.doors.invalid import DoorsInvalid
from perdure_server.rpc.server import AddressInUse, RpcServer, ServerOptions
from perdure_server.rpc.server_info import ServerFacts
from perdure_server.store.committer import Road
from perdure_server.store.driver import Connection
from perdure_server.store.mongo import MongoStore
from perdure_server.store.outbox import MongoOutbox
from perdure_server.telemetry.logs import configure
from perdure_server.telemetry.open_telemetry import MetricsOptions, OpenTelemetry, otlp_exporter, otlp_metric_exporter
from perdure_server.telemetry.prometheus import MetricsAddressError

LOGGER = logging.getLogger(__name__)

EXIT_FAILED: Final = 1


@dataclass(frozen=True)
class Running:
    """A server that serves. `port` is the one that it listens on."""

    port: int
    engine: Engine
    server: RpcServer
    telemetry: OpenTelemetry


@dataclass(frozen=True)
class Parts:
    """What a caller (`perdure dev`, a test) brings instead of what the configuration names. It is opened and closed by `serve`."""

    store: Store | None = None
    coordination: Callable[[StoreClock], Coordination] | None = None
    telemetry: OpenTelemetry | None = None
    outboxes: Sequence[Outbox] = ()  # with a store of the caller's; else the configuration names them
    dev: bool = False
    test: bool = False  # TestService is served, and its clock can be moved; the store must be a new one


@asynccontextmanager
async def serve(config: Config, parts: Parts | None = None) -> AsyncIterator[Running]:
    """Serve for the time of the context, and stop in order when it is left.

    Raises StoreError when the store cannot be used, StoreUnavailable when it is not reached within store_wait_ms, AddressInUse,
    MetricsAddressError, DoorsInvalid when a file of the doors cannot be used.
    """
    parts = parts or Parts()
    async with AsyncExitStack() as stack:
        server_id = secrets.token_hex(6)
        telemetry = parts.telemetry or _telemetry(config, server_id)
        telemetry.open()
        stack.push_async_callback(telemetry.close)
        store = parts.store or _store(config, telemetry)
        stack.push_async_callback(_bounded, "store", store.close)
        await _open_store(store, config.store_wait_ms)
        clock = StoreClock(store.time, phase=secrets.randbelow(SECOND))
        for _ in range(configuration.CLOCK_FIRST_SAMPLES):
            await clock.sync()
        coordination = (parts.coordination or _coordination(config, telemetry))(clock)
        stack.push_async_callback(_bounded, "coordination", coordination.close)
        await coordination.open()
        told = ShiftedClock(clock) if parts.test else clock
        outboxes = await _outboxes(config, parts, store, stack)
        settings = _settings(config, parts, server_id)
        engine = Engine(store, coordination, telemetry, told, settings=settings, entropy=Entropy(), outboxes=outboxes)
        stack.push_async_callback(_bounded, "engine", engine.close)
        await engine.open()
        engine.supervisor.loop(lambda: _sync(clock), "clock")
        options = ServerOptions(
            config.address,
            config.port,
            config.insecure,
            config.trace_sample_ratio,
            config.stream_age_ms,
            _door_settings(config),
            shares_port=config.processes > 1,
        )
        facts = ServerFacts(version("perdure-server"), clock.now(), parts.dev)
        rehearsal = Rehearsal(engine, told) if isinstance(told, ShiftedClock) else None
        server = RpcServer(engine, options, facts, telemetry, rehearsal=rehearsal)
        port = await server.start()
        stack.push_async_callback(_stop_serving, engine, server, config.drain_grace_ms)
        LOGGER.info("serving on %s:%d, server id %s, %s", config.address, port, server_id, _summary(engine))
        yield Running(port, engine, server, telemetry)


def _door_settings(config: Config) -> DoorSettings:
    tls = None
    if config.tls_cert_file:
        client_ca = Path(config.tls_client_ca_file) if config.tls_client_ca_file else None
        tls = TlsFiles(Path(config.tls_cert_file), Path(config.tls_key_file), client_ca)
    return DoorSettings(tls, Path(config.access_file) if config.access_file else None, config.reflection)


async def _outboxes(config: Config, parts: Parts, store: Store, stack: AsyncExitStack) -> Sequence[Outbox]:
    if not isinstance(store, MongoStore) or parts.store is not None:
        return parts.outboxes
    found: list[Outbox] = []
    for name in config.outbox:
        database, _, collection = name.rpartition(".")
        is_ours = database in {"", config.database} and not config.outbox_url
        url = config.outbox_url or config.mongo_url
        connection = store.connection if is_ours else Connection(url, database or config.database, config.driver)
        outbox = MongoOutbox(connection, collection, is_ours)
        stack.push_async_callback(_bounded, f"outbox {name}", outbox.close)
        await outbox.open()
        found.append(outbox)
    return found


def _settings(config: Config, parts: Parts, server_id: str) -> EngineSettings:
    return EngineSettings(
        server_id,
        config.session_lease_ms,
        drain_grace=config.drain_grace_ms,
        is_test=parts.test,
        trace_sample_ratio=config.trace_sample_ratio,
        register_from_hello=parts.dev,
    )


async def _stop_serving(engine: Engine, server: RpcServer, grace: int) -> None:
    LOGGER.info("stopping within %d ms", grace)
    server.leave()
    await engine.drain(grace * 4 // 5)  # streams end a little before the grace does, so that their last words are not cut
    await server.stop(grace)


def _store(config: Config, meter: Meter) -> Store:
    road = Road.TRANSACTION if config.store_transactions else None
    return MongoStore(config.mongo_url, config.database, config.driver, road, meter=meter)


async def _open_store(store: Store, wait: int) -> None:
    deadline = asyncio.get_running_loop().time() + wait / SECOND
    while True:
        try:
            await store.open()
        except StoreUnavailable as error:
            if asyncio.get_running_loop().time() >= deadline:
                raise
            LOGGER.warning("the store is not reached yet (%s); trying again", error)
            await _pause(configuration.STORE_RETRY_MS)
        else:
            return


async def _pause(duration: int) -> None:
    await asyncio.sleep(duration / SECOND)  # noqa: TID251 -- there is no clock yet: it is made from the store that is being opened


async def _sync(clock: StoreClock) -> None:
    await clock.sleep(clock.together(configuration.CLOCK_INTERVAL_MS))
    await clock.sync()


async def _bounded(name: str, close: Callable[[], Awaitable[None]]) -> None:
    # A part that hangs must not keep those below it in the stack from closing.
    try:
        async with asyncio.timeout(configuration.CLOSE_MS / SECOND):
            await close()
    except TimeoutError:
        LOGGER.warning("%s did not close in time", name)
    except Exception:
        LOGGER.exception("%s failed to close", name)


def _coordination(config: Config, meter: Meter) -> Callable[[StoreClock], Coordination]:
    if not config.redis_url:
        return LocalCoordination
    from perdure_server.coordination.redis import RedisCoordination  # noqa: PLC0415 -- a quarter of the start's time, if unused

    return lambda _clock: RedisCoordination(config.redis_url, config.redis_prefix, meter=meter)


def _telemetry(config: Config, server_id: str) -> OpenTelemetry:
    endpoint = config.otlp_endpoint
    metrics = MetricsOptions(
        config.metrics_address, config.metrics_port or None, otlp_metric_exporter(endpoint) if endpoint and config.otlp_metrics else None
    )
    facts = {"service.instance.id": server_id, "service.version": version("perdure-server")}
    return OpenTelemetry(otlp_exporter(endpoint) if endpoint else None, facts, metrics)


def _summary(engine: Engine) -> str:
    facts = engine.description()
    names = ("store_kind", "store_version", "store_durability", "coordination_kind")
    return ", ".join(f"{name.replace('_', ' ')} {facts[name]}" for name in names if facts.get(name))


class Signals:
    """The first signal asks for an orderly stop and starts the watchdog. A second one, or one before it serves, ends the process."""

    def __init__(self, grace: int) -> None:
        self.stop = asyncio.Event()
        self.serving = False
        self._grace = grace

    def install(self) -> None:
        """Handle SIGTERM and SIGINT from now on."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._handle, number)

    def on_hangup(self, read_again: Callable[[], None]) -> None:
        """SIGHUP asks for certificates and access file to be read again."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, read_again)

    def _handle(self, number: signal.Signals) -> None:
        if self.stop.is_set() or not self.serving:
            _leave_now(128 + number, f"{number.name}: leaving at once")
        self.stop.set()
        # A thread, because the loop itself may be what hangs.
        late = (self._grace + configuration.AFTER_GRACE_MS) / SECOND
        watchdog = threading.Timer(late, _leave_now, (EXIT_FAILED, "the stop took too long: leaving"))
        watchdog.daemon = True
        watchdog.start()


def _leave_now(code: int, text: str) -> NoReturn:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
    os._exit(code)


def _spare_the_collector() -> None:
    """Python's cycle collector: what the start has made is not looked at again, and young objects are looked at less often.

    Nearly all that a call makes is freed by its reference counts; looking for cycles among it was a twelfth of the server's CPU time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(configuration.COLLECTED_OBJECTS, *gc.get_threshold()[1:])


async def _serve_until_signalled(config: Config, on_serving: Callable[[int], None]) -> None:
    signals = Signals(config.drain_grace_ms)
    signals.install()
    async with serve(config) as running:
        signals.on_hangup(running.server.entrance.read_again)
        signals.serving = True
        _spare_the_collector()
        on_serving(running.port)
        await signals.stop.wait()


def run(config: Config, on_serving: Callable[[int], None] | None = None) -> int:
    """Serve until SIGTERM or SIGINT; returns the exit code. The whole of `python -m perdure_server serve` with one process.

    `on_serving` is told the port when it serves; by default it is printed.
    """
    configure(config.log_level, config.log_format)
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_serve_until_signalled(config, on_serving or partial(_announce, config.address)))
    except (StoreError, AddressInUse, DoorsInvalid, MetricsAddressError) as error:
        print(f"perdure serve: {error}", file=sys.stderr)
        return EXIT_FAILED
    return 0


def _announce(address: str, port: int) -> None:
    print(f"perdure serves on {address}:{port}", flush=True)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # noqa: PLC0415 -- not there on every platform; then asyncio's own loop serves
    except ImportError:
        return None
    return uvloop.new_event_loop
