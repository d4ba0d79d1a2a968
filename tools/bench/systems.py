"""The systems that are compared: what each needs, how it is started with durable defaults, and how its load is made.

A peer runs as its own documentation says, with the worker settings that it recommends. Python programs of peers run in build/bench/venv,
Restate and its Node worker come from build/bench/node (`make bench-peers`).
"""

import json
import os
import shutil
import subprocess
import sys
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from perdure_server.embedded.child import combine_timers
from perdure_server.embedded.programs import Program, choose_redis, choose_store
from perdure_server.embedded.values import ProgramNotFoundError, StoreKind
from tools.bench.processes import ROOT, BenchFailed, Driver, Processes, free_port

PEERS: Final = "tools.bench.peers"
LOAD: Final = "tools.bench.load"  # the package; every process has ROOT on its path
BUILD: Final = ROOT / "build/bench"
PEER_PYTHON: Final = BUILD / "venv/bin/python"
NODE_MODULES: Final = BUILD / "node/node_modules"
# docs/scaling.md recommends both, the first where nobody else fills the CPUs.
OWN_CPU: Final = "--cpu-affinity=auto"
CLIENT_ENVIRONMENT: Final = {"GRPC_EXPERIMENTS": "-event_engine_client,-event_engine_listener"}


class System(ABC):
    """One system with its worker."""

    name: str

    @abstractmethod
    def missing(self) -> str:
        """Why it cannot run here; empty if it can."""

    @abstractmethod
    def facts(self) -> str:
        """Versions, store, durability: one line."""

    @abstractmethod
    def start(self, processes: Processes) -> Driver:
        """Start everything on an empty store; the driver is ready."""


def driver(processes: Processes, python: str | Path, program: str, *arguments: str, environment: Mapping[str, str] | None = None) -> Driver:
    """Start a load program."""
    process = processes.start("load", (python, "-m", program, *arguments), piped=True, environment=environment)
    return Driver(process, processes.directory / "load.log")


class Perdure(System):
    """The server on the best store present, or on the one that `perdure dev` falls back to."""

    def __init__(
        self, name: str, store: StoreKind | None = None, servers: int = 1, arguments: Sequence[str] = (), *, metrics: bool = False
    ) -> None:
        """`metrics`: the servers have endpoints for Prometheus, at `metrics_ports`."""
        self.name = name
        self._wanted = store
        self._servers = servers
        self._arguments = arguments
        self._has_metrics = metrics
        self.metrics_ports: list[int] = []

    def missing(self) -> str:
        """No store."""
        try:
            self._store()
        except ProgramNotFoundError as error:
            return str(error)
        return ""

    def facts(self) -> str:
        """The programs that were chosen."""
        store = self._store()
        redis = choose_redis(_search_path())
        coordination = redis.kind.value if redis else "in process"
        given = "".join(f"; {argument}" for argument in self._arguments)
        return f"store {store.kind.value}: {store.durability}; coordination {coordination}; worker and load in Python{given}"

    def start(self, processes: Processes) -> Driver:
        """Store, Redis, servers, a worker at each, load."""
        return self._start(processes, "perdure_worker", f"{LOAD}.perdure_load")

    def start_scenes(self, processes: Processes) -> Driver:
        """The same with the worker and the load of tools/bench/load/perdure_scenes.py."""
        return self._start(processes, "perdure_scene_worker", f"{LOAD}.perdure_scenes")

    def _start(self, processes: Processes, worker: str, load: str) -> Driver:
        store, redis = self._store(), choose_redis(_search_path())
        for name in ("store", "redis"):
            (processes.directory / name).mkdir()
        store_port, redis_port, ports = free_port(), free_port(), [free_port() for _ in range(self._servers)]
        _start_store(processes, store, store_port)
        arguments = ["--mongo-url", f"mongodb://127.0.0.1:{store_port}/?directConnection=true", "--log-level", "warning", *self._arguments]
        if store.kind is not StoreKind.MONGOD:
            arguments.append("--store-transactions")
        if redis is not None:
            processes.start("redis", redis.arguments(processes.directory / "redis", redis_port), port=redis_port)
            arguments += ["--redis-url", f"redis://127.0.0.1:{redis_port}"]
        self.metrics_ports = [free_port() for _ in ports] if self._has_metrics else [0 for _ in ports]
        for number, (port, metrics) in enumerate(zip(ports, self.metrics_ports, strict=True), 1):
            serve = (sys.executable, "-m", "perdure_server", "serve", "--port", str(port), "--metrics-port", str(metrics), *arguments)
            processes.start(f"server-{number}", serve, port=port)
        for number, port in enumerate(ports, 1):
            command = (sys.executable, "-m", f"{LOAD}.{worker}", f"127.0.0.1:{port}")
            processes.start(f"worker-{number}", command, environment=CLIENT_ENVIRONMENT)
        return driver(processes, sys.executable, load, *(f"127.0.0.1:{port}" for port in ports), environment=CLIENT_ENVIRONMENT)

    def _store(self) -> Program[StoreKind]:
        return choose_store(_search_path(), self._wanted)


def _start_store(processes: Processes, store: Program[StoreKind], port: int) -> None:
    """As `perdure dev` starts it."""
    combine_timers(store.timer_slack)  # inherited
    try:
        arguments = store.arguments(processes.directory / "store", port)
        processes.start("store", arguments, port=port, environment=store.environment)
    finally:
        combine_timers(0)


class Restate(System):
    """A single Restate server with a worker in Python or in Node."""

    def __init__(self, language: str) -> None:
        self.name = f"restate-{language}"
        self._language = language

    def missing(self) -> str:
        """Server, worker and load."""
        if not self._server().exists():
            return f"no Restate server in {NODE_MODULES} (make bench-peers)"
        if self._language == "node" and shutil.which("node") is None:
            return "no node"
        return _missing_python()

    def facts(self) -> str:
        """Its defaults."""
        version = json.loads((NODE_MODULES / "@restatedev/restate-server/package.json").read_text())["version"]
        sdk = {
            "python": lambda: f"restate-sdk {_python_version('restate-sdk')} on Hypercorn {_python_version('hypercorn')}",
            "node": lambda: (
                f"@restatedev/restate-sdk {json.loads((NODE_MODULES / '@restatedev/restate-sdk/package.json').read_text())['version']}"
            ),
        }[self._language]()
        return (
            f"Restate {version}, one node, default durability (its log is flushed to disk before an answer); worker: {sdk}; load by aiohttp"
        )

    def start(self, processes: Processes) -> Driver:
        """Server, worker, registration, load."""
        ingress, admin, node, worker = (free_port() for _ in range(4))
        settings = {
            "RESTATE_INGRESS__BIND_ADDRESS": f"127.0.0.1:{ingress}",
            "RESTATE_ADMIN__BIND_ADDRESS": f"127.0.0.1:{admin}",
            "RESTATE_BIND_ADDRESS": f"127.0.0.1:{node}",
            "RESTATE_LISTEN_MODE": "tcp",
            "RESTATE_LOG_FILTER": "warn",
            "DO_NOT_TRACK": "1",
        }
        command = (self._server(), "--no-logo", "--base-dir", processes.directory / "data", "--node-name", "bench")
        processes.start("store", command, port=admin, environment=settings)
        if self._language == "python":
            (processes.directory / "hypercorn.toml").write_text(
                f'bind = "127.0.0.1:{worker}"\nh2_max_concurrent_streams = 2147483647\nkeep_alive_max_requests = 2147483647\n'
            )
            hypercorn = (PEER_PYTHON, "-m", "hypercorn", "--config", processes.directory / "hypercorn.toml", f"{PEERS}.restate_worker:app")
            processes.start("worker-1", hypercorn, port=worker)
        else:
            # Node looks for packages beside the program.
            program = shutil.copy(Path(__file__).parent / "peers/restate_worker.mjs", NODE_MODULES.parent)
            processes.start("worker-1", ("node", program, str(worker)), port=worker, environment={"NODE_ENV": "production"})
        _post(f"http://127.0.0.1:{admin}/deployments", {"uri": f"http://127.0.0.1:{worker}"})
        return driver(processes, PEER_PYTHON, f"{PEERS}.restate_load", f"http://127.0.0.1:{ingress}")

    def _server(self) -> Path:
        return NODE_MODULES / ".bin/restate-server"


class Temporal(System):
    """The development server of the Temporal CLI with its store in a file."""

    name = "temporal"

    def missing(self) -> str:
        """The CLI and the SDK."""
        return _missing_python()

    def facts(self) -> str:
        """Its defaults."""
        said = subprocess.run([PEER_PYTHON.with_name("temporal"), "--version"], capture_output=True, text=True, check=True).stdout.strip()
        return f"{said}; SQLite file; worker and load by temporalio {_python_version('temporalio')}, default settings"

    def start(self, processes: Processes) -> Driver:
        """Server, worker, load."""
        port = free_port()
        file = ("--db-filename", processes.directory / "temporal.db", "--headless", "--log-level", "error")
        processes.start("store", (PEER_PYTHON.with_name("temporal"), "server", "start-dev", "--port", str(port), *file), port=port)
        processes.start("worker-1", (PEER_PYTHON, "-m", f"{PEERS}.temporal_worker", f"127.0.0.1:{port}"))
        return driver(processes, PEER_PYTHON, f"{PEERS}.temporal_load", f"127.0.0.1:{port}")


class Dbos(System):
    """DBOS, a library, on PostgreSQL with its default durability."""

    name = "dbos"

    def missing(self) -> str:
        """PostgreSQL and the library."""
        return _missing_python() if _postgres().exists() else "no PostgreSQL"

    def facts(self) -> str:
        """Its defaults."""
        server = subprocess.run([_postgres() / "postgres", "--version"], capture_output=True, text=True, check=True).stdout.strip()
        return f"DBOS {_python_version('dbos')} in the process of the load; {server}, default settings (fsync and synchronous_commit on)"

    def start(self, processes: Processes) -> Driver:
        """PostgreSQL, load."""
        port = free_port()
        data = processes.directory / "postgres"
        data.mkdir()
        as_user: tuple[str, ...] = ()
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root.
            shutil.chown(data, "postgres")
            for folder in (processes.directory, *processes.directory.parents):
                if folder.stat().st_uid == 0 and folder != Path("/"):
                    folder.chmod(folder.stat().st_mode | 0o055)
            as_user = ("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups")
        subprocess.run(
            [*as_user, _postgres() / "initdb", "-D", data, "-U", "bench", "-A", "trust"], check=True, capture_output=True, cwd="/"
        )
        socket_folder = ("-c", f"unix_socket_directories={data}", "-c", "listen_addresses=127.0.0.1")
        processes.start("store", (*as_user, _postgres() / "postgres", "-D", data, "-p", str(port), *socket_folder), port=port)
        url = f"postgresql://bench@127.0.0.1:{port}/"
        create = f"import psycopg; psycopg.connect('{url}postgres', autocommit=True).execute('CREATE DATABASE bench')"
        subprocess.run([PEER_PYTHON, "-c", create], check=True, capture_output=True)
        return driver(processes, PEER_PYTHON, f"{PEERS}.dbos_load", f"{url}bench")


def known() -> Mapping[str, System]:
    """Every system by name, in the order in which they are run."""
    systems: tuple[System, ...] = (
        Perdure("perdure", arguments=(OWN_CPU,)),
        Perdure("perdure-pymongo", arguments=(OWN_CPU, "--driver=pymongo")),
        Perdure("perdure-any-cpu"),
        Restate("python"),
        Restate("node"),
        Dbos(),
        Perdure("perdure-embedded", StoreKind.SECANTUS_WHEEL),
        Temporal(),
    )
    return {system.name: system for system in systems}


def _search_path() -> str:
    return os.pathsep.join((os.environ.get("PATH", ""), "/opt/secantus/bin"))


def _missing_python() -> str:
    return "" if PEER_PYTHON.exists() else f"no {PEER_PYTHON} (make bench-peers)"


def _python_version(package: str) -> str:
    code = f"import importlib.metadata as m; print(m.version('{package}'))"
    return subprocess.run([PEER_PYTHON, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def _node_version(package: str) -> str:
    return str(json.loads((NODE_MODULES / "@restatedev" / package / "package.json").read_text())["version"])


def _postgres() -> Path:
    """The folder of PostgreSQL's programs; one that does not exist if there is none."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name))
    return folders[-1] if folders else Path("/usr/lib/postgresql/none")


def _post(url: str, body: Mapping[str, object]) -> None:
    request = urllib.request.Request(  # noqa: S310 -- our own http address
        url, json.dumps(body).encode(), {"content-type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 -- the same
            answer.read()
    except OSError as error:
        raise BenchFailed(f"{url}: {error}") from error
