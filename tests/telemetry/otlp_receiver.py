"""A small OTLP collector over gRPC, made of the generated stubs: what servers and workers export, as a test can ask for it."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import grpc
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2, metrics_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span

Plain = dict[str, str | int]


@dataclass
class Received:
    """One span as it came, in plain values. Times in ms."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str
    began: int
    ended: int
    attributes: Plain
    events: dict[str, tuple[int, Plain]]
    links: list[str]
    resource: Plain
    failed: bool
    text: str  # the whole message, for greps


@dataclass
class OtlpReceiver:
    """What has come so far. `endpoint` is what `--otlp-endpoint` takes."""

    endpoint: str = ""
    spans: list[Received] = field(default_factory=list)
    metrics: dict[str, Metric] = field(default_factory=dict)  # the last of each name
    texts: list[str] = field(default_factory=list)

    def names(self) -> list[str]:
        """The names of all spans, sorted."""
        return sorted(span.name for span in self.spans)

    def one(self, name: str) -> Received:
        """The only span of this name."""
        found = [span for span in self.spans if span.name == name]
        assert len(found) == 1, f"{len(found)} spans {name} among {self.names()}"
        return found[0]


class _Traces(trace_service_pb2_grpc.TraceServiceServicer):
    def __init__(self, kept: OtlpReceiver) -> None:
        self._kept = kept

    async def Export(  # noqa: N802 -- the RPC's name
        self, request: trace_service_pb2.ExportTraceServiceRequest, context: object
    ) -> trace_service_pb2.ExportTraceServiceResponse:
        for group in request.resource_spans:
            resource = _plain(group.resource.attributes)
            for scope in group.scope_spans:
                self._kept.spans += [_received(span, resource) for span in scope.spans]
        return trace_service_pb2.ExportTraceServiceResponse()


class _Metrics(metrics_service_pb2_grpc.MetricsServiceServicer):
    def __init__(self, kept: OtlpReceiver) -> None:
        self._kept = kept

    async def Export(  # noqa: N802 -- the RPC's name
        self, request: metrics_service_pb2.ExportMetricsServiceRequest, context: object
    ) -> metrics_service_pb2.ExportMetricsServiceResponse:
        self._kept.texts.append(str(request))
        for group in request.resource_metrics:
            for scope in group.scope_metrics:
                self._kept.metrics |= {metric.name: metric for metric in scope.metrics}
        return metrics_service_pb2.ExportMetricsServiceResponse()


@asynccontextmanager
async def receiving() -> AsyncIterator[OtlpReceiver]:
    """Listens on a free port for the time of the context."""
    kept = OtlpReceiver()
    server = grpc.aio.server()
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(_Traces(kept), server)  # type: ignore[no-untyped-call]  # generated without types
    metrics_service_pb2_grpc.add_MetricsServiceServicer_to_server(_Metrics(kept), server)  # type: ignore[no-untyped-call]  # generated without types
    kept.endpoint = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    try:
        yield kept
    finally:
        await server.stop(None)


def _received(span: Span, resource: Plain) -> Received:
    return Received(
        name=span.name,
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex(),
        began=span.start_time_unix_nano // 1_000_000,
        ended=span.end_time_unix_nano // 1_000_000,
        attributes=_plain(span.attributes),
        events={event.name: (event.time_unix_nano // 1_000_000, _plain(event.attributes)) for event in span.events},
        links=[link.span_id.hex() for link in span.links],
        resource=resource,
        failed=span.status.code == span.status.STATUS_CODE_ERROR,
        text=str(span),
    )


def _plain(attributes: Iterable[KeyValue]) -> Plain:
    found: Plain = {}
    for item in attributes:
        found[item.key] = item.value.int_value if item.value.HasField("int_value") else item.value.string_value
    return found
