"""`perdure dev`: the whole service on one machine without configuration. A plug-in of the `perdure` command, like `perdure serve`.

The store and Redis are processes of their own, found on this machine; they end with this one, and what they stored stays.
"""

import asyncio
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from perdure_server import config as configuration
from perdure_server import main
from perdure_server.config import Config, ConfigInvalid
from perdure_server.dev_doors import dev_doors
from perdure_server.embedded import EmbeddedError, EmbeddedEvent, EmbeddedOptions, EmbeddedServices, Happening, embedded_services
from perdure_server.embedded.values import StoreKind
from perdure_server.ports.errors import StoreError
from perdure_server.rpc.doors.invalid import DoorsInvalid
from perdure_server.rpc.server import AddressInUse
from perdure_server.telemetry.logs import configure

_TOLD = frozenset({Happening.ENDED, Happening.FAILED, Happening.READY})


@dataclass(frozen=True)
class DevOptions:
    """Where `perdure dev` keeps its data, and how it serves. `config` names neither store nor Redis: those are started here."""

    data_directory: Path
    config: Config
    redis: bool = True
    test: bool = False  # the data directory is a new one, and goes with the server
    tls: bool = False
    auth: bool = False


async def run_dev(options: DevOptions, tell: Callable[[str], None], stop: asyncio.Event) -> None:
    """Serve until `stop` is set. Raises EmbeddedError, StoreError, AddressInUse."""
    environment = configuration.child_environment()
    started = False

    def on_event(event: EmbeddedEvent) -> None:
        if started and event.happening in _TOLD:
            tell(event.text)

    embedded = EmbeddedOptions(options.data_directory, environment, redis=options.redis, on_event=on_event)
    async with embedded_services(embedded) as services:
        redis_url = services.redis.url if services.redis is not None else ""
        doors = dev_doors(options.config, options.data_directory, tls=options.tls, auth=options.auth)
        cheaper = services.store.kind is not StoreKind.MONGOD
        config = replace(doors.config, mongo_url=services.store.url, redis_url=redis_url, store_transactions=cheaper)
        async with main.serve(config, main.Parts(dev=True, test=options.test)) as running:
            started = True
            for line in _greeting(services, options, f"{config.address}:{running.port}", doors.lines):
                tell(line)
            await stop.wait()


def _greeting(services: EmbeddedServices, options: DevOptions, address: str, doors: Sequence[str]) -> list[str]:
    store, redis = services.store, services.redis
    queues = f"{redis.kind} {redis.version}, pid {redis.pid}" if redis is not None else "in-process (no Redis found)"
    test = ["  test          TestService is served: time can be moved, and nothing is kept"] if options.test else []
    return [
        f"Perdure serves on {address}",
        f"  store         {store.kind} {store.version} at {store.url}, pid {store.pid}: {store.durability_text}",
        f"  coordination  {queues}",
        f"  data          {options.data_directory}",
        f"  sessions      a worker is missed after {options.config.session_lease_ms / 1000:g} s",
        *doors,
        *test,
        "Try: perdure definitions apply FILE --activate; perdure start TYPE KEY --input JSON; perdure watch TYPE KEY. Ctrl-C stops.",
    ]


@click.command()
@click.option(
    "--data-dir", type=click.Path(path_type=Path, file_okay=False), help="Where everything is kept [default: the user's data directory]."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=configuration.DEFAULT_PORT,
    show_default=True,
    help="Port of the service; 0 = a free one.",
)
@click.option(
    "--lease",
    "lease_seconds",
    type=click.IntRange(3, 600),
    default=30,
    show_default=True,
    help="Seconds after which a silent worker is missed.",
)
@click.option("--no-redis", is_flag=True, help="Coordinate in-process, even if a Redis is found.")
@click.option("--otlp-endpoint", default="", help="Where to send traces by OTLP over gRPC, such as http://127.0.0.1:4317.")
@click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="warning", show_default=True)
@click.option("--test", is_flag=True, help="Serve TestService too: its clock can be moved. Keeps nothing.")
@click.option("--tls", is_flag=True, help="Serve TLS, with certificates of a CA that is made at each start.")
@click.option("--auth", is_flag=True, help="Ask for tokens, which are made at each start: one for each role.")
def dev(*, data_dir: Path | None, port: int, lease_seconds: int, no_redis: bool, otlp_endpoint: str, log_level: str, **kinds: bool) -> None:
    """Run Perdure on this machine: store, Redis and server, nothing to configure."""
    test, tls, auth = kinds["test"], kinds["tls"], kinds["auth"]
    if test and data_dir is not None:
        raise click.UsageError("--test keeps nothing: it has a data directory of its own, which goes when it ends")
    configure(log_level, "text")
    config = Config(port=port, session_lease_ms=lease_seconds * 1000, otlp_endpoint=otlp_endpoint, log_level=log_level)
    try:
        with ExitStack() as stack, asyncio.Runner() as runner:
            if test:
                data_dir = Path(stack.enter_context(TemporaryDirectory(prefix="perdure-test-")))
            options = DevOptions(data_dir or configuration.data_directory(), config, redis=not no_redis, test=test, tls=tls, auth=auth)
            runner.run(_until_signalled(options))
    except (EmbeddedError, StoreError, AddressInUse, DoorsInvalid) as error:
        raise click.ClickException(str(error)) from error


async def _until_signalled(options: DevOptions) -> None:
    signals = main.Signals(options.config.drain_grace_ms)
    signals.install()
    signals.serving = True
    await run_dev(options, click.echo, signals.stop)


@click.command(context_settings={"ignore_unknown_options": True}, add_help_option=False)
@click.argument("flags", nargs=-1, type=click.UNPROCESSED)
def serve(flags: tuple[str, ...]) -> None:
    """Run one server against your own MongoDB and Redis; `perdure serve --help` lists the settings."""
    if "--help" in flags:
        click.echo(configuration.markdown())
        return
    try:
        sys.exit(main.run(configuration.read(list(flags))))
    except ConfigInvalid as error:
        raise click.ClickException(str(error)) from error
