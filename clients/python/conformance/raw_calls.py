"""Calls by name, with requests and answers in protobuf's JSON: once, as they are, by the settings of a client."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
from google.protobuf import descriptor_pool, json_format, message_factory
from google.protobuf.descriptor import MethodDescriptor
from google.rpc import error_details_pb2

from conformance.lines import Line, Unusable, write
from perdure import Client
from perdure.calls import channel_options
from perdure.contact import call_metadata, channel_credentials
from perdure.statuses import error_of_call
from perdure.testing.v1 import test_service_pb2
from perdure.v1 import admin_service_pb2, worker_service_pb2, workflow_service_pb2

NARROW = [("grpc.http2.bdp_probe", 0), ("grpc.http2.lookahead_bytes", 65_536)]
"""No more is taken in than is read: by itself gRPC would make room for many MiB."""
KNOWN = (error_details_pb2, test_service_pb2, admin_service_pb2, worker_service_pb2, workflow_service_pb2)
"""Whose messages the descriptors are taken from."""


class RawCalls:
    """A channel of its own for one client, as its calls are not retried."""

    def __init__(self, client: Client) -> None:
        self._config = client.config
        self._held: dict[int, asyncio.Event] = {}
        self._channel: grpc.aio.Channel | None = None

    async def close(self) -> None:
        """Ends the channel."""
        if self._channel is not None:
            await self._channel.close(None)

    def resume(self, call: int) -> bool:
        """Lets a held call read on; False if it is none of these."""
        gate = self._held.pop(call, None)
        if gate is not None:
            gate.set()
        return gate is not None

    async def call(self, fields: Line, seconds: float) -> Line:
        """One call of so many seconds at most; its answer. Raises PerdureError."""
        method = _method(fields["rpc"])
        kind = "_".join("stream" if streams else "unary" for streams in (method.client_streaming, method.server_streaming))
        answer = message_factory.GetMessageClass(method.output_type)
        begin: Any = getattr(self._opened(), kind)(
            f"/{method.containing_service.full_name}/{method.name}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=answer.FromString,
        )
        wanted = fields["requests"] if "requests" in fields else [fields.get("request", {})]
        requests = [json_format.ParseDict(item, message_factory.GetMessageClass(method.input_type)()) for item in wanted]
        argument = _sent(requests, keep_open=fields.get("keep_open", False)) if method.client_streaming else requests[0]
        call = begin(argument, timeout=seconds, metadata=call_metadata(self._config))
        try:
            if method.server_streaming:
                return {"responses": [json_format.MessageToDict(item) async for item in self._read(call, fields)]}
            return {"response": json_format.MessageToDict(await call)}
        except grpc.aio.AioRpcError as failure:
            raise error_of_call(failure) from None
        finally:
            call.cancel()

    async def _read(self, call: Any, fields: Line) -> AsyncIterator[Any]:
        count = 0
        await self._hold(count, fields)
        async for item in call:
            if fields.get("tell"):
                write({"event": "call_response", "call": fields["id"], "response": json_format.MessageToDict(item)})
            yield item
            count += 1
            if count == fields.get("take"):
                return
            await self._hold(count, fields)

    async def _hold(self, count: int, fields: Line) -> None:
        if count == fields.get("hold"):
            gate = self._held[fields["id"]] = asyncio.Event()
            write({"event": "call_held", "call": fields["id"]})
            await gate.wait()

    def _opened(self) -> grpc.aio.Channel:
        if self._channel is None:
            credentials, named = channel_credentials(self._config, None)
            options = [item for item in channel_options(alone=True) if item[0] != "grpc.service_config"] + named + NARROW
            if credentials is None:
                self._channel = grpc.aio.insecure_channel(self._config.address, options=options)
            else:
                self._channel = grpc.aio.secure_channel(self._config.address, credentials, options=options)
        return self._channel


def _method(rpc: str) -> MethodDescriptor:
    service, _, name = rpc.partition("/")
    try:
        return descriptor_pool.Default().FindServiceByName(service).methods_by_name[name]
    except KeyError:
        raise Unusable(f"there is no RPC {rpc!r}") from None


async def _sent(requests: list[Any], *, keep_open: bool) -> AsyncIterator[Any]:
    for request in requests:
        yield request
    if keep_open:
        await asyncio.get_running_loop().create_future()
