"""Where the server is and who asks: the one place that reads the environment.

| variable | means | default |
| --- | --- | --- |
| PERDURE_ADDRESS | host:port of a server | 127.0.0.1:7463, where `perdure dev` and `perdure serve` listen |
| PERDURE_NAMESPACE | namespace of everything that names none | default |
| PERDURE_TOKEN | bearer token, sent with every call | none |
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

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


def connection_config(
    address: str | None = None, namespace: str | None = None, token: str | None = None, environment: Mapping[str, str] | None = None
) -> ConnectionConfig:
    """What is given, else what the environment says, else the defaults. Empty variables count as unset."""
    known = os.environ if environment is None else environment
    return ConnectionConfig(
        _with_port(address or known.get("PERDURE_ADDRESS") or DEFAULT_ADDRESS),
        namespace or known.get("PERDURE_NAMESPACE") or DEFAULT_NAMESPACE,
        token or known.get("PERDURE_TOKEN") or "",
    )


def _with_port(address: str) -> str:
    """A bare host gets the port of `perdure dev`; gRPC itself would try 443."""
    is_bare = ":" not in address.rpartition("]")[2] and "/" not in address
    return address + DEFAULT_ADDRESS[DEFAULT_ADDRESS.rindex(":") :] if is_bare else address
