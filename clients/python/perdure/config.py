"""Where the server is and who asks: the one place that reads the environment.

| variable | means | default |
| --- | --- | --- |
| PERDURE_ADDRESS | host:port of a server | 127.0.0.1:7463, where `perdure dev` and `perdure serve` listen |
| PERDURE_NAMESPACE | namespace of everything that names none | default |
| PERDURE_TOKEN | bearer token, sent with every call | none |
| PERDURE_TOKEN_FILE | file of the token, read again when it changes | none |
| PERDURE_TLS | `true`: TLS, by the CAs of the system; `false`: none, whatever else is set | by the files below |
| PERDURE_TLS_CA_FILE | CA of the server, in PEM | the system's |
| PERDURE_TLS_CERT_FILE, PERDURE_TLS_KEY_FILE | the client's own certificate and key, in PEM | none |
| PERDURE_TLS_SERVER_NAME | name that the server's certificate must have | that of the address |
| PERDURE_PROFILE | name of a profile with any of these, in lower case without PERDURE_ | none |
| PERDURE_PROFILES | file of the profiles (perdure/profiles.py) | ~/.config/perdure/profiles.toml |
| PERDURE_CODEC_KEYS | key file that values are encrypted with (docs/how-to/encrypt-payloads.md in the repository) | none: plain |
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from perdure.codec import Codec
from perdure.errors import InvalidRequest
from perdure.profiles import with_profile
from perdure.security import Tls, TokenFile, tls_of

DEFAULT_ADDRESS = "127.0.0.1:7463"
DEFAULT_NAMESPACE = "default"


@dataclass(frozen=True, slots=True)
class ConnectionConfig:
    """Where the server is and who asks."""

    address: str = DEFAULT_ADDRESS
    """host:port, or any gRPC target such as `dns:///perdure:7463`."""
    namespace: str = DEFAULT_NAMESPACE
    """Namespace of everything that names none."""
    token: str = field(default="", repr=False)
    """Bearer token. Empty: none is sent."""
    token_file: TokenFile | None = None
    """Where the bearer token is, instead of `token`."""
    tls: Tls | None = None
    """TLS. None: plain text."""
    codec: Codec | None = field(default=None, repr=False)
    """What values go through. None: they travel plain."""

    def bearer(self) -> str:
        """The bearer token as it is now; empty: none."""
        return self.token or (self.token_file.current() if self.token_file is not None else "")


@dataclass(frozen=True, slots=True)
class Security:
    """What a client is told of its security; None: by the settings."""

    token_file: str | None = None
    tls: Tls | bool | None = None
    profile: str | None = None


def connection_config(
    address: str | None = None,
    namespace: str | None = None,
    token: str | None = None,
    environment: Mapping[str, str] | None = None,
    *,
    security: Security | None = None,
    codec: Codec | None = None,
) -> ConnectionConfig:
    """What is given, else what environment and profile say, else the defaults. Empty variables count as unset.

    Raises:
        InvalidRequest: A file is missing or damaged, or a library that it needs is not installed.
    """
    security = security or Security()
    known = with_profile(os.environ if environment is None else environment, security.profile)
    token_file = None if token else security.token_file
    if not token and not token_file:
        token, token_file = known.get("PERDURE_TOKEN"), known.get("PERDURE_TOKEN_FILE")
    return ConnectionConfig(
        _with_port(address or known.get("PERDURE_ADDRESS") or DEFAULT_ADDRESS),
        namespace or known.get("PERDURE_NAMESPACE") or DEFAULT_NAMESPACE,
        token or "",
        None if token or not token_file else TokenFile(token_file),
        tls_of(security.tls, known),
        codec or key_file_codec(known.get("PERDURE_CODEC_KEYS") or ""),
    )


def key_file_codec(path: str) -> Codec | None:
    """The codec of a key file; None for an empty path. Raises InvalidRequest that says what is wrong with the file."""
    if not path:
        return None
    try:
        from perdure.aes_gcm import AesGcm  # noqa: PLC0415 -- an optional extra, which only those with keys must have

        return AesGcm.from_file(path)
    except (ImportError, OSError, ValueError) as error:
        raise InvalidRequest(f"the key file {path} (PERDURE_CODEC_KEYS, --codec-keys) cannot be used: {error}") from None


def _with_port(address: str) -> str:
    """A bare host gets the port of `perdure dev`; gRPC itself would try 443."""
    is_bare = ":" not in address.rpartition("]")[2] and "/" not in address
    return address + DEFAULT_ADDRESS[DEFAULT_ADDRESS.rindex(":") :] if is_bare else address
