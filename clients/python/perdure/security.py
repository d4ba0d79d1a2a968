"""What a client shows and whom it trusts: TLS and a token from a file; and plain words for what goes wrong in a handshake."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import grpc

from perdure.errors import InvalidRequest

Stamp = tuple[int, int, int] | None

# What gRPC says in a handshake, and what it means; the first that is found counts. There is no code for any of it.
_DEFINITE: Final[Mapping[str, str]] = {
    "certificate has expired": "the server's certificate has expired",
    "CERTIFICATE_VERIFY_FAILED": "the server's certificate is of no CA that is trusted: give its CA by PERDURE_TLS_CA_FILE, --tls-ca-file",
    "Hostname Verification Check failed": "the server's certificate has other names: use one as address, or set PERDURE_TLS_SERVER_NAME",
    "WRONG_VERSION_NUMBER": "the server speaks plain text, and TLS was asked for: unset PERDURE_TLS and its files, or ask another port",
}
_CUT: Final = ("Socket closed", "Connection reset", "Broken pipe")
_CUT_PLAIN: Final = "the server cut the connection: it may want TLS, by PERDURE_TLS=true or PERDURE_TLS_CA_FILE (--tls-ca-file)"
_CUT_TLS: Final = "the server cut the handshake: it may want a client certificate, by PERDURE_TLS_CERT_FILE and PERDURE_TLS_KEY_FILE"
_PAIR: Final = "a client certificate and its key go together: PERDURE_TLS_CERT_FILE and PERDURE_TLS_KEY_FILE"


@dataclass(frozen=True, slots=True)
class Tls:
    """TLS to the server. Without arguments: a server whose certificate the system's CAs have signed."""

    ca_file: str = ""
    """CA of the server in PEM. Empty: the system's."""
    cert_file: str = ""
    """The client's own certificate in PEM, with the chain behind it, for servers that ask for one."""
    key_file: str = ""
    """Its private key in PEM, without a password."""
    server_name: str = ""
    """Name that the server's certificate must have, if not that of the address."""

    def __post_init__(self) -> None:
        if bool(self.cert_file) is not bool(self.key_file):
            raise InvalidRequest(_PAIR)

    def credentials(self) -> grpc.ChannelCredentials:
        """What gRPC takes, from the files as they are now. Raises InvalidRequest if one cannot be read."""
        ca = _read(self.ca_file) if self.ca_file else None
        if not self.cert_file:
            return grpc.ssl_channel_credentials(ca)
        return grpc.ssl_channel_credentials(ca, _read(self.key_file), _read(self.cert_file))

    def stamp(self) -> tuple[Stamp, ...]:
        """Changes when the client's certificate is replaced; empty without one."""
        return (_stamp(self.cert_file), _stamp(self.key_file)) if self.cert_file else ()


class TokenFile:
    """A bearer token in a file, read again when the file changes, so that short-lived tokens can be replaced under a running worker."""

    def __init__(self, path: str) -> None:
        """Raises InvalidRequest if it cannot be read or is empty."""
        self._path = path
        self._stamp = _stamp(path)
        self._token = _token(path)

    def __repr__(self) -> str:
        return f"TokenFile({self._path!r})"

    def current(self) -> str:
        """The token; while the file cannot be read, the last one."""
        stamp = _stamp(self._path)
        if stamp not in {None, self._stamp}:
            try:
                self._token = _token(self._path)
            except InvalidRequest:
                return self._token  # in the middle of being written: the next call looks again
            self._stamp = stamp
        return self._token


def handshake_fault(details: str, tls: bool | None) -> str:
    """What went wrong before any call, in plain words; empty: nothing that is known.

    `tls`: whether it was asked for, where no server has answered yet; None: one has, and a cut says nothing of TLS.
    """
    for sign, meaning in _DEFINITE.items():
        if sign in details:
            return meaning
    if tls is not None and any(sign in details for sign in _CUT):
        return _CUT_TLS if tls else _CUT_PLAIN
    return ""


def is_definite(details: str) -> bool:
    """Whether no later try can help."""
    return any(sign in details for sign in _DEFINITE)


def tls_of(given: Tls | bool | None, known: Mapping[str, str]) -> Tls | None:
    """What is given, else what the settings say; any file among them asks for TLS. Raises InvalidRequest."""
    if isinstance(given, Tls):
        return given
    named = {name: known.get(f"PERDURE_TLS_{name.upper()}", "") for name in ("ca_file", "cert_file", "key_file", "server_name")}
    asked = known.get("PERDURE_TLS", "").lower()
    if asked not in {"", "true", "1", "yes", "false", "0", "no"}:
        raise InvalidRequest("PERDURE_TLS must be true or false")
    wanted = given if given is not None else asked in {"true", "1", "yes"} or (not asked and any(named.values()))
    return Tls(**named) if wanted else None


def _token(path: str) -> str:
    token = _read(path).decode("utf-8", errors="replace").strip()
    if not token or not token.isascii() or not token.isprintable():
        raise InvalidRequest(f"the token file {path} holds no token: one line of printable ASCII")
    return token


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InvalidRequest(f"{path} cannot be read: {error.strerror}") from None


def _stamp(path: str) -> Stamp:
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
