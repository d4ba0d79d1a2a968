"""The worker's own spans, by whatever OpenTelemetry SDK the program has set up."""

from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, ParentBased

from perdure import tracing
from perdure.v1.claim_pb2 import Claim
from perdure.v1.workflow_pb2 import WorkflowRef
from perdure.worker.subject import about

TRACE_ID, ATTEMPT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    kept = InMemorySpanExporter()
    provider = TracerProvider(sampler=ParentBased(ALWAYS_ON))
    provider.add_span_processor(SimpleSpanProcessor(kept))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    yield kept
    provider.shutdown()


def claim(flags: str = "01") -> Claim:
    where = WorkflowRef(namespace="default", workflow_type="note", business_key="k")
    return Claim(workflow=where, step="a", attempt=2, claim_no=3, fence=7, traceparent=f"00-{TRACE_ID}-{ATTEMPT}-{flags}")


def test_a_span_below_the_attempt_is_current_while_the_activity_runs(exporter: InMemorySpanExporter) -> None:
    with tracing.activity_span(claim()):
        inside = trace.get_current_span().get_span_context()
    [span] = exporter.get_finished_spans()
    assert span.name == "activity note/a"
    assert span.context is not None
    assert (f"{span.context.trace_id:032x}", span.context.span_id) == (TRACE_ID, inside.span_id)
    assert span.parent is not None
    assert f"{span.parent.span_id:016x}" == ATTEMPT
    assert dict(span.attributes or {})["perdure.claim_no"] == 3


def test_of_an_exception_only_the_type_is_told(exporter: InMemorySpanExporter) -> None:
    with pytest.raises(ValueError, match="what a user typed"), tracing.activity_span(claim()):
        raise ValueError("what a user typed")
    [span] = exporter.get_finished_spans()
    assert dict(span.attributes or {})["error.type"] == "ValueError"
    assert not span.status.is_ok
    assert "what a user typed" not in span.to_json()


def test_an_attempt_that_is_not_sampled_has_no_span(exporter: InMemorySpanExporter) -> None:
    with tracing.activity_span(claim("00")):
        assert f"{trace.get_current_span().get_span_context().trace_id:032x}" == TRACE_ID, "what it calls is not sampled either"
    assert exporter.get_finished_spans() == ()


def test_lines_of_the_log_carry_the_fields_of_the_servers() -> None:
    assert about(claim()) == {"workflow": "default/note/k", "step": "a", "claim_no": 3, "trace_id": TRACE_ID}
