"""What every command shares: where the server is, how to speak, and what an error becomes."""

import asyncio
import functools
import json
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Concatenate, Final, NoReturn, ParamSpec

import click

from perdure import errors, limits
from perdure.client import Client
from perdure.config import key_file_codec
from perdure.errors import PerdureError
from perdure.reasons import ErrorReason
from perdure.security import Tls

P = ParamSpec("P")

NOT_COMPLETED: Final = 1
EXIT_CODES: Final[Mapping[type[PerdureError], int]] = {
    errors.WorkflowNotCompleted: NOT_COMPLETED,
    errors.Unavailable: 3,
    errors.CallTimeout: 3,
    errors.Overloaded: 3,
    errors.InvalidRequest: 4,
    errors.AlreadyExists: 4,
    errors.NotAllowed: 4,
    errors.Conflict: 4,
    errors.NotImplementedYet: 4,
    errors.ClaimLost: 4,
    errors.NotFound: 5,
    errors.AccessDenied: 6,
    errors.ServerFault: 70,
}
INTERRUPTED: Final = 130
CONNECT_TIMEOUT: Final = timedelta(seconds=limits.COMMAND_CONNECT_TIMEOUT)

ADVICE: Final[Mapping[str, str]] = {
    ErrorReason.START_INPUT_MISMATCH: "the stored workflow is untouched; `perdure show` it, or use another key",
    ErrorReason.WORKFLOW_ALREADY_EXISTS: "use --on-open or --on-closed to say what should happen",
    ErrorReason.WORKFLOW_NOT_FOUND: "`perdure list` shows what there is; the namespace may be another (--namespace)",
    ErrorReason.WORKFLOW_CLOSED: "it has ended: `perdure result` tells how",
    ErrorReason.DEFINITION_NOT_FOUND: "`perdure definitions apply FILE --activate`, or connect a worker that brings it",
    ErrorReason.SIGNAL_ID_REUSED: "give another --id, or none",
    ErrorReason.UNAUTHENTICATED: "`perdure tokens create` makes a token; say where it is by --token-file or PERDURE_TOKEN_FILE",
    ErrorReason.PERMISSION_DENIED: "an operator of the server can give you the role, in its access file",
    ErrorReason.NOT_IMPLEMENTED: "this server is older than the command, or the call is not built yet",
}
"""What a person can do, by reason; said below the error."""


def connected(command: Callable[Concatenate[Client, P], Awaitable[int | None]]) -> Callable[P, None]:
    """Runs an async command with a client, and turns its errors into words and exit codes. Adds --address, --namespace and --codec-keys."""

    @click.option("--address", metavar="HOST:PORT", help="Server; default PERDURE_ADDRESS, else 127.0.0.1:7463.")
    @click.option("--namespace", metavar="NAME", help="Namespace; default PERDURE_NAMESPACE, else `default`.")
    @click.option("--codec-keys", metavar="FILE", help="Key file of encrypted values; default PERDURE_CODEC_KEYS.")
    @click.option("--profile", metavar="NAME", help="Profile in ~/.config/perdure/profiles.toml; default PERDURE_PROFILE.")
    @click.option("--token-file", metavar="FILE", help="File of the bearer token; default PERDURE_TOKEN_FILE, or PERDURE_TOKEN itself.")
    @click.option("--tls-ca-file", metavar="FILE", help="TLS by this CA; default PERDURE_TLS_CA_FILE. PERDURE_TLS=true: by the system's.")
    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        address, namespace, keys = (_text(kwargs.pop(name, None)) for name in ("address", "namespace", "codec_keys"))
        profile, token_file, ca_file = (_text(kwargs.pop(name, None)) for name in ("profile", "token_file", "tls_ca_file"))

        async def conduct() -> int | None:
            codec = key_file_codec(keys or "")
            tls = Tls(ca_file) if ca_file else None
            async with Client(
                address, namespace=namespace, token_file=token_file, tls=tls, profile=profile, connect_timeout=CONNECT_TIMEOUT, codec=codec
            ) as client:
                return await command(client, *args, **kwargs)

        try:
            code = asyncio.run(conduct())
        except PerdureError as error:
            fail(error, as_json=bool(kwargs.get("as_json")))
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)
        except BrokenPipeError:
            # The reader of a pipe, such as `head`, has seen enough. What is still buffered goes nowhere, else Python ends with 120.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(0)
        sys.exit(code or 0)

    return run


def fail(error: PerdureError, *, as_json: bool) -> NoReturn:
    """Says what went wrong and what to do, and ends with the error's exit code."""
    code = next((code for kind, code in EXIT_CODES.items() if isinstance(error, kind)), 70)
    if as_json:
        violations = [{"field": violation.field, "description": violation.description} for violation in error.violations]
        facts = {"reason": str(error.reason), "message": error.message, "metadata": dict(error.metadata), "violations": violations}
        click.echo(json.dumps({"error": facts}, ensure_ascii=False), err=True)
        sys.exit(code)
    click.echo(f"error: {error}", err=True)
    advice = error.metadata.get("command") or ADVICE.get(error.reason)
    if advice and advice not in error.message:
        click.echo(f"hint: {advice}", err=True)
    sys.exit(code)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
