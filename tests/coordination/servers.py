"""Groups of Redis servers: a cluster of three, a master watched by a Sentinel."""

from collections.abc import Callable
from pathlib import Path

from redis import Redis

from tests import processes
from tests.processes import RedisProcess, ServerProcess

SLOTS = 16_384


def new_redis(directory: Path) -> RedisProcess:
    """A server that is not started; the test is skipped (in CI: fails) without a binary."""
    return RedisProcess(_binary(), directory)


class RedisCluster:
    """Three primaries, every slot served."""

    def __init__(self, directory: Path) -> None:
        binary = _binary()
        self.nodes: list[ServerProcess] = []
        for number in range(3):
            home = directory / f"node{number}"
            self.nodes.append(ServerProcess(_arguments(binary, home), "Ready to accept connections", home, processes.free_port()))

    @property
    def url(self) -> str:
        return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    def start(self) -> None:
        """Starts the nodes and joins them; `is_ready` says when they have agreed."""
        for number, node in enumerate(self.nodes):
            node.start()
            with Redis(port=node.port) as admin:
                admin.execute_command("CLUSTER", "ADDSLOTSRANGE", number * SLOTS // 3, (number + 1) * SLOTS // 3 - 1)
                admin.execute_command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        with Redis(port=self.nodes[0].port) as admin:
            for node in self.nodes[1:]:
                bus = node._arguments(0)[-1]
                admin.execute_command("CLUSTER", "MEET", "127.0.0.1", node.port, bus)

    def owner_of(self, slot: int) -> tuple[ServerProcess, str]:
        """The node that serves a slot, and its id."""
        with Redis(port=self.nodes[0].port, decode_responses=True) as admin:
            for first, last, (_, port, node_id, *_), *_ in admin.execute_command("CLUSTER", "SLOTS"):
                if first <= slot <= last:
                    return next(node for node in self.nodes if node.port == port), node_id
        raise LookupError(slot)

    def other_than(self, port: int) -> tuple[ServerProcess, str]:
        """Another node, and its id."""
        node = next(node for node in self.nodes if node.port != port)
        with Redis(port=node.port, decode_responses=True) as admin:
            return node, str(admin.execute_command("CLUSTER", "MYID"))

    def move(self, slot: int) -> None:
        """Moves one slot to another node, as redis-cli --cluster reshard does."""
        source, source_id = self.owner_of(slot)
        target, target_id = self.other_than(source.port)
        with Redis(port=source.port) as old, Redis(port=target.port) as new:
            new.execute_command("CLUSTER", "SETSLOT", slot, "IMPORTING", source_id)
            old.execute_command("CLUSTER", "SETSLOT", slot, "MIGRATING", target_id)
            while keys := old.execute_command("CLUSTER", "GETKEYSINSLOT", slot, 10):
                old.execute_command("MIGRATE", "127.0.0.1", target.port, "", 0, 1_000, "KEYS", *keys)
            for node in (new, old):
                node.execute_command("CLUSTER", "SETSLOT", slot, "NODE", target_id)

    def is_ready(self) -> bool:
        return all(_cluster_is_ok(node.port) for node in self.nodes)

    def kill(self) -> None:
        for node in self.nodes:
            node.kill()


class WatchedRedis:
    """A master, its replica, and one Sentinel that fails over after a second."""

    def __init__(self, directory: Path) -> None:
        binary = _binary()
        self.master = RedisProcess(binary, directory / "master")
        self.replica = RedisProcess(binary, directory / "replica")
        home = directory / "sentinel"
        self.sentinel = ServerProcess(
            lambda port: [binary, str(home / "sentinel.conf"), "--sentinel", "--port", str(port), "--bind", "127.0.0.1"],
            r"\+monitor master",
            home,
            processes.free_port(),
        )

    @property
    def url(self) -> str:
        return f"redis+sentinel://127.0.0.1:{self.sentinel.port}/0?service=perdure"

    def start(self) -> None:
        self.master.start()
        self.replica.start()
        with Redis(port=self.replica.port) as admin:
            admin.slaveof("127.0.0.1", self.master.port)
        self.sentinel.directory.mkdir(parents=True)
        settings = ("down-after-milliseconds perdure 500", "failover-timeout perdure 3000")
        lines = [f"sentinel monitor perdure 127.0.0.1 {self.master.port} 1", *(f"sentinel {setting}" for setting in settings)]
        (self.sentinel.directory / "sentinel.conf").write_text("\n".join(lines) + "\n")
        self.sentinel.start()

    def knows_replica(self) -> bool:
        with Redis(port=self.sentinel.port, decode_responses=True) as sentinel:
            (master,) = sentinel.sentinel_masters().values()
            return bool(master["num-slaves"] == 1)

    def kill(self) -> None:
        for process in (self.sentinel, self.master, self.replica):
            process.kill()


def _binary() -> str:
    binary = processes.redis_binary()
    if binary is None:
        processes.missing_server("no Redis binary")
    return binary


def _arguments(binary: str, home: Path) -> Callable[[int], list[str]]:
    # The bus's usual port, 10,000 above, does not exist for every free port.
    bus = str(processes.free_port())
    cluster = ["--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--cluster-require-full-coverage", "no", "--cluster-port", bus]
    return lambda port: [binary, "--port", str(port), "--bind", "127.0.0.1", "--dir", str(home), "--save", "", *cluster]


def _cluster_is_ok(port: int) -> bool:
    with Redis(port=port) as admin:
        state = bytes(admin.execute_command("CLUSTER", "INFO"))
        return b"cluster_state:ok" in state and b"cluster_known_nodes:3" in state
