"""`serve --processes N`: several servers on one machine behind one port, as one Python process uses little more than one core.

Each is a server like any other, with a server id and connections to MongoDB and Redis of its own; the kernel divides connections among
them (SO_REUSEPORT, so Linux). The parent starts them, starts those anew that end unasked, and passes signals on. It serves nothing.
"""

import asyncio
import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Final

from perdure_server import config as configuration
from perdure_server.affinity import cpu_of, keep_to, usable
from perdure_server.config import Config
from perdure_server.kernel.limits import SECOND

LOGGER = logging.getLogger(__name__)

EXIT_FAILED: Final = 1
_SPAWN: Final = multiprocessing.get_context("spawn")  # gRPC does not survive a fork


def run(config: Config) -> int:
    """Serve with `config.processes` processes until SIGTERM or SIGINT; returns the exit code."""
    try:
        reserved = _reserve(config)
    except OSError as error:
        print(f"perdure serve: cannot listen on {config.address} port {config.port}: {error.strerror}", file=sys.stderr)
        return EXIT_FAILED
    with reserved:
        return asyncio.run(_Fleet(replace(config, port=reserved.getsockname()[1])).serve())


def _reserve(config: Config) -> socket.socket:
    """The port, bound and not listened on: nobody else gets it while a child is away. Raises OSError if another server has it."""
    found = socket.getaddrinfo(config.address, config.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, kind, protocol, _, address = found[0]
    with socket.socket(family, kind, protocol) as alone:
        # Without SO_REUSEPORT: a server of somebody else must not be joined silently.
        alone.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        alone.bind(address)
        address = alone.getsockname()
    shared = socket.socket(family, kind, protocol)
    try:
        shared.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        shared.bind(address)
    except OSError:
        shared.close()
        raise
    return shared


class _Fleet:
    """The children; all of it in the parent."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._children: dict[int, SpawnProcess] = {}
        self._served: set[int] = set()
        self._stopping = asyncio.Event()
        self._failed = False

    async def serve(self) -> int:
        """Until a signal, or until a child cannot begin; returns the exit code."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop)
        loop.add_signal_handler(signal.SIGHUP, self._signal, signal.SIGHUP)
        await asyncio.gather(*(self._keep(index) for index in range(self._config.processes)))
        return EXIT_FAILED if self._failed else 0

    def _stop(self) -> None:
        if not self._stopping.is_set():
            # Each child bounds its own stop; this is for one that cannot even do that.
            late = self._config.drain_grace_ms + configuration.AFTER_GRACE_MS + configuration.CLOSE_MS
            asyncio.get_running_loop().call_later(late / SECOND, self._signal, signal.SIGKILL)
        self._stopping.set()
        self._signal(signal.SIGTERM)  # a second one makes each leave at once

    def _signal(self, number: signal.Signals) -> None:
        for child in self._children.values():
            with suppress(ProcessLookupError):
                os.kill(child.pid or 0, number)

    async def _keep(self, index: int) -> None:
        """One child and its successors."""
        pause = configuration.RESTART_FIRST_MS
        while not self._stopping.is_set():
            began = time.monotonic()
            code = await self._run(index)
            if self._stopping.is_set():
                self._failed |= code != 0
                return
            if index not in self._served:
                self._failed = True  # it has said why
                self._stop()
                return
            if time.monotonic() - began > configuration.RESTART_LAST_MS / SECOND:
                pause = configuration.RESTART_FIRST_MS
            LOGGER.error("server process %d ended with exit code %d: started anew in %d ms", index + 1, code, pause)
            with suppress(TimeoutError):
                async with asyncio.timeout(pause / SECOND):
                    await self._stopping.wait()
            pause = min(2 * pause, configuration.RESTART_LAST_MS)

    async def _run(self, index: int) -> int:
        """Start a child and wait for its end; its exit code."""
        ours, theirs = _SPAWN.Pipe(duplex=False)
        metrics_port = self._config.metrics_port and self._config.metrics_port + index
        cpu = cpu_of(self._config.cpu_affinity, index, usable())
        child = _SPAWN.Process(
            target=_serve, args=(replace(self._config, metrics_port=metrics_port), cpu, theirs), name=f"perdure-{index + 1}"
        )
        child.start()
        theirs.close()
        self._children[index] = child
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[None] = loop.create_future()
        loop.add_reader(child.sentinel, _done, loop, child.sentinel, ended)
        loop.add_reader(ours.fileno(), self._heard, loop, ours, index)
        if self._stopping.is_set():
            self._signal(signal.SIGTERM)
        await ended
        loop.remove_reader(ours.fileno())
        ours.close()
        del self._children[index]
        child.join()
        return child.exitcode or 0

    def _heard(self, loop: asyncio.AbstractEventLoop, pipe: Connection, index: int) -> None:
        loop.remove_reader(pipe.fileno())
        try:
            port = pipe.recv()
        except EOFError:
            return  # it ended without a word
        before = len(self._served)
        self._served.add(index)
        if len(self._served) == self._config.processes > before:
            print(f"perdure serves on {self._config.address}:{port} with {self._config.processes} processes", flush=True)


def _done(loop: asyncio.AbstractEventLoop, sentinel: int, ended: "asyncio.Future[None]") -> None:
    loop.remove_reader(sentinel)
    ended.set_result(None)


def _serve(config: Config, cpu: int | None, serving: Connection) -> None:
    """The whole of a child."""
    keep_to(cpu)
    from perdure_server.main import run as serve  # noqa: PLC0415 -- in the child only

    os.setpgrp()  # Ctrl-C reaches the parent alone, which passes it on once
    threading.Thread(target=_follow_parent, name="follow parent", daemon=True).start()
    sys.exit(serve(config, serving.send))


def _follow_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
