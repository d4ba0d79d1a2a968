"""`python -m perdure_server`: serve, and two small commands that a container's probe may run often, so they import little."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from perdure_server import config as configuration
from perdure_server.affinity import cpu_of, keep_to, usable
from perdure_server.config import ConfigInvalid

EXIT_FAILED: Final = 1
EXIT_MISUSED: Final = 2
USAGE: Final = """usage: python -m perdure_server COMMAND

  serve [flags]       serve until SIGTERM; flags and variables: see `config`
  config [--markdown] what can be set
  metrics             what is measured: the table of docs/metrics.md
  health [flags] [--liveness]
                      ask the server at --address and --port: exit code 0 when it serves
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    commands = {"serve": _serve, "config": _config, "metrics": _metrics, "health": _health}
    command = commands.get(given[0]) if given else None
    if command is None:
        return _usage()
    try:
        return command(given[1:])
    except ConfigInvalid as error:
        for fault in error.faults:
            print(f"perdure {given[0]}: {fault}", file=sys.stderr)
        return EXIT_MISUSED


def _serve(arguments: Sequence[str]) -> int:
    config = configuration.read(arguments)
    configuration.let_grpc_poll()
    if config.processes > 1:
        from perdure_server.processes import run as run_several  # noqa: PLC0415 -- as below

        return run_several(config)
    keep_to(cpu_of(config.cpu_affinity, 0, usable()))
    from perdure_server.main import run  # noqa: PLC0415 -- drivers and all: only this command needs them

    return run(config)


def _config(arguments: Sequence[str]) -> int:
    if list(arguments) not in ([], ["--markdown"]):
        return _usage()
    print(configuration.markdown(), end="")
    return 0


def _metrics(arguments: Sequence[str]) -> int:
    if arguments:
        return _usage()
    from perdure_server.telemetry.metrics_page import table  # noqa: PLC0415 -- only this command needs it

    print(table(), end="")
    return 0


def _health(arguments: Sequence[str]) -> int:
    liveness = "--liveness" in arguments
    config = configuration.read([argument for argument in arguments if argument != "--liveness"])
    from perdure_server.rpc.probe import LIVENESS, ProbeTls, probe  # noqa: PLC0415 -- grpc: only this command needs it

    host = "127.0.0.1" if config.address in {"0.0.0.0", "::"} else config.address  # noqa: S104 -- the server's wildcard, asked from inside
    tls = None
    if config.tls_cert_file:
        tls = ProbeTls(Path(config.tls_cert_file), Path(config.tls_key_file), bool(config.tls_client_ca_file))
    answer = probe(f"[{host}]:{config.port}" if ":" in host else f"{host}:{config.port}", LIVENESS if liveness else "", tls)
    print(answer)
    return 0 if answer == "SERVING" else EXIT_FAILED


def _usage() -> int:
    print(USAGE, file=sys.stderr, end="")
    return EXIT_MISUSED


if __name__ == "__main__":
    sys.exit(main())
