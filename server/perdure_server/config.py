"""The configuration of the server: a frozen value, read once from flags and environment, every fault reported at once.

This is the only place that reads the environment. docs/configuration.md is made by `python -m perdure_server config --markdown`.
A flag wins over a variable, a variable over the default. An unknown PERDURE_SERVER_ variable is a fault: it is a misspelt one.
"""

import ipaddress
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal

from perdure_server.affinity import affinity, fault, usable
from perdure_server.kernel import limits

PREFIX: Final = "PERDURE_SERVER_"
DEFAULT_PORT: Final = 7463
LAST_PORT: Final = 65_535

# Not an operator's business, yet numbers: how store time is kept, and how long parts of a stop may take.
CLOCK_INTERVAL_MS: Final = 2_000
CLOCK_FIRST_SAMPLES: Final = 3
STORE_RETRY_MS: Final = 500
CLOSE_MS: Final = 500
TEST_DRAIN_GRACE_MS: Final = 500  # of a server inside a test
AFTER_GRACE_MS: Final = 1_500
RESTART_FIRST_MS: Final = 500  # of a server process that ended unasked (`processes`); doubled up to the next, and forgotten after that long
RESTART_LAST_MS: Final = 30_000
COLLECTED_OBJECTS: Final = 10_000  # new containers before Python looks for cycles among them; its own default is 700

_REDIS_SCHEMES: Final = ("redis", "rediss", "unix", "redis+sentinel", "redis+cluster", "rediss+sentinel", "rediss+cluster")

Parse = Callable[[str], Any]


class ConfigInvalid(Exception):
    """The configuration has faults; `faults` are sentences, each naming its flag and variable."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = tuple(faults)


def _text(text: str) -> str:
    return text


def _name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,38}", text):
        raise ValueError("must have 1 to 38 letters, digits, _ or -")
    return text


def _url(*schemes: str) -> Parse:
    def parse(text: str) -> str:
        if text and not text.startswith(tuple(f"{scheme}://" for scheme in schemes)):
            raise ValueError("must begin with " + " or ".join(f"{scheme}://" for scheme in schemes))
        return text

    return parse


def _collections(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",")) if text.strip() else ()
    for name in names:
        if not re.fullmatch(r"(?:[A-Za-z0-9_-]{1,38}\.)?[A-Za-z0-9_-]{1,60}", name):
            raise ValueError("must be collection or database.collection, divided by commas")
    return names


def _whole(least: int, most: int) -> Parse:
    def parse(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,12}", text) or not least <= int(text) <= most:
            raise ValueError(f"must be a whole number from {least} to {most}")
        return int(text)

    return parse


def _ratio(text: str) -> float:
    if not re.fullmatch(r"0|1|0?\.[0-9]{1,9}|[01]\.[0-9]{1,9}", text) or not 0.0 <= float(text) <= 1.0:
        raise ValueError("must be a number from 0 to 1")
    return float(text)


def _switch(text: str) -> bool:
    if text.lower() not in {"true", "false", "1", "0", "yes", "no"}:
        raise ValueError("must be true or false")
    return text.lower() in {"true", "1", "yes"}


def _choice(*allowed: str) -> Parse:
    def parse(text: str) -> str:
        if text not in allowed:
            raise ValueError("must be one of " + ", ".join(allowed))
        return text

    return parse


def _setting(default: Any, text: str, parse: Parse) -> Any:
    """A field with its documentation and the way to read it; `text` is what docs/configuration.md says."""
    return field(default=default, metadata={"text": text, "parse": parse})


@dataclass(frozen=True)
class Config:
    """Everything that an operator may set. Durations are in milliseconds and say so in their names."""

    address: str = _setting("127.0.0.1", "Address to listen on. Beyond loopback only with TLS and an access file, or `insecure`.", _text)
    port: int = _setting(DEFAULT_PORT, "Port to listen on; 0 takes a free one, which is logged and printed.", _whole(0, LAST_PORT))
    processes: int = _setting(
        1,
        "Server processes that share the port, on Linux: one uses little more than one core. Needs `redis-url`; see scaling.md.",
        _whole(1, 256),
    )
    cpu_affinity: str = _setting(
        "",
        "The CPU that each server process keeps to, on Linux: `auto`, or numbers by commas, such as `2,3`; more `processes` take them in "
        "turn. Empty: any. For machines whose CPUs are not shared with others; see scaling.md.",
        affinity,
    )
    insecure: bool = _setting(False, "Allow an address that other machines reach without TLS or without an access file.", _switch)
    tls_cert_file: str = _setting(
        "", "Certificate of the server in PEM, with the chain behind it. Empty: plain text. See security.md.", _text
    )
    tls_key_file: str = _setting("", "Its private key in PEM, without a password.", _text)
    tls_client_ca_file: str = _setting(
        "", "CA of the clients in PEM: then each must show a certificate of it. Empty: none is asked for.", _text
    )
    access_file: str = _setting("", "Who may do what (TOML, see security.md). Empty: whoever reaches the address may do everything.", _text)
    reflection: bool = _setting(True, "Serve gRPC reflection, which tells anybody the published API.", _switch)
    mongo_url: str = _setting(
        "mongodb://127.0.0.1:27017/",
        "MongoDB, a replica set (one member will do). Concerns and timeouts in it are overridden.",
        _url("mongodb", "mongodb+srv"),
    )
    database: str = _setting("perdure", "Database in MongoDB.", _name)
    driver: Literal["motor", "pymongo"] = _setting("motor", "Driver of MongoDB: `motor` or `pymongo`.", _choice("motor", "pymongo"))
    store_transactions: bool = _setting(
        False,
        "For SecantusDB with `--sync-on-commit` only: batches of writes go out as transactions, which cost a third. `perdure dev` sets it.",
        _switch,
    )
    store_wait_ms: int = _setting(30_000, "How long a start waits for MongoDB to be reached before it gives up.", _whole(0, 3_600_000))
    outbox: tuple[str, ...] = _setting(
        ("perdure_outbox",),
        "Collections whose documents are relayed as starts (see outbox.md), by commas: `collection` or `database.collection`. Empty: none.",
        _collections,
    )
    outbox_url: str = _setting("", "MongoDB of the outboxes. Empty: the same as `mongo-url`.", _url("mongodb", "mongodb+srv"))
    redis_url: str = _setting(
        "",
        "Redis or Valkey, for speed. Empty: in-process coordination, right for one server.",
        _url(*_REDIS_SCHEMES),
    )
    redis_prefix: str = _setting("perdure", "First part of every key in Redis; equal on all servers of one database.", _name)
    session_lease_ms: int = _setting(
        limits.SESSION_LEASE,
        "Lease of a worker's session where its hello does not say. Shorter finds lost workers sooner and renews more often.",
        _whole(limits.SESSION_LEASE_MIN, limits.POLL_LEASE_MAX),
    )
    drain_grace_ms: int = _setting(
        10_000, "How long a stop waits for calls and streams to end politely. The process is gone at most 2 s later.", _whole(0, 3_600_000)
    )
    stream_age_ms: int = _setting(
        20 * limits.MINUTE,
        "How long a worker's or watcher's stream lives before it is asked to come again, so that it finds servers that were added.",
        _whole(limits.SECOND, 86_400_000),
    )
    otlp_endpoint: str = _setting(
        "", "OTLP over gRPC, such as `http://collector:4317`, for traces and metrics. Empty: none.", _url("http", "https")
    )
    otlp_metrics: bool = _setting(True, "Push metrics to `otlp-endpoint`, too, every 30 s.", _switch)
    metrics_port: int = _setting(
        0,
        "Port of the endpoint that Prometheus reads (see metrics.md), such as 9464; those after it for more `processes`. 0: no endpoint.",
        _whole(0, LAST_PORT),
    )
    metrics_address: str = _setting(
        "127.0.0.1",
        "Address of that endpoint. It has names of namespaces, types, queues and steps, no payloads, and asks for no token.",
        _text,
    )
    trace_sample_ratio: float = _setting(
        1.0, "Share of workflows that are traced when the caller sends no trace context; a caller's own decision stands.", _ratio
    )
    log_level: str = _setting("info", "`debug`, `info`, `warning` or `error`.", _choice("debug", "info", "warning", "error"))
    log_format: Literal["text", "json"] = _setting("text", "`text`, or `json` with one object a line.", _choice("text", "json"))

    def __repr__(self) -> str:
        """Names only: a URL may carry a password."""
        return "Config(...)"


def read(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> Config:
    """The configuration from flags and environment (default: the process's). Raises ConfigInvalid with every fault."""
    variables = os.environ if environment is None else environment  # noqa: TID251 -- this is the place that reads it, once
    faults: list[str] = []
    given = dict(_from_environment(variables, faults)) | dict(_from_flags(arguments, faults))
    found: dict[str, Any] = {}
    for name, (source, text) in given.items():
        try:
            found[name] = _FIELDS[name].metadata["parse"](text)
        except ValueError as error:
            faults.append(f"{source}: {error}")
    if not faults:
        config = Config(**found)
        faults += _contradictions(config)
        if not faults:
            return config
    raise ConfigInvalid(faults)


def markdown() -> str:
    """docs/configuration.md."""
    lines = [
        "# Configuration of the server",
        "",
        "<!-- Generated by `python -m perdure_server config --markdown`; a test compares. -->",
        "",
        "`python -m perdure_server serve` reads flags, then environment variables, then defaults. All faults are reported at once, and an",
        f"unknown `{PREFIX}` variable is a fault. Durations are in milliseconds. URLs may carry credentials; they are never logged.",
        "",
        "| flag | variable | default | meaning |",
        "| --- | --- | --- | --- |",
    ]
    for name, item in _FIELDS.items():
        default = str(item.default).lower() if isinstance(item.default, bool) else str(item.default)
        if isinstance(item.default, tuple):
            default = ",".join(item.default)
        shown = f"`{default}`" if default else "empty"
        lines.append(f"| `{_flag(name)}` | `{_variable(name)}` | {shown} | {item.metadata['text']} |")
    lines += [
        "",
        "A switch is `--insecure` or `--insecure=false`; every other flag is `--port 7463` or `--port=7463`.",
        "",
        "`SIGTERM` and `SIGINT` stop the server in order: health says NOT_SERVING, workers and watchers are asked to go elsewhere, calls",
        "end within the grace, spans are flushed for at most a second, Redis and MongoDB are closed. A second signal ends it at once.",
        "",
        "`SIGHUP` makes it read certificates, access file and keys of JWTs again; it also looks for changed files every 2 s. A file that",
        "cannot be used changes nothing: the last good one goes on, and the log says why.",
        "",
        "`python -m perdure_server health` asks a running server's readiness (exit code 0 = serving), `--liveness` only whether it lives.",
        "With the server's own TLS settings it trusts the server's certificate, and shows it where clients must show one: it needs the",
        "usage `clientAuth` then.",
    ]
    return "\n".join(lines) + "\n"


def data_directory() -> Path:
    """Where `perdure dev` keeps its data unless told: XDG_DATA_HOME/perdure, else ~/.local/share/perdure."""
    base = os.environ.get("XDG_DATA_HOME", "")  # noqa: TID251 -- this is the place that reads it
    return (Path(base) if base else Path.home() / ".local" / "share") / "perdure"


def child_environment() -> Mapping[str, str]:
    """What the servers that `perdure dev` starts may know: PATH finds them."""
    return dict(os.environ)  # noqa: TID251 -- this is the place that reads it


def let_grpc_poll() -> None:
    """Let gRPC's own poller do the input and output, instead of its event engine's threads: a hand-over less for each message.

    Before gRPC is imported, which reads it then. What the operator has set stands. docs/performance.md has what it saves.
    """
    os.environ.setdefault("GRPC_EXPERIMENTS", "-event_engine_client,-event_engine_listener")  # noqa: TID251 -- this is the place


def is_loopback(address: str) -> bool:
    """Whether an address reaches this machine only."""
    try:
        return address == "localhost" or ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _from_environment(variables: Mapping[str, str], faults: list[str]) -> Iterator[tuple[str, tuple[str, str]]]:
    for variable in sorted(variables):
        if not variable.startswith(PREFIX):
            continue
        name = variable.removeprefix(PREFIX).lower()
        if name in _FIELDS and variable == _variable(name):
            yield name, (variable, variables[variable])
        else:
            faults.append(f"{variable}: is no setting; see python -m perdure_server config")


def _from_flags(arguments: Sequence[str], faults: list[str]) -> Iterator[tuple[str, tuple[str, str]]]:
    rest = list(arguments)
    while rest:
        flag, has_value, value = rest.pop(0).partition("=")
        name = flag.removeprefix("--").replace("-", "_")
        if not flag.startswith("--") or name not in _FIELDS or flag != _flag(name):
            faults.append(f"{flag}: is no flag; see python -m perdure_server config")
        elif has_value:
            yield name, (flag, value)
        elif isinstance(_FIELDS[name].default, bool):
            yield name, (flag, "true")
        elif rest and not rest[0].startswith("--"):
            yield name, (flag, rest.pop(0))
        else:
            faults.append(f"{flag}: needs a value")


def _contradictions(config: Config) -> Iterator[str]:
    if config.processes > 1 and not config.redis_url:
        yield "--processes: more than one needs --redis-url, as several servers on one database do"
    if unfit := fault(config.cpu_affinity, usable()):
        yield f"--cpu-affinity: {unfit}"
    if config.processes > 1 and config.metrics_port + config.processes > LAST_PORT + 1:
        yield f"--metrics-port: {config.processes} processes need as many ports from it on"
    if bool(config.tls_cert_file) is not bool(config.tls_key_file):
        yield "--tls-cert-file, --tls-key-file: one needs the other"
    if config.tls_client_ca_file and not config.tls_cert_file:
        yield "--tls-client-ca-file: needs --tls-cert-file and --tls-key-file"
    if not config.insecure and not is_loopback(config.address):
        guards = {"--tls-cert-file and --tls-key-file": config.tls_cert_file, "--access-file": config.access_file}
        missing = " and ".join(flag for flag, value in guards.items() if not value)
        if missing:
            yield f"--address: {config.address} is not loopback: that needs {missing}, or --insecure if you mean it"


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _variable(name: str) -> str:
    return PREFIX + name.upper()


_FIELDS: Final[Mapping[str, Field[Any]]] = {item.name: item for item in fields(Config)}
