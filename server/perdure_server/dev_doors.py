"""`perdure dev --tls` and `--auth`: certificates and tokens to try the doors with, made in the data directory."""

from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Final

from perdure_server.config import Config
from perdure_server.kernel.limits import DAY
from perdure_server.rpc import limits
from perdure_server.rpc.doors.permissions import Role
from perdure_server.rpc.doors.tokens import new_token, token_line

_DIRECTORY_MODE: Final = 0o700


@dataclass(frozen=True)
class DevDoors:
    """The configuration with the doors, and what to tell the person who tries them."""

    config: Config
    lines: tuple[str, ...] = ()


def dev_doors(config: Config, directory: Path, *, tls: bool, auth: bool) -> DevDoors:
    """Make what was asked for below `directory`, anew at every start."""
    lines: list[str] = []
    if tls:
        config, told = _with_tls(config, directory / "tls")
        lines += told
    if auth:
        config, told = _with_tokens(config, directory / "access")
        lines += told
    return DevDoors(config, tuple(lines))


def _with_tls(config: Config, directory: Path) -> tuple[Config, list[str]]:
    from perdure_server.rpc.doors.authority import Authority  # noqa: PLC0415 -- cryptography takes time, and --tls alone needs it

    directory.mkdir(_DIRECTORY_MODE, parents=True, exist_ok=True)
    authority = Authority(directory, timedelta(milliseconds=limits.TRY_OUT_CERTIFICATES))
    server = authority.server("localhost", "127.0.0.1", "::1")
    client = authority.client("dev", "perdure://dev/client")
    changed = replace(config, tls_cert_file=str(server.certificate), tls_key_file=str(server.key))
    return changed, [
        f"  TLS           certificates for {limits.TRY_OUT_CERTIFICATES // DAY} days in {directory}; a client needs",
        f"                export PERDURE_TLS_CA_FILE={authority.ca}",
        f"                grpcurl -cacert {authority.ca} ...",
        f"                a client's own, for servers with --tls-client-ca-file: {client.certificate}, {client.key}",
    ]


def _with_tokens(config: Config, directory: Path) -> tuple[Config, list[str]]:
    from perdure_server.rpc.doors.authority import write_secret  # noqa: PLC0415 -- as above

    directory.mkdir(_DIRECTORY_MODE, parents=True, exist_ok=True)
    entries: list[str] = []
    for role in Role:
        token = new_token()
        write_secret(directory / f"{role.value}.token", f"{token}\n".encode())
        entries.append(f'[[callers]]\nname = "dev-{role.value}"\ntokens = ["{token_line(token)}"]\nroles = {{ {role.value} = ["*"] }}\n')
    path = directory / "access.toml"
    path.write_text("\n".join(entries), encoding="utf-8")
    return replace(config, access_file=str(path)), [
        f"  access        {path}: a token for each role beside it; the first that you need is",
        f"                export PERDURE_TOKEN_FILE={directory / 'admin.token'}",
    ]
