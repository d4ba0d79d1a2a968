"""Asks a server's health from outside, for container probes and people."""

from collections.abc import Callable
from typing import Any

import grpc
from grpc_health.v1 import health_pb2

from perdure_server.kernel.limits import SECOND
from perdure_server.rpc import limits

# The name under which the health service answers for the process alone; "" and the services' names answer for readiness.
LIVENESS = "liveness"

_METHOD = "/grpc.health.v1.Health/Check"


def probe(target: str, service: str) -> str:
    """What the server says of `service`, such as SERVING; or why it says nothing, as UNREACHABLE: ... Takes limits.PROBE ms at most."""
    with grpc.insecure_channel(target) as channel:
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
