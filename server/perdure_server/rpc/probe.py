"""Asks a server's health from outside, for container probes and people."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
from grpc_health.v1 import health_pb2
from msgspec import Struct

from perdure_server.kernel.limits import SECOND
from perdure_server.rpc import limits

if TYPE_CHECKING:
    from cryptography import x509

# The name under which the health service answers for the process alone; "" and the services' names answer for readiness.
LIVENESS = "liveness"

_METHOD = "/grpc.health.v1.Health/Check"


class ProbeTls(Struct, frozen=True):
    """How a server with TLS is asked by itself: it trusts its own certificate, by the name in it, and shows it if clients must show one."""

    certificate: Path
    key: Path
    mutual: bool


def probe(target: str, service: str, tls: ProbeTls | None = None) -> str:
    """What the server says of `service`, such as SERVING; or why it says nothing, as UNREACHABLE: ... Takes limits.PROBE ms at most."""
    try:
        channel = grpc.insecure_channel(target) if tls is None else _secure_channel(target, tls)
    except (OSError, ValueError) as error:
        return f"UNREACHABLE: {error}"
    with channel:
        check: Callable[..., Any] = channel.unary_unary(
            _METHOD,
            request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            response_deserializer=health_pb2.HealthCheckResponse.FromString,
        )
        try:
            answer = check(health_pb2.HealthCheckRequest(service=service), timeout=limits.PROBE / SECOND)
        except grpc.RpcError as error:
            failed: Any = error  # of a call it has a code, which the stubs do not tell
            return f"UNREACHABLE: {failed.code().name}"
        return str(health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status))


def _secure_channel(target: str, tls: ProbeTls) -> grpc.Channel:
    from cryptography import x509  # noqa: PLC0415 -- only a server with TLS needs it

    chain = tls.certificate.read_bytes()
    leaf = x509.load_pem_x509_certificates(chain)[0]
    names = [str(name) for name in _names(leaf)]
    credentials = grpc.ssl_channel_credentials(chain, *((tls.key.read_bytes(), chain) if tls.mutual else ()))
    return grpc.secure_channel(
        target, credentials, [("grpc.ssl_target_name_override", names[0].replace("*", "health", 1))] if names else None
    )


def _names(leaf: "x509.Certificate") -> Iterable[object]:
    from cryptography import x509  # noqa: PLC0415 -- as above

    try:
        found = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    return [*found.get_values_for_type(x509.DNSName), *found.get_values_for_type(x509.IPAddress)]
