"""What goes in and out of the embedded servers: options, what was started, what happened, what went wrong."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Service(StrEnum):
    """The two servers that `perdure dev` brings up beside its own."""

    STORE = "store"
    REDIS = "redis"


class StoreKind(StrEnum):
    """Which program is the store, in the order of preference."""

    MONGOD = "mongod"
    SECANTUS_RS = "secantusd-rs"
    SECANTUS_WHEEL = "secantus-wheel"


class RedisKind(StrEnum):
    """Which program is Redis, in the order of preference."""

    REDIS = "redis-server"
    VALKEY = "valkey-server"
    VALKEY_WHEEL = "valkey-wheel"


class Happening(StrEnum):
    """What an event tells."""

    CHOSEN = "chosen"
    """Which program, and why; also that there is none."""
    STARTED = "started"
    """The process exists; it does not answer yet."""
    READY = "ready"
    ENDED = "ended"
    """It ended though nobody asked for it; it will be started again on its port."""
    FAILED = "failed"
    """A new start did not succeed; another follows after a longer pause."""
    STOPPED = "stopped"
    """It ended because it was asked to."""


@dataclass(frozen=True)
class EmbeddedEvent:
    """One thing that happened, for narration. `pid` is 0 where no process is meant."""

    service: Service
    happening: Happening
    pid: int
    text: str
    """A whole sentence without the time."""


@dataclass(frozen=True)
class EmbeddedOptions:
    """Where and how to run the embedded servers."""

    data_directory: Path
    """Everything is kept here; created with mode 0700. One owner at a time."""
    environment: Mapping[str, str]
    """What the children get, without the names that would change their durability; `PATH` in it is searched for programs."""
    redis: bool = True
    """False: do not look for a Redis; coordination is then in-process."""
    store_kind: StoreKind | None = None
    """None: the kind whose data is here already, else the first that is found."""
    on_event: Callable[[EmbeddedEvent], None] | None = None
    """Called in the event loop's thread; must not block or raise."""


@dataclass(frozen=True)
class EmbeddedStore:
    """The running store."""

    url: str
    kind: StoreKind
    version: str
    durability_text: str
    """When a write is acknowledged, as a sentence to print."""
    pid: int


@dataclass(frozen=True)
class EmbeddedRedis:
    """The running Redis or Valkey. It keeps nothing over a restart."""

    url: str
    kind: RedisKind
    version: str
    pid: int


class EmbeddedError(Exception):
    """The embedded servers cannot be had; the text says what to do."""


class DataDirectoryInUseError(EmbeddedError):
    """Another process owns the data directory; `pid` is 0 if it did not say. `left`: it is dead, but what it started still runs."""

    def __init__(self, directory: Path, pid: int, *, left: bool = False) -> None:
        owner = f"process {pid}" if pid else "another process"
        using = f"servers that {owner} left running" if left else owner
        super().__init__(f"{directory} is in use by {using}: end that, or choose another data directory")
        self.directory = directory
        self.pid = pid


class ProgramNotFoundError(EmbeddedError):
    """No store program is installed."""


class ChildDidNotStartError(EmbeddedError):
    """A child ended or did not answer in time; the text holds the end of its log."""
