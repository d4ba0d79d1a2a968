"""Names for grpc.aio's own types, whose stubs are generic where the classes are not."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import grpc
from grpc import aio

if TYPE_CHECKING:
    ServerInterceptor = aio.ServerInterceptor[Any, Any]
else:
    ServerInterceptor = aio.ServerInterceptor

EOF = aio.EOF  # type: ignore[attr-defined]  # what `read` returns once the peer has closed its side; the stubs do not have it
Context: TypeAlias = "aio.ServicerContext[Any, Any]"
GenericHandler: TypeAlias = "grpc.GenericRpcHandler[Any, Any]"
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
Behaviour: TypeAlias = Callable[[Any, Any], Any]
Continuation: TypeAlias = Callable[[grpc.HandlerCallDetails], Awaitable[Any]]
