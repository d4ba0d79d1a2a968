"""Spans carry the ids and times that are stored with the workflow, whichever process exports them."""

from collections.abc import AsyncIterator

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from perdure_server.kernel.values import Failure, Payload, Trace
from perdure_server.kernel.workflow import WorkflowKey
from perdure_server.ports.instruments import STARTED
from perdure_server.ports.telemetry import AttemptSpan, Telemetry, WorkflowSpan
from perdure_server.telemetry.open_telemetry import OpenTelemetry

KEY = WorkflowKey("default", "note", "note-42")
TRACE = Trace(
    trace_id="0af7651916cd43dd8448eb211c80319c", root_span_id="b7ad6b7169203331", parent_span_id="00f067aa0ba902b7", state="vendor=x"
)
GRANTED, ENDED = 1_800_000_000_000, 1_800_000_000_750


def attempt(**changes: object) -> AttemptSpan:
    fields = {
        "key": KEY,
        "run_id": "aa" * 12,
        "fence": 7,
        "trace": TRACE,
        "span_id": "1111111111111111",
        "step": "transcribe",
        "attempt": 2,
        "claim_no": 3,
        "granted": GRANTED,
        "ended": ENDED,
        "outcome": "completed",
    }
    return AttemptSpan(**(fields | changes))  # type: ignore[arg-type]  # the fields above have the right types


def workflow(**changes: object) -> WorkflowSpan:
    fields = {"key": KEY, "run_id": "aa" * 12, "fence": 7, "trace": TRACE, "started": GRANTED}
    return WorkflowSpan(**(fields | changes))  # type: ignore[arg-type]  # the fields above have the right types


class Process:
    """One server process, as far as its spans go."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.telemetry = OpenTelemetry(self.exporter, {"service.instance.id": "s1"})

    async def spans(self) -> dict[str, ReadableSpan]:
        finished: dict[str, ReadableSpan] = {}
        await self.telemetry.close()
        for span in self.exporter.get_finished_spans():
            finished[span.name] = span
        return finished


@pytest.fixture
async def process() -> AsyncIterator[Process]:
    made = Process()
    made.telemetry.open()
    yield made
    await made.telemetry.close()


def context_of(span: ReadableSpan) -> tuple[str, str]:
    context = span.get_span_context()
    assert context is not None
    return f"{context.trace_id:032x}", f"{context.span_id:016x}"


async def test_an_attempt_is_exported_with_its_stored_ids_and_start(process: Process) -> None:
    port: Telemetry = process.telemetry
    port.attempt_ended(attempt(worker_id="w-1"))
    span = (await process.spans())["note/transcribe"]
    assert context_of(span) == (TRACE.trace_id, "1111111111111111")
    assert span.parent is not None
    assert f"{span.parent.span_id:016x}" == TRACE.root_span_id
    assert (span.start_time, span.end_time) == (GRANTED * 1_000_000, ENDED * 1_000_000)
    assert span.attributes is not None
    assert span.attributes["perdure.attempt"] == 2
    assert span.attributes["perdure.worker_id"] == "w-1"
    assert span.resource.attributes["service.instance.id"] == "s1"


async def test_one_attempt_is_one_span_whichever_process_exports_it(process: Process) -> None:
    other = Process()
    other.telemetry.open()
    process.telemetry.attempt_ended(attempt())
    other.telemetry.attempt_ended(attempt())
    mine, theirs = (await process.spans())["note/transcribe"], (await other.spans())["note/transcribe"]
    assert context_of(mine) == context_of(theirs)
    assert mine.start_time == theirs.start_time


async def test_the_root_is_exported_at_the_start_below_the_callers_span(process: Process) -> None:
    process.telemetry.workflow_started(workflow())
    span = (await process.spans())["workflow note"]
    assert context_of(span) == (TRACE.trace_id, TRACE.root_span_id)
    assert span.parent is not None
    assert f"{span.parent.span_id:016x}" == TRACE.parent_span_id
    assert span.parent.is_remote
    assert span.start_time == span.end_time == GRANTED * 1_000_000
    assert span.context is not None
    assert span.context.trace_state.get("vendor") == "x"


async def test_the_end_spans_the_whole_run_and_is_linked_to_the_root(process: Process) -> None:
    process.telemetry.workflow_ended(workflow(ended=ENDED, state="FAILED", failure=Failure("asr.quota", "no more")))
    span = (await process.spans())["workflow note ended"]
    assert span.parent is not None
    assert f"{span.parent.span_id:016x}" == TRACE.root_span_id
    assert [f"{link.context.span_id:016x}" for link in span.links] == [TRACE.root_span_id]
    assert (span.start_time, span.end_time) == (GRANTED * 1_000_000, ENDED * 1_000_000)
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "asr.quota")


async def test_the_end_has_the_same_id_from_every_process_and_another_for_every_replay(process: Process) -> None:
    other = Process()
    other.telemetry.open()
    process.telemetry.workflow_ended(workflow(ended=ENDED, state="COMPLETED"))
    other.telemetry.workflow_ended(workflow(ended=ENDED, state="COMPLETED"))
    mine, theirs = (await process.spans()).popitem()[1], (await other.spans()).popitem()[1]
    assert context_of(mine) == context_of(theirs)
    third = Process()
    third.telemetry.open()
    third.telemetry.workflow_ended(workflow(ended=ENDED, state="COMPLETED", fence=8))
    assert context_of((await third.spans()).popitem()[1]) != context_of(mine)


async def test_without_a_caller_the_root_has_no_parent(process: Process) -> None:
    process.telemetry.workflow_started(workflow(trace=Trace(TRACE.trace_id, TRACE.root_span_id)))
    assert (await process.spans())["workflow note"].parent is None


async def test_a_trace_that_is_not_sampled_exports_nothing(process: Process) -> None:
    unsampled = Trace(TRACE.trace_id, TRACE.root_span_id, flags=0)
    process.telemetry.workflow_started(workflow(trace=unsampled))
    process.telemetry.attempt_ended(attempt(trace=unsampled))
    process.telemetry.workflow_ended(workflow(trace=unsampled, ended=ENDED))
    assert await process.spans() == {}
    assert process.telemetry.spans_dropped == 0


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        ("completed", StatusCode.UNSET),
        ("waiting", StatusCode.UNSET),
        ("lost", StatusCode.ERROR),
        ("timed_out", StatusCode.ERROR),
        ("failed", StatusCode.ERROR),
    ],
)
async def test_outcomes(process: Process, outcome: str, status: StatusCode) -> None:
    process.telemetry.attempt_ended(attempt(outcome=outcome))
    assert (await process.spans())["note/transcribe"].status.status_code is status


async def test_no_payload_is_in_a_span(process: Process) -> None:
    failure = Failure("asr.quota", "words", details=Payload(json='"marker-17"'))
    process.telemetry.attempt_ended(attempt(outcome="failed", failure=failure))
    span = (await process.spans())["note/transcribe"]
    assert "marker-17" not in span.to_json()
    assert span.events[0].attributes is not None
    assert span.events[0].attributes["exception.type"] == "asr.quota"


async def test_without_an_exporter_nobody_builds_spans() -> None:
    telemetry = OpenTelemetry(None, {})
    telemetry.open()
    assert not telemetry.enabled
    telemetry.attempt_ended(attempt())
    telemetry.count(STARTED, ("default", "note"))
    await telemetry.close()
    assert telemetry.counted(STARTED, ("default", "note")) == 1, "points are taken in any case"
    assert not telemetry.measured
