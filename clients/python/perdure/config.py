"""Where the server is and who asks: the one place that reads the environment.

| variable | means | default |
| --- | --- | --- |
| PERDURE_ADDRESS | host:port of a server | 127.0.0.1:7463, where `perdure dev` and `perdure serve` listen |
| PERDURE_NAMESPACE | namespace of everything that names none | default |
| PERDURE_TOKEN | bearer token, sent with every call | none |
| PERDURE_CODEC_KEYS | key file that values are encrypted with (docs/how-to/encrypt-payloads.md in the repository) | none: plain |
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from perdure.codec import Codec
from perdure.errors import InvalidRequest

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
    codec: Codec | None = field(default=None, repr=False)
    """What values go through. None: they travel plain."""


def connection_config(
    address: str | None = None,
    namespace: str | None = None,
    token: str | None = None,
    environment: Mapping[str, str] | None = None,
    *,
    codec: Codec | None = None,
) -> ConnectionConfig:
    """What is given, else what the environment says, else the defaults. Empty variables count as unset.

    Raises:
        InvalidRequest: The key file is missing or damaged, or the library for it is not installed.
    """
    known = os.environ if environment is None else environment
    return ConnectionConfig(
        _with_port(address or known.get("PERDURE_ADDRESS") or DEFAULT_ADDRESS),
        namespace or known.get("PERDURE_NAMESPACE") or DEFAULT_NAMESPACE,
        token or known.get("PERDURE_TOKEN") or "",
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
