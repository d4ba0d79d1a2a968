"""Our services on the wire: every RPC of the proto, served by a method of its servicer or answered NOT_IMPLEMENTED.

The generated base classes are not used: their methods are plain functions, which grpc.aio would run in threads, and they answer without
ErrorInfo. What a servicer does not have is what later issues bring.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import grpc
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message_factory import GetMessageClass

from perdure_server.rpc.errors import not_implemented
from perdure_server.rpc.transport import GenericHandler, Handler

Around = Callable[[str, Callable[..., Any]], Callable[..., Any]]


class Servicer(Protocol):
    """Has one method per RPC that it serves, named as the RPC in lower case: StartWorkflow is `start_workflow`."""

    descriptor: ServiceDescriptor


def generic_handler(servicer: Servicer, around: Around = lambda _method, behaviour: behaviour) -> GenericHandler:
    """The handler of one service. `around(method, behaviour)` may wrap what serves an RPC."""
    handlers: dict[str, Handler] = {}
    for method in servicer.descriptor.methods:
        served = getattr(servicer, _python_name(method), None)
        handlers[method.name] = _handler(method, _refusal(method) if served is None else around(method.name, served))
    return grpc.method_handlers_generic_handler(servicer.descriptor.full_name, handlers)


def unimplemented_methods(*servicers: type[Servicer]) -> list[str]:
    """RPCs that answer NOT_IMPLEMENTED, as `AdminService/PutSchedule`."""
    methods = [(servicer, method) for servicer in servicers for method in servicer.descriptor.methods]
    return [_short_name(method) for servicer, method in methods if not hasattr(servicer, _python_name(method))]


def _handler(method: MethodDescriptor, behaviour: Callable[..., Any]) -> Handler:
    make = _KINDS[method.client_streaming, method.server_streaming]
    return make(behaviour, GetMessageClass(method.input_type).FromString, GetMessageClass(method.output_type).SerializeToString)


def _refusal(method: MethodDescriptor) -> Callable[..., Any]:
    async def refuse(request: object, context: object) -> None:
        del request, context
        raise not_implemented(_short_name(method))

    return refuse


def _python_name(method: MethodDescriptor) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", method.name).lower()


def _short_name(method: MethodDescriptor) -> str:
    return f"{method.containing_service.name}/{method.name}"


_KINDS: Mapping[tuple[bool, bool], Callable[..., Handler]] = {
    (False, False): grpc.unary_unary_rpc_method_handler,
    (False, True): grpc.unary_stream_rpc_method_handler,
    (True, False): grpc.stream_unary_rpc_method_handler,
    (True, True): grpc.stream_stream_rpc_method_handler,
}
