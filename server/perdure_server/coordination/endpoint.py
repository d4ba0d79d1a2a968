"""Where Redis is: one server, a master watched by Sentinels, or a Cluster; resolved anew for every connection."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import SplitResult, parse_qs, urlsplit, urlunsplit

from redis.asyncio import RedisCluster, Sentinel
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.connection import Connection, SSLConnection, parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import BusyLoadingError, ReadOnlyError

from perdure_server.coordination.wire import ClusterSession, Session, Wire

_SENTINEL_PORT = 26379
_REDIS_PORT = 6379


class Endpoint(Protocol):
    """How to reach Redis. Both methods raise wire.UNREACHABLE, within about `timeout` ms."""

    mode: str

    async def session(self) -> Session:
        """A new session for batches."""

    async def wire(self) -> Wire:
        """A new connection for one blocking use."""


@dataclass(frozen=True)
class ServerInfo:
    """What the server says about itself."""

    kind: str  # "redis" or "valkey"
    version: str
    maxmemory_policy: str
    may_evict: bool

    @property
    def pops_block(self) -> bool:
        """Whether it knows BZMPOP (Redis 7, every Valkey)."""
        major = self.version.partition(".")[0]
        return major.isdecimal() and int(major) >= 7


async def inspect(session: Session) -> ServerInfo:
    """Reads INFO; ReadOnlyError from a replica and BusyLoadingError from a server that still loads, as if it had refused a write."""
    (reply,) = await session.execute([("INFO",)])
    if isinstance(reply, Exception):
        raise reply
    lines = (line.partition(":") for line in bytes(reply).decode(errors="replace").splitlines())
    facts = {name: value for name, colon, value in lines if colon}
    if facts.get("role", "master") != "master":
        raise ReadOnlyError("connected to a replica")
    if facts.get("loading", "0") != "0":
        raise BusyLoadingError("loading its data")
    policy = facts.get("maxmemory_policy", "")
    valkey = facts.get("server_name") == "valkey"
    version = facts.get("valkey_version" if valkey else "redis_version", "")
    may_evict = policy not in {"", "noeviction"} and facts.get("maxmemory", "0") != "0"
    return ServerInfo("valkey" if valkey else "redis", version, policy, may_evict)


class Standalone:
    """One address; a DNS name is looked up for every connection."""

    mode = "standalone"

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = dict(settings)
        self._connection_class = self._settings.pop("connection_class", Connection)

    async def session(self) -> Session:
        """See Endpoint."""
        return await self.wire()

    async def wire(self) -> Wire:
        """See Endpoint."""
        connection = self._connection_class(**self._settings)
        await connection.connect()
        # From here on whoever waits knows how long: a blocked pop waits longer than a batch.
        connection.socket_timeout = None
        return Wire(connection)


class Watched:
    """The master that the Sentinels name, asked for every connection."""

    mode = "sentinel"

    def __init__(self, hosts: list[tuple[str, int]], service: str, settings: Mapping[str, Any]) -> None:
        self._settings = dict(settings)
        self._service = service
        self._hosts = hosts
        self._sentinel_settings = {name: settings[name] for name in ("socket_timeout", "socket_connect_timeout", "retry")}

    async def session(self) -> Session:
        """See Endpoint."""
        return await self.wire()

    async def wire(self) -> Wire:
        """See Endpoint."""
        sentinel = Sentinel(self._hosts, sentinel_kwargs=self._sentinel_settings)  # type: ignore[no-untyped-call]  # redis-py has no hints
        try:
            host, port = await sentinel.discover_master(self._service)
        finally:
            for client in sentinel.sentinels:
                await client.aclose()
        return await Standalone({**self._settings, "host": host, "port": port}).wire()


class Clustered:
    """A Redis Cluster; subscriptions go to the first start-up node that answers (its bus carries every message)."""

    mode = "cluster"

    def __init__(self, hosts: list[tuple[str, int]], settings: Mapping[str, Any]) -> None:
        self._settings = {name: value for name, value in settings.items() if name != "connection_class"}
        # Half of a batch's time, so that one silent node does not take the others' answers with it.
        self._settings["socket_timeout"] = settings["socket_timeout"] / 2
        self._settings["ssl"] = settings.get("connection_class") is SSLConnection
        self._hosts = hosts
        self._single = settings

    async def session(self) -> Session:
        """See Endpoint."""
        cluster = RedisCluster(startup_nodes=[ClusterNode(host, port) for host, port in self._hosts], **self._settings)
        # Replies stay raw, except those by which redis-py learns the slots.
        for name in [name for name in cluster.response_callbacks if not name.upper().startswith(("CLUSTER", "COMMAND"))]:
            del cluster.response_callbacks[name]
        session = ClusterSession(cluster)
        try:
            await cluster.initialize()
        except BaseException:
            await session.close()
            raise
        return session

    async def wire(self) -> Wire:
        """See Endpoint."""
        self._hosts.append(self._hosts.pop(0))
        host, port = self._hosts[-1]
        return await Standalone({**self._single, "host": host, "port": port}).wire()


def parse_endpoint(url: str, timeout: int) -> Endpoint:
    """Understands redis://, rediss://, unix://, redis+sentinel://h1,h2/db?service=name and redis+cluster://h1,h2 (rediss+... for TLS).

    User, password and options stand as in redis-py's URLs. ValueError, without the URL in it, if it is none of these.
    """
    parts = urlsplit(url)
    scheme, _, mode = parts.scheme.partition("+")
    if scheme not in {"redis", "rediss", "unix"} or mode not in {"", "sentinel", "cluster"}:
        raise ValueError("the Redis URL must begin with redis://, rediss://, unix://, redis+sentinel:// or redis+cluster://")
    query = parse_qs(parts.query)
    service = query.pop("service", ["mymaster"])[0]
    rest = "&".join(f"{name}={value}" for name, values in query.items() for value in values)
    user, at, hosts = parts.netloc.rpartition("@")
    first = hosts.split(",")[0]
    settings = dict(parse_url(urlunsplit(SplitResult(scheme, user + at + first, parts.path, rest, ""))))
    settings |= {
        "socket_timeout": timeout / 1_000,
        "socket_connect_timeout": timeout / 1_000,
        "retry": Retry(NoBackoff(), 0),
        # RESP2: a subscribed connection then answers in plain lists.
        "protocol": 2,
        "decode_responses": False,
    }
    if mode == "cluster":
        return Clustered([_address(host, _REDIS_PORT) for host in hosts.split(",")], settings)
    if mode == "sentinel":
        return Watched([_address(host, _SENTINEL_PORT) for host in hosts.split(",")], service, settings)
    return Standalone(settings)


def _address(text: str, default: int) -> tuple[str, int]:
    parts = urlsplit("//" + text)
    return parts.hostname or "127.0.0.1", parts.port or default
