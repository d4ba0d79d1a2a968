"""`embedded_services`: a store and a Redis of our own, for as long as the block lasts."""

import logging
import os
from asyncio import TaskGroup
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic

from perdure_server.embedded import limits
from perdure_server.embedded.directory import DataDirectory, free_port, is_free, owned
from perdure_server.embedded.logs import BoundedLog
from perdure_server.embedded.probes import probe_redis, probe_store
from perdure_server.embedded.process import Launch, SupervisedChild
from perdure_server.embedded.programs import Kind, Program, child_environment, choose_redis, choose_store
from perdure_server.embedded.values import (
    ChildDidNotStartError,
    EmbeddedEvent,
    EmbeddedOptions,
    EmbeddedRedis,
    EmbeddedStore,
    Happening,
    RedisKind,
    Service,
    StoreKind,
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Running(Generic[Kind]):
    program: Program[Kind]
    child: SupervisedChild


class EmbeddedServices:
    """What runs. Values are read anew each time: a restart changes the pid, never the URL."""

    def __init__(self, store: _Running[StoreKind], redis: _Running[RedisKind] | None) -> None:
        self._store = store
        self._redis = redis

    @property
    def store(self) -> EmbeddedStore:
        """The store; after a crash this tells of the newest process."""
        child, program = self._store.child, self._store.program
        # One member under an address of this machine: no discovery, so that a client never waits for an election to be told.
        url = f"mongodb://127.0.0.1:{child.launch.port}/?directConnection=true&retryWrites=false"
        return EmbeddedStore(url, program.kind, child.version, program.durability, child.pid)

    @property
    def redis(self) -> EmbeddedRedis | None:
        """Redis; None: there is no program for it here, or it was not wanted, and coordination is in-process."""
        if self._redis is None:
            return None
        child = self._redis.child
        return EmbeddedRedis(f"redis://127.0.0.1:{child.launch.port}/0", self._redis.program.kind, child.version, child.pid)

    def kill(self, service: Service) -> int:
        """`kill -9`; returns the pid. It is started again on its port by itself."""
        return self._child(service).kill()

    async def restart(self, service: Service) -> None:
        """A clean stop and start on the same port; returns when it answers."""
        await self._child(service).restart()

    async def until_ready(self, service: Service) -> None:
        """Returns when it answers, at once if it does; after `kill`, when the new process does."""
        await self._child(service).until_ready()

    def _child(self, service: Service) -> SupervisedChild:
        running = self._store if service is Service.STORE else self._redis
        if running is None:
            raise LookupError("there is no Redis process: coordination is in-process")
        return running.child


@asynccontextmanager
async def embedded_services(options: EmbeddedOptions) -> AsyncIterator[EmbeddedServices]:
    """Starts the store, then Redis; at the end of the block stops Redis, then the store, cleanly. Stop what uses them inside the block.

    If this process is killed, so are they. Enter it from the main thread: on Linux they end with the thread that started them.
    Raises DataDirectoryInUseError, ProgramNotFoundError or ChildDidNotStartError; then nothing is left running.
    """
    failures: list[Exception] = []
    async with owned(options.data_directory) as directory, TaskGroup() as group, AsyncExitStack() as children:
        try:
            yield await _start_all(options, directory, group, children)
        except Exception as error:  # noqa: BLE001 -- raised again below: a task group would wrap the caller's error in a group
            failures.append(error)
    if failures:
        raise failures[0]


async def _start_all(options: EmbeddedOptions, directory: DataDirectory, group: TaskGroup, children: AsyncExitStack) -> EmbeddedServices:
    start = _Starter(options, directory, children.enter_context(_lifeline()))
    store = await start.store(children)
    redis = await start.redis(children) if options.redis else None
    group.create_task(store.child.supervise())
    if redis is not None:
        group.create_task(redis.child.supervise())
    return EmbeddedServices(store, redis)


@contextmanager
def _lifeline() -> Iterator[int]:
    """The reading end of a pipe that only this process can write to; it never does."""
    reading, writing = os.pipe()
    try:
        yield reading
    finally:
        os.close(reading)
        os.close(writing)


class _Starter:
    """Starts each child once, and leaves its end to the stack."""

    def __init__(self, options: EmbeddedOptions, directory: DataDirectory, lifeline: int) -> None:
        self._options = options
        self._directory = directory
        self._lifeline = lifeline
        self._search = options.environment.get("PATH", os.defpath)

    async def store(self, children: AsyncExitStack) -> _Running[StoreKind]:
        """Raises ProgramNotFoundError or ChildDidNotStartError."""
        kind, _ = self._directory.recall(Service.STORE)
        known = StoreKind(kind) if kind in set(StoreKind) else None
        program = choose_store(self._search, self._options.store_kind, known)
        self._tell(Service.STORE, f"store: {program.kind} ({program.why}); {program.durability}")
        return await self._run(Service.STORE, program, self._directory.of(f"store-{program.kind}"), children)

    async def redis(self, children: AsyncExitStack) -> _Running[RedisKind] | None:
        """None if no program for it is installed. Raises ChildDidNotStartError."""
        program = choose_redis(self._search)
        if program is None:
            self._tell(Service.REDIS, "redis: none installed; coordination is in-process, which is right for one server")
            return None
        self._tell(Service.REDIS, f"redis: {program.kind} ({program.why}); in memory only, nothing is lost with it")
        return await self._run(Service.REDIS, program, self._directory.of("redis"), children)

    async def _run(self, service: Service, program: Program[Kind], directory: Path, children: AsyncExitStack) -> _Running[Kind]:
        _, preferred = self._directory.recall(service)
        for _ in range(limits.START_TRIES):
            port = free_port(preferred)
            child = SupervisedChild(self._launch(service, program, directory, port), self._log(service), self._report)
            children.push_async_callback(child.stop)
            try:
                await child.start()
            except ChildDidNotStartError:
                if is_free(port):
                    raise
                continue  # somebody took the port between our look and its start
            self._directory.remember(service, program.kind, port)
            return _Running(program, child)
        raise ChildDidNotStartError(f"{service} ({program.kind}) lost its port to others {limits.START_TRIES} times in a row")

    def _launch(self, service: Service, program: Program[Kind], directory: Path, port: int) -> Launch:
        is_store = service is Service.STORE
        return Launch(
            service=service,
            title=program.kind,
            arguments=program.arguments(directory, port),
            directory=directory,
            environment={**child_environment(self._options.environment), **program.environment},
            port=port,
            probe=probe_store if is_store else probe_redis,
            start_seconds=limits.STORE_START_SECONDS if is_store else limits.REDIS_START_SECONDS,
            stop_seconds=limits.STORE_STOP_SECONDS if is_store else limits.REDIS_STOP_SECONDS,
            kept_open=(self._directory.lock, self._lifeline),
            timer_slack=program.timer_slack,
        )

    def _log(self, service: Service) -> BoundedLog:
        return BoundedLog(self._directory.of("logs") / f"{service}.log")

    def _tell(self, service: Service, text: str) -> None:
        self._report(EmbeddedEvent(service, Happening.CHOSEN, 0, text))

    def _report(self, event: EmbeddedEvent) -> None:
        logger.info("%s", event.text)
        if self._options.on_event is not None:
            self._options.on_event(event)
