"""perdure doctor: what is wrong with an installation, and what to do about it."""

import asyncio
import ipaddress
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime, timedelta
from importlib.metadata import entry_points
from typing import Final, TypeAlias

import click
from rich.text import Text

from perdure.cli.options import json_option
from perdure.cli.output import ago, console, echo_json
from perdure.cli.session import connected
from perdure.client import Client
from perdure.errors import PerdureError, Unavailable
from perdure.filtering import Filter
from perdure.operation_values import ServerCheck, ServerInfo, Severity
from perdure.worker.plan import client_version

DIRECT: Final = "perdure.doctor"
"""Entry points of this group look at a store and a Redis without a server; they are of type Examine."""
CLOCK_WARNING: Final = timedelta(seconds=5)
RANKS: Final = {"ERROR": 0, "WARNING": 1, "UNKNOWN": 2, "OK": 3}
STYLES: Final = {"ERROR": "bold red", "WARNING": "yellow", "UNKNOWN": "blue", "OK": "green"}
_DEFINITIONS: Final = 200  # that are looked at for workers

Examine: TypeAlias = Callable[[str, str], Sequence[tuple[str, str, str, str]]]
"""Of a MongoDB and a Redis URL (empty: not that one) makes findings: name, severity, finding, remedy."""


@click.command()
@click.option("--mongo-url", default="", help="Look at this MongoDB directly instead, without a server (needs `perdure[server]`).")
@click.option("--redis-url", default="", help="Look at this Redis or Valkey directly, without a server.")
@click.option("--all", "show_all", is_flag=True, help="Also what is in order.")
@json_option
@connected
async def doctor(client: Client, *, mongo_url: str, redis_url: str, show_all: bool, as_json: bool) -> int:
    """Look for what is wrong, through the server's own eyes: store, Redis, clock, versions, credentials, work that nobody can do.

    Exit code 1 if a promise is not kept (an ERROR); 3 if no server was reached.
    """
    if mongo_url or redis_url:
        found = await asyncio.to_thread(_direct, mongo_url, redis_url)
    else:
        found = [check async for check in _through(client)]
    found.sort(key=lambda check: RANKS[check.severity])
    _print(found, show_all=show_all, as_json=as_json)
    if any(check.name == "server.reachable" and check.severity == "ERROR" for check in found):
        return 3
    return 1 if any(check.severity == "ERROR" for check in found) else 0


def _print(found: Sequence[ServerCheck], *, show_all: bool, as_json: bool) -> None:
    if as_json:
        for check in found:
            echo_json({"name": check.name, "severity": check.severity, "finding": check.finding, "remedy": check.remedy})
        return
    shown = [check for check in found if show_all or check.severity != "OK"]
    for check in shown:
        console().print(Text.assemble((f"{check.severity:<8}", STYLES[check.severity]), (f" {check.name}", "bold"), f"  {check.finding}"))
        if check.remedy:
            console().print(Text(f"         do: {check.remedy}"))
    healthy = sum(check.severity == "OK" for check in found)
    click.echo(f"{healthy} of {len(found)} checks are in order{'' if show_all or healthy == 0 else ' (--all shows them)'}")


async def _through(client: Client) -> AsyncIterator[ServerCheck]:
    before = datetime.now(UTC)
    try:
        info = await client.server_info()
    except Unavailable as error:
        yield ServerCheck(
            "server.reachable", "ERROR", error.message, "start one (`perdure dev`, `perdure serve`), or say where it is: --address"
        )
        return
    took = datetime.now(UTC) - before
    yield ServerCheck("server.reachable", "OK", f"{client.config.address} answered within {took.total_seconds() * 1000:.0f} ms", "")
    for check in info.checks:
        yield check
    yield _version(info)
    yield _clock(info, before + took / 2)
    yield doors(client)
    if info.is_draining:
        yield ServerCheck("server.draining", "WARNING", "this server is leaving", "nothing, if another one takes its place")
    try:
        async for check in _work(client):
            yield check
    except PerdureError as error:
        yield ServerCheck("work", "UNKNOWN", f"could not be looked at: {error.message}", "a reader's rights are needed")


def _version(info: ServerInfo) -> ServerCheck:
    ours = client_version()
    if info.unimplemented_methods:
        missing = ", ".join(info.unimplemented_methods)
        return ServerCheck("server.version", "WARNING", f"this server has no rules for {missing}", "upgrade the server")
    if info.server_version.split(".")[:2] != ours.split(".")[:2]:
        text = f"server {info.server_version}, this command {ours}"
        return ServerCheck("server.version", "WARNING", text, "use the same minor version of both; the server first")
    return ServerCheck("server.version", "OK", f"server {info.server_version}, this command {ours}", "")


def _clock(info: ServerInfo, now: datetime) -> ServerCheck:
    if info.store_time is None:
        return ServerCheck("clock", "UNKNOWN", "the server did not tell its time", "")
    off = abs(info.store_time - now)
    told = f"this machine's clock and store time are {off.total_seconds():.1f} s apart"
    if off > CLOCK_WARNING and not info.is_dev:
        return ServerCheck("clock", "WARNING", told, "run NTP on both; Perdure itself goes by store time only")
    return ServerCheck("clock", "OK", told, "")


def doors(client: Client) -> ServerCheck:
    """What the connection keeps from others."""
    encrypted, token = client.is_encrypted, bool(client.config.token or client.config.token_file)
    told = f"{'TLS' if encrypted else 'no TLS'}, {'a token' if token else 'no token'}"
    if token and not encrypted and not is_loopback(client.config.address):
        return ServerCheck("credentials", "ERROR", f"{told}: the token travels in the clear", "use TLS, or drop the token")
    if not encrypted and not is_loopback(client.config.address):
        return ServerCheck("credentials", "WARNING", f"{told}: whoever is on the way can read and change", "give the server a certificate")
    return ServerCheck("credentials", "OK", told + (", on this machine" if not encrypted else ""), "")


async def _work(client: Client) -> AsyncIterator[ServerCheck]:
    parked = [queue async for queue in client.operations.queues(phases=["NO_WORKER", "INCOMPATIBLE"])]
    for queue in parked:
        what = f"{queue.ready} ready steps {queue.workflow_type} {queue.step} in queue {queue.queue}"
        since = f" since {ago(queue.message.phase_since_time.ToDatetime(tzinfo=UTC))}"
        if queue.phase == "NO_WORKER":
            yield ServerCheck("work.no_worker", "WARNING", f"{what} and no worker serves them{since}", "start a worker that serves them")
        else:
            text = f"{what}, and the {queue.incompatible_workers} workers were built for another contract{since}"
            yield ServerCheck("work.incompatible", "WARNING", text, "deploy that version again, or `perdure definitions migrate`")
    if not parked:
        yield ServerCheck("work.parked", "OK", "everything that is ready can be served", "")
    held = await client.count(Filter(phases=["NEEDS_ATTENTION"]))
    if held.count:
        remedy = "`perdure list --phase needs_attention`, then `perdure why` and `perdure resolve`"
        yield ServerCheck("work.held", "WARNING", f"{held.count} workflows wait for a person's decision", remedy)
    else:
        yield ServerCheck("work.held", "OK", "nothing waits for a person's decision", "")
    async for check in _unserved(client):
        yield check


async def _unserved(client: Client) -> AsyncIterator[ServerCheck]:
    served = {pool.workflow_type async for worker in client.operations.workers() for pool in worker.message.pools}
    missing: list[str] = []
    looked = 0
    async for stored in client.definitions.list(active_only=True):
        looked += 1
        needs_worker = any(step.WhichOneof("kind") == "activity" for step in stored.message.definition.steps)
        if needs_worker and stored.workflow_type not in served:
            missing.append(stored.workflow_type)
        if looked == _DEFINITIONS:
            break
    if missing:
        text = f"no worker is connected for {', '.join(missing[:10])}{' and more' if len(missing) > 10 else ''}"
        yield ServerCheck("work.definitions", "WARNING", text, "start their workers; what is started meanwhile waits")
    else:
        yield ServerCheck("work.definitions", "OK", f"{looked} active definitions, each with a worker", "")


def is_loopback(address: str) -> bool:
    """Whether an address reaches this machine only."""
    host = address.rpartition("/")[2].rpartition(":")[0].strip("[]")
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return address.startswith("unix:")


def _direct(mongo_url: str, redis_url: str) -> list[ServerCheck]:
    points = list(entry_points(group=DIRECT))
    if not points:
        raise click.UsageError("--mongo-url and --redis-url need the server's distribution: pip install 'perdure[server]'")
    examine: Examine = points[0].load()
    return [ServerCheck(name, _severity(severity), finding, remedy) for name, severity, finding, remedy in examine(mongo_url, redis_url)]


def _severity(text: str) -> Severity:
    found: dict[str, Severity] = {"OK": "OK", "WARNING": "WARNING", "ERROR": "ERROR"}
    return found.get(text, "UNKNOWN")
