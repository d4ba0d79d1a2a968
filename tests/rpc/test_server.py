"""Start and stop, in this process: health, reflection, draining, addresses."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from perdure.v1 import worker_service_pb2
from perdure.v1 import workflow_service_pb2 as wire
from perdure.v1.claim_pb2 import Pool
from perdure_server.config import Config
from perdure_server.main import Parts, Running, serve
from perdure_server.ports.errors import StoreUnavailable
from perdure_server.rpc.probe import LIVENESS, probe
from perdure_server.rpc.server import AddressInUse
from perdure_server.rpc.transport import EOF
from perdure_server.store.memory import MemoryStore
from tests.conftest import Eventually
from tests.rpc.conftest import GRACE, Served, ref, refusal_of, refused
from tests.rpc.worker import Worker, connected

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
SERVICES = ("perdure.v1.WorkflowService", "perdure.v1.WorkerService", "perdure.v1.AdminService")


def now() -> int:
    return time.time_ns() // 1_000_000


class Stoppable:
    """A server that a test stops while its channel stays."""

    def __init__(self) -> None:
        self.running: Running | None = None
        self.channel: grpc.aio.Channel | None = None
        self.leave = asyncio.Event()
        self.left = asyncio.Event()

    async def run(self) -> None:
        async with serve(Config(port=0, drain_grace_ms=GRACE), Parts(store=MemoryStore(now))) as self.running:
            await self.leave.wait()
        self.left.set()

    @property
    def served(self) -> Served:
        assert self.running is not None
        assert self.channel is not None
        return Served(self.running, self.channel)


@asynccontextmanager
async def stoppable(eventually: Eventually) -> AsyncIterator[Stoppable]:
    found = Stoppable()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(found.run())
        await eventually(lambda: found.running is not None)
        assert found.running is not None
        async with grpc.aio.insecure_channel(f"127.0.0.1:{found.running.port}") as found.channel:
            yield found
        found.leave.set()


class TestHealth:
    async def test_every_name_is_served_and_others_are_unknown(self, served: Served) -> None:
        stub: Any = health_pb2_grpc.HealthStub(served.channel)
        for name in ("", LIVENESS, *SERVICES):
            assert (await stub.Check(health_pb2.HealthCheckRequest(service=name))).status == SERVING
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.Check(health_pb2.HealthCheckRequest(service="nothing"))
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND

    async def test_watchers_of_unknown_names_are_told_so(self, served: Served) -> None:
        stub: Any = health_pb2_grpc.HealthStub(served.channel)
        call = stub.Watch(health_pb2.HealthCheckRequest(service="nothing"))
        assert (await call.read()).status == health_pb2.HealthCheckResponse.SERVICE_UNKNOWN
        call.cancel()

    async def test_the_probe_of_containers(self, served: Served) -> None:
        target = f"127.0.0.1:{served.running.port}"
        assert await asyncio.to_thread(probe, target, "") == "SERVING"
        assert await asyncio.to_thread(probe, target, "nothing") == "UNREACHABLE: NOT_FOUND"
        assert (await asyncio.to_thread(probe, "127.0.0.1:1", "")).startswith("UNREACHABLE")


async def test_reflection_lists_and_describes_every_service(served: Served) -> None:
    stub: Any = reflection_pb2_grpc.ServerReflectionStub(served.channel)
    asked = [
        reflection_pb2.ServerReflectionRequest(list_services=""),
        reflection_pb2.ServerReflectionRequest(file_containing_symbol="perdure.v1.WorkerService"),
    ]
    answers = [answer async for answer in stub.ServerReflectionInfo(iter(asked))]
    assert {*SERVICES, "grpc.health.v1.Health"} <= {service.name for service in answers[0].list_services_response.service}
    assert answers[1].file_descriptor_response.file_descriptor_proto


class TestStop:
    async def test_c60_health_goes_first_and_those_who_watch_it_hear_it(self, eventually: Eventually) -> None:
        async with stoppable(eventually) as server:
            stub: Any = health_pb2_grpc.HealthStub(server.served.channel)
            call = stub.Watch(health_pb2.HealthCheckRequest(service=SERVICES[0]))
            assert (await call.read()).status == SERVING
            server.leave.set()
            assert (await call.read()).status == NOT_SERVING
            assert await call.read() is EOF

    async def test_c60_workers_are_asked_to_leave_and_what_they_finish_is_stored(self, eventually: Eventually) -> None:
        async with stoppable(eventually) as server:
            served = server.served
            await served.register("a")
            await served.start()
            stub: Any = served.workers
            worker = Worker(stub.Claim())
            await worker.hello()
            claim = await worker.claim()
            server.leave.set()
            assert (await worker.hear_one("go_away")).grace.ToMilliseconds() == GRACE * 4 // 5
            assert not (await worker.complete(claim)).HasField("status")
            await worker.call.done_writing()
            assert await worker.hear() is EOF
            assert await worker.call.code() is grpc.StatusCode.OK
            begun = time.monotonic()
            await asyncio.wait_for(server.left.wait(), 5)
            assert time.monotonic() - begun < GRACE / 1000, "nobody was left, so nothing was waited for"
            assert served.running.server.guard.in_flight == 0

    async def test_c60_a_worker_that_stays_is_ended_at_the_grace(self, eventually: Eventually) -> None:
        async with stoppable(eventually) as server:
            served = server.served
            stub: Any = served.workers
            worker = Worker(stub.Claim())
            await worker.hello()
            begun = time.monotonic()
            server.leave.set()
            await worker.hear_one("go_away")
            assert await worker.hear() is EOF
            await asyncio.wait_for(server.left.wait(), 5)
            assert time.monotonic() - begun < GRACE / 1000 + 2

    async def test_c60_long_calls_end_with_draining_and_new_ones_are_refused(self, eventually: Eventually) -> None:
        async with stoppable(eventually) as server:
            served = server.served
            await served.register("a")
            await served.start()
            poll = worker_service_pb2.PollClaimsRequest(worker_id="w", pools=[Pool(pool="p", workflow_type="other", any_contract=True)])
            poll.wait_time.seconds = 60
            watching: Any = served.workflows.Watch(wire.WatchRequest(workflow=ref()))
            await watching.read()
            calls: list[Any] = [
                served.workflows.WaitForResult(wire.WaitForResultRequest(workflow=ref())),
                served.workers.PollClaims(poll),
            ]
            await eventually(lambda: served.running.server.guard.in_flight == 3)
            begun = time.monotonic()
            server.leave.set()
            for call in calls:
                found = await refused(call)
                assert (found.code, found.reason) == (grpc.StatusCode.UNAVAILABLE, "DRAINING")
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await watching.read()
            assert refusal_of(caught.value).reason == "DRAINING"
            await asyncio.wait_for(server.left.wait(), 5)
            assert time.monotonic() - begun < GRACE / 1000

    async def test_a_reflection_stream_that_stays_open_does_not_use_up_the_grace(self, eventually: Eventually) -> None:
        async with stoppable(eventually) as server:
            stub: Any = reflection_pb2_grpc.ServerReflectionStub(server.served.channel)
            call = stub.ServerReflectionInfo()
            await call.write(reflection_pb2.ServerReflectionRequest(list_services=""))
            await call.read()
            begun = time.monotonic()
            server.leave.set()
            await asyncio.wait_for(server.left.wait(), 5)
            assert time.monotonic() - begun < GRACE / 1000

    async def test_c60_many_streams_at_once(self, eventually: Eventually) -> None:
        async with stoppable(eventually) as server:
            served = server.served
            await served.register("a")
            await served.start()
            stub: Any = served.workers
            workers = [Worker(stub.Claim()) for _ in range(60)]
            await asyncio.gather(*(worker.hello() for worker in workers))
            watching: list[Any] = [served.workflows.Watch(wire.WatchRequest(workflow=ref())) for _ in range(60)]
            await asyncio.gather(*(call.read() for call in watching))
            server.leave.set()
            heard = await asyncio.gather(*(worker.hear_one("go_away") for worker in workers))
            assert len(heard) == 60
            await asyncio.gather(*(worker.call.done_writing() for worker in workers))
            await asyncio.wait_for(server.left.wait(), 5)
            assert served.running.server.guard.in_flight == 0


class TestStart:
    async def test_the_port_is_taken(self, served: Served) -> None:
        with pytest.raises(AddressInUse, match=str(served.running.port)):
            async with serve(Config(port=served.running.port), Parts(store=MemoryStore(now))):
                pytest.fail("it serves on a port that is taken")

    async def test_only_loopback_without_a_word(self) -> None:
        with pytest.raises(AddressInUse, match="insecure"):
            async with serve(Config(address="0.0.0.0", port=0), Parts(store=MemoryStore(now))):
                pytest.fail("it serves beyond loopback")
        async with serve(Config(address="0.0.0.0", port=0, insecure=True), Parts(store=MemoryStore(now))) as running:
            assert running.port

    async def test_ipv6(self) -> None:
        async with (
            serve(Config(address="::1", port=0), Parts(store=MemoryStore(now))) as running,
            grpc.aio.insecure_channel(f"[::1]:{running.port}") as channel,
        ):
            await Served(running, channel).register("a")

    async def test_a_store_that_cannot_be_reached_ends_the_start(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("perdure_server.store.limits.SELECTION_TIMEOUT_MS", 100)
        with pytest.raises(StoreUnavailable):
            async with serve(Config(port=0, mongo_url="mongodb://127.0.0.1:1/", store_wait_ms=0)):
                pytest.fail("it serves without a store")

    async def test_the_trace_of_the_caller_reaches_the_worker(self, served: Served) -> None:
        await served.register("a")
        parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        request = wire.StartWorkflowRequest(workflow=ref())
        await served.workflows.StartWorkflow(request, metadata=(("traceparent", parent), ("tracestate", "vendor=1")))
        async with connected(served) as worker:
            claim = await worker.claim()
            assert claim.traceparent.startswith("00-0af7651916cd43dd8448eb211c80319c-")
            assert claim.traceparent != parent
            assert claim.tracestate == "vendor=1"
