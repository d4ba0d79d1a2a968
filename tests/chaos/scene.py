"""Everything that a fault may hit, each a process of its own: a store, a Redis, two servers, and per story two workers."""

import asyncio
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.e2e.servers import PerdureProcess
from tests.processes import RedisProcess, ServerProcess, StoreProcess, missing_server, redis_binary, store_available

DATABASE = "chaos"
ROOT = Path(__file__).parents[2]


class WorkerProcess(ServerProcess):
    """One of tests.chaos.worker_process; `kind` is `stream` or `client`."""

    def __init__(self, directory: Path, kind: str, journal: Path, workflow_type: str, addresses: list[str]) -> None:
        command = [sys.executable, "-m", "tests.chaos.worker_process", kind, str(journal), workflow_type, *addresses]
        # Its directory is not where it runs: `tests` must be found.
        super().__init__(lambda _port: command, r"^works$", directory, settings={"PYTHONPATH": str(ROOT)})


class Scene:
    """Starts and stops them. Processes are started on one thread that lives as long as the scene, since the kernel ends them with it."""

    def __init__(self, directory: Path) -> None:
        binary = redis_binary()
        if binary is None or not store_available():
            missing_server("a scene kills its store and its Redis, so it needs the `embedded` extra")
        self.directory = directory
        self.store = StoreProcess(directory / "store")
        self.redis = RedisProcess(binary, directory / "redis")
        self.servers: list[PerdureProcess] = []
        self._starter = ThreadPoolExecutor(1, "scene")

    def open(self, servers: int = 2) -> None:
        """Start the store, Redis and the servers."""
        for process in (self.store, self.redis):
            self._starter.submit(process.start).result()
        self.servers = [self._server() for _ in range(servers)]
        for server in self.servers:
            self._starter.submit(server.start).result()

    def close(self) -> None:
        """Kill them all."""
        for process in (*self.servers, self.redis, self.store):
            process.kill()
        self._starter.shutdown()

    @property
    def addresses(self) -> list[str]:
        """host:port of the servers."""
        return [server.address for server in self.servers]

    async def add_server(self, redis_url: str) -> PerdureProcess:
        """Start one more, which has its own way to Redis and is not among `servers`; whoever asks for it kills it."""
        made = self._server(redis_url)
        await self.start(made)
        return made

    async def start(self, process: ServerProcess) -> None:
        """Start one, without stopping the event loop."""
        await self._call(process.start)

    async def kill(self, process: ServerProcess) -> None:
        """`kill -9`."""
        await self._call(process.kill)

    async def stop(self, process: ServerProcess) -> None:
        """SIGTERM, and wait for the end."""
        await self._call(process.stop)

    def _server(self, redis_url: str = "") -> PerdureProcess:
        return PerdureProcess(self.directory, self.store.url, redis_url or self.redis.url, DATABASE)

    async def _call(self, function: Callable[[], None]) -> None:
        await asyncio.get_running_loop().run_in_executor(self._starter, function)
