"""The Telemetry port on the OpenTelemetry SDK."""

from collections import Counter
from collections.abc import Mapping

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace.export import SpanExporter

from perdure_server.kernel.limits import SECOND
from perdure_server.kernel.values import Trace
from perdure_server.ports.telemetry import AttemptSpan, WorkflowSpan
from perdure_server.telemetry import limits
from perdure_server.telemetry.span_queue import SpanQueue
from perdure_server.telemetry.spans import attempt_span, end_span, root_span

Counted = tuple[str, tuple[tuple[str, str], ...]]

_SAMPLED = 1


class OpenTelemetry:
    """Exports spans when there is an exporter; counts in any case."""

    def __init__(self, exporter: SpanExporter | None, resource: Mapping[str, str]) -> None:
        """`resource` are attributes of this process, such as service.instance.id."""
        self.enabled = exporter is not None
        self._queue = SpanQueue(exporter) if exporter is not None else None
        self._resource = Resource.create({"service.name": "perdure", **resource})
        self._counts: Counter[Counted] = Counter()

    def open(self) -> None:
        """Start exporting."""
        if self._queue is not None:
            self._queue.open()

    async def close(self) -> None:
        """Flush, for at most limits.FLUSH_TIMEOUT."""
        if self._queue is not None:
            await self._queue.close()

    def attempt_ended(self, span: AttemptSpan) -> None:
        """See the port."""
        if self._queue is not None and span.span_id and _sampled(span.trace):
            self._queue.put(attempt_span(span, self._resource))

    def workflow_started(self, span: WorkflowSpan) -> None:
        """See the port."""
        if self._queue is not None and _sampled(span.trace):
            self._queue.put(root_span(span, self._resource))

    def workflow_ended(self, span: WorkflowSpan) -> None:
        """See the port."""
        if self._queue is not None and _sampled(span.trace):
            self._queue.put(end_span(span, self._resource))

    def count(self, name: str, amount: int = 1, **labels: str) -> None:
        """See the port."""
        self._counts[name, tuple(sorted(labels.items()))] += amount

    @property
    def counts(self) -> Mapping[Counted, int]:
        """All counters by name and labels."""
        return self._counts

    @property
    def spans_dropped(self) -> int:
        """How many spans were lost: no room, failed exports, and those that a stop did not wait for."""
        return self._queue.dropped if self._queue is not None else 0


def otlp_exporter(endpoint: str) -> SpanExporter:
    """An exporter to an OTLP collector over gRPC; http:// is without TLS."""
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 -- a slow import, if unused

    return OTLPSpanExporter(endpoint=endpoint, insecure=endpoint.startswith("http://"), timeout=limits.EXPORT_TIMEOUT / SECOND)


def _sampled(trace: Trace) -> bool:
    # The decision was made where the trace began; a part of a trace is worse than none.
    return bool(trace.flags & _SAMPLED)
