"""The Telemetry port: spans and metrics by OpenTelemetry's SDK, and the endpoint that Prometheus reads."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from opentelemetry.sdk.metrics.export import MetricExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace.export import SpanExporter

from perdure_server.kernel.limits import SECOND
from perdure_server.ports.instruments import SPANS_DROPPED
from perdure_server.ports.telemetry import AttemptSpan, Point, StaySpan, WorkflowSpan, is_sampled
from perdure_server.telemetry import limits
from perdure_server.telemetry.loop_lag import LoopLag
from perdure_server.telemetry.meters import Meters
from perdure_server.telemetry.metrics_push import MetricsPush
from perdure_server.telemetry.prometheus import MetricsEndpoint
from perdure_server.telemetry.span_queue import SpanQueue
from perdure_server.telemetry.spans import attempt_span, end_span, replay_span, root_span, stay_span


@dataclass(frozen=True)
class MetricsOptions:
    """Who gets the metrics: nobody, unless told."""

    address: str = "127.0.0.1"
    port: int | None = None  # of the endpoint for Prometheus; 0 = a free one, None = no endpoint
    exporter: MetricExporter | None = None


_NOBODY = MetricsOptions()


class OpenTelemetry(Meters):
    """Exports spans when there is an exporter; takes points in any case."""

    def __init__(self, exporter: SpanExporter | None, resource: Mapping[str, str], metrics: MetricsOptions = _NOBODY) -> None:
        """`resource` are attributes of this process, such as service.instance.id."""
        self.enabled = exporter is not None
        self.measured = metrics.port is not None or metrics.exporter is not None
        super().__init__()
        names = {"service.name": "perdure", **resource}
        self._resource = Resource.create(names)
        self._queue = SpanQueue(exporter) if exporter is not None else None
        self._push = MetricsPush(self, metrics.exporter, self._resource) if metrics.exporter is not None else None
        self.endpoint = MetricsEndpoint(self, metrics.address, metrics.port, names) if metrics.port is not None else None
        self._lag = LoopLag(self)
        self.observe(self._look)

    def open(self) -> None:
        """Start exporting. Raises MetricsAddressError."""
        if self.endpoint is not None:
            self.endpoint.open()
        for part in (self._queue, self._push, self._lag):
            if part is not None:
                part.open()

    async def close(self) -> None:
        """Flush, for at most limits.FLUSH_TIMEOUT."""
        self._lag.close()
        await asyncio.gather(*(part.close() for part in (self._queue, self._push, self.endpoint) if part is not None))

    def attempt_ended(self, span: AttemptSpan) -> None:
        """See the port."""
        if self._queue is not None and span.span_id and is_sampled(span.trace):
            self._queue.put(attempt_span(span, self._resource))

    def workflow_started(self, span: WorkflowSpan) -> None:
        """See the port."""
        if self._queue is not None and is_sampled(span.trace):
            self._queue.put(root_span(span, self._resource))

    def stay_ended(self, span: StaySpan) -> None:
        """See the port."""
        if self._queue is not None and is_sampled(span.trace):
            self._queue.put(stay_span(span, self._resource))

    def workflow_replayed(self, span: WorkflowSpan, earlier_fence: int) -> None:
        """See the port."""
        if self._queue is not None and is_sampled(span.trace):
            self._queue.put(replay_span(span, earlier_fence, self._resource))

    def workflow_ended(self, span: WorkflowSpan) -> None:
        """See the port."""
        if self._queue is not None and is_sampled(span.trace):
            self._queue.put(end_span(span, self._resource))

    @property
    def spans_dropped(self) -> int:
        """How many spans were lost: no room, failed exports, and those that a stop did not wait for."""
        return self._queue.dropped if self._queue is not None else 0

    def _look(self) -> Iterable[Point]:
        return ((SPANS_DROPPED, (), self.spans_dropped),)


def otlp_exporter(endpoint: str) -> SpanExporter:
    """An exporter of spans to an OTLP collector over gRPC; http:// is without TLS."""
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 -- a slow import, if unused

    return OTLPSpanExporter(endpoint=endpoint, insecure=endpoint.startswith("http://"), timeout=limits.EXPORT_TIMEOUT / SECOND)


def otlp_metric_exporter(endpoint: str) -> MetricExporter:
    """The same for metrics."""
    from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter  # noqa: PLC0415 -- a slow import, if unused

    return OTLPMetricExporter(endpoint=endpoint, insecure=endpoint.startswith("http://"), timeout=limits.EXPORT_TIMEOUT / SECOND)
