"""Whole worker processes, ended by signals; and what is seen from outside: threads, tasks, traces."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

from perdure import Client, Context, Definition, tracing
from tests.client.conftest import ScriptServer
from tests.client.messages import settled
from tests.client.scripted import ScriptedServer

PROGRAM = "tests.client.lifecycle_worker"


@contextlib.asynccontextmanager
async def program(server: ScriptedServer, mode: str, grace: float) -> AsyncIterator[asyncio.subprocess.Process]:
    """The worker program, connected."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        PROGRAM,
        server.address,
        mode,
        str(grace),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def line(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    async with asyncio.timeout(15):
        return (await process.stdout.readline()).decode().strip()


@pytest.mark.parametrize("mode", ["run", "block"])
async def test_c30_sigterm_finishes_what_runs_and_exits_with_0(scripted: ScriptServer, mode: str) -> None:
    server = scripted(renew_interval=0.3, lease=5)
    async with program(server, mode, 30) as process:
        stream = await server.stream()
        token = await stream.grant("work")
        assert await line(process) == "begun"
        process.send_signal(signal.SIGTERM)
        await stream.until(lambda stream: stream.drained)
        before = len(stream.renews)
        await stream.until(lambda stream: len(stream.renews) >= before + 2)
        assert process.stdin is not None
        process.stdin.write(b"well\n")
        result = await stream.result(token)
        assert (result.completed.output.json, result.want_next) == ('"finished well"', False)
        assert await line(process) == "left"
        async with asyncio.timeout(10):
            assert await process.wait() == 0
        assert stream.half_closed


async def test_c30_a_second_sigterm_ends_the_grace_and_gives_claims_back_with_their_checkpoint(scripted: ScriptServer) -> None:
    server = scripted()
    async with program(server, "run", 60) as process:
        stream = await server.stream()
        token = await stream.grant("hangs")
        assert await line(process) == "begun"
        process.send_signal(signal.SIGTERM)
        await stream.until(lambda stream: stream.drained)
        process.send_signal(signal.SIGTERM)
        assert await line(process) == "stopped by DRAINING"
        result = await stream.result(token)
        assert result.HasField("released")
        assert [heartbeat.checkpoint.json for heartbeat in stream.heartbeats] == ['"last words"']
        async with asyncio.timeout(10):
            assert await process.wait() == 0


async def test_c30_sigint_stops_in_order_too(scripted: ScriptServer) -> None:
    server = scripted()
    async with program(server, "run", 0) as process:
        stream = await server.stream()
        token = await stream.grant("hangs")
        assert await line(process) == "begun"
        process.send_signal(signal.SIGINT)
        assert (await stream.result(token)).HasField("released")
        async with asyncio.timeout(10):
            assert await process.wait() != 0  # KeyboardInterrupt, as Python programs end


async def test_c30_results_unanswered_at_the_end_are_waited_for(scripted: ScriptServer) -> None:
    server = scripted(settles=False)
    async with program(server, "run", 30) as process:
        stream = await server.stream()
        token = await stream.grant("work")
        assert await line(process) == "begun"
        process.send_signal(signal.SIGTERM)
        assert process.stdin is not None
        process.stdin.write(b"well\n")
        result = await stream.result(token)
        assert process.returncode is None
        stream.say(settled(result.result_id))
        async with asyncio.timeout(10):
            assert await process.wait() == 0


TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


async def test_spans_of_an_activity_hang_below_its_attempt(scripted: ScriptServer) -> None:
    server = scripted()
    definition = Definition("note")
    tracer = TracerProvider().get_tracer("test")

    def parent_and_trace() -> str:
        with tracer.start_as_current_span("inner") as span:
            assert span.parent is not None  # type: ignore[attr-defined]  # a span of the SDK
            return f"{span.get_span_context().trace_id:032x} {span.parent.span_id:016x}"  # type: ignore[attr-defined]  # a span of the SDK

    @definition.step()
    async def on_loop(ctx: Context[None]) -> str:
        return parent_and_trace()

    @definition.step()
    def in_thread(ctx: Context[None]) -> str:
        return parent_and_trace()

    async with Client(server.address) as client, client.worker(definition):
        stream = await server.stream()
        for step in ("on_loop", "in_thread"):
            result = await stream.result(await stream.grant(step, traceparent=TRACEPARENT))
            assert result.completed.output.json == '"0af7651916cd43dd8448eb211c80319c b7ad6b7169203331"'


def test_the_caller_s_trace_context_goes_along() -> None:
    assert tracing.outgoing() == []
    context = SpanContext(0x0AF7651916CD43DD8448EB211C80319C, 0xB7AD6B7169203331, is_remote=False, trace_flags=TraceFlags(1))
    with trace.use_span(NonRecordingSpan(context)):
        assert tracing.outgoing() == [("traceparent", TRACEPARENT)]
