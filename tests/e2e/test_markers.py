"""Nothing that a user keeps with us is ever told: a whole story at debug level, then a search of logs, spans, metrics, errors and audit."""

import asyncio
import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import pytest

from perdure.v1 import admin_service_pb2, claim_pb2, payload_pb2, watch_pb2, worker_service_pb2, workflow_service_pb2
from tests.conftest import Eventually
from tests.e2e.channels import Perdure, connected, refusal_of
from tests.e2e.conftest import MakeServer
from tests.processes import free_port
from tests.telemetry.otlp_receiver import OtlpReceiver, receiving

pytestmark = pytest.mark.slow

MARKERS = ("input", "output", "checkpoint", "frame", "message", "details", "signal", "label", "malformed", "wait")


def marker(name: str) -> str:
    return f"marker-{name}-93b1"


def payload(name: str) -> payload_pb2.Payload:
    return payload_pb2.Payload(json=json.dumps({"secret": marker(name)}))


@dataclass
class Story:
    """What was told, and the tokens that must not be in it."""

    perdure: Perdure
    errors: list[str] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)

    async def refused(self, call: object) -> None:
        try:
            await call  # type: ignore[misc]  # any call of a stub
        except grpc.aio.AioRpcError as error:
            told = refusal_of(error)
            self.errors.append(f"{told} {error.debug_error_string()}")
        else:
            pytest.fail("it should have been refused")

    async def take(self, step: str) -> claim_pb2.Claim:
        claim = await self.perdure.taken(step)
        self.tokens += [claim.claim_token, claim.wake_token]
        return claim

    async def run(self) -> None:
        """Retry, checkpoint, frame, wait, signals, failure, replay, cancel; and calls that are refused."""
        calls = self.perdure
        await calls.register("a", "wait_go: a", "b: wait_go", attempts=2)
        start = workflow_service_pb2.StartWorkflowRequest(workflow=calls.ref(), input=payload("input"), labels={"who": marker("label")})
        await calls.workflows.StartWorkflow(start)
        start.input.CopyFrom(payload("malformed"))
        await self.refused(calls.workflows.StartWorkflow(start))
        start.input.json = '{"' + marker("malformed")
        await self.refused(calls.workflows.StartWorkflow(start))
        claim = await self.take("a")
        beat = worker_service_pb2.HeartbeatRequest(claim_token=claim.claim_token, checkpoint=payload("checkpoint"), checkpoint_no=1)
        beat.frames.add(seq=1, kind=watch_pb2.Frame.KIND_TEXT).payload.CopyFrom(payload("frame"))
        await calls.workers.Heartbeat(beat)
        failure = payload_pb2.Failure(type="story.failed", message=marker("message"), details=payload("details"))
        failed = worker_service_pb2.CompleteRequest(claim_token=claim.claim_token, failed=failure)
        await calls.workers.Complete(failed)
        failed.failed.message += "!"
        await self.refused(calls.workers.Complete(failed))
        done = worker_service_pb2.CompleteRequest(claim_token=(await self.take("a")).claim_token)
        done.completed.output.CopyFrom(payload("output"))
        await calls.workers.Complete(done)
        signal = workflow_service_pb2.SignalRequest(workflow=calls.ref(), signal_name="wait_go", signal_id="s", payload=payload("signal"))
        await calls.workflows.Signal(signal)
        failed.claim_token = (await self.take("b")).claim_token
        failed.failed.non_retryable = True
        await calls.workers.Complete(failed)
        await calls.ended()
        await calls.workflows.ReplayWorkflow(workflow_service_pb2.ReplayWorkflowRequest(workflow=calls.ref(), request_id="r"))
        await calls.cancel()
        await calls.ended()

    async def audit(self) -> str:
        return str(await self.perdure.admin.ListAuditRecords(admin_service_pb2.ListAuditRecordsRequest()))


def scrape(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        return str(answer.read(), "utf-8")


def check(collector: OtlpReceiver, log: Iterable[str], story: Story, others: dict[str, str]) -> None:
    told = {
        "log": "\n".join(log),
        "spans": "\n".join(span.text for span in collector.spans),
        "pushed metrics": "\n".join(collector.texts),
        "errors": "\n".join(story.errors),
        **others,
    }
    for where, text in told.items():
        assert text, f"nothing was told: {where}"
        found = [name for name in MARKERS if marker(name) in text]
        assert not found, f"{where} tells {found}"
        assert not [token for token in story.tokens if token in text], f"{where} tells a token"


@pytest.mark.parametrize("form", ["text", "json"])
async def test_nothing_that_a_user_keeps_with_us_is_told(new_server: MakeServer, eventually: Eventually, form: str) -> None:
    port = free_port()
    async with receiving() as collector:
        server = new_server(log_level="debug", log_format=form, otlp_endpoint=collector.endpoint, metrics_port=port)
        async with connected(server.address) as perdure:
            story = Story(perdure)
            await story.run()
            await eventually(lambda: collector.names().count("workflow story ended") == 2)
            others = {"metrics": await asyncio.to_thread(scrape, port), "audit": await story.audit()}
        await asyncio.to_thread(server.stop)
    check(collector, server.log, story, others)
    lines = [line for line in server.log if "story/k" in line]
    if form == "json":
        facts = [json.loads(line) for line in lines]
        assert all(fact["trace_id"] and fact["run_id"] for fact in facts)
        assert {"workflow": "default/story/k", "step": "a", "claim_no": 1}.items() <= next(
            f for f in facts if "FAILED" in f["message"]
        ).items()
    assert len(lines) > 10, "at debug level every stored event is told"


def test_a_password_in_a_url_is_never_told(new_server: MakeServer, tmp_path: Path) -> None:
    password = marker("password")
    server = new_server(log_level="debug", redis_url=f"redis://kim:{password}@127.0.0.1:{free_port()}/0")
    server.stop()
    log = "\n".join(server.log)
    assert "redis commands: unavailable" in log, "it was tried"
    assert password not in log
    url = f"mongodb://kim:{password}@127.0.0.1:{free_port()}/?serverSelectionTimeoutMS=100&w=1"
    flags = [f"--mongo-url={url}", "--store-wait-ms=0", "--log-level=debug", "--port=0"]
    ended = subprocess.run(
        [sys.executable, "-m", "perdure_server", "serve", *flags], capture_output=True, text=True, timeout=60, cwd=tmp_path, check=False
    )
    assert (ended.returncode, "perdure serve: " in ended.stderr) == (1, True), ended.stderr
    assert password not in ended.stderr + ended.stdout
