"""A marker put into every kind of place is nowhere in the raw store and in Redis after a redaction (real MongoDB protocol, real Redis)."""

from typing import Any

import pytest
from pymongo import MongoClient
from redis.asyncio import Redis

from perdure.v1 import admin_service_pb2 as admin
from perdure.v1 import definition_pb2, worker_service_pb2
from perdure.v1 import workflow_service_pb2 as wire
from perdure.v1.claim_pb2 import Pool
from perdure.v1.filter_pb2 import WorkflowFilter
from perdure.v1.watch_pb2 import Frame
from perdure_server.config import Config
from perdure_server.coordination.redis import RedisCoordination
from perdure_server.kernel import limits
from perdure_server.main import Parts
from perdure_server.store.mongo import MongoStore
from tests.conftest import Eventually, RunningServer
from tests.rpc.conftest import Served, definition, ref, serving

pytestmark = pytest.mark.slow

MARK = "personal-data-of-kim"
SMALL, LARGE = f'"{MARK}"', f'"{MARK}{"x" * limits.INLINE_PAYLOAD}"'


def dump(client: MongoClient[Any], database: str) -> str:
    """Every document of every collection."""
    names = client[database].list_collection_names()
    return "\n".join(repr(list(client[database][name].find({}))) for name in names)


async def dump_redis(redis: Redis, prefix: str) -> str:
    """The bytes of every key of this test."""
    found = [await redis.dump(key) async for key in redis.scan_iter(f"*{prefix}*")]
    return "\n".join(repr(raw) for raw in found)


async def claim(served: Served) -> worker_service_pb2.PollClaimsResponse:
    request = worker_service_pb2.PollClaimsRequest(worker_id="w", pools=[Pool(pool="p", workflow_type="note", any_contract=True)])
    request.wait_time.seconds = 10
    return await served.workers.PollClaims(request)


async def fill(served: Served) -> None:
    made: definition_pb2.Definition = definition("a", "b:a")
    made.steps[1].policy.retry.max_attempts = 2
    made.steps[1].policy.retry.initial_interval.nanos = 1_000_000
    await served.admin.RegisterDefinition(admin.RegisterDefinitionRequest(definition=made, activate=True))
    start = wire.StartWorkflowRequest(workflow=ref())
    start.input.json = LARGE
    await served.workflows.StartWorkflow(start)
    first = (await claim(served)).claims[0]
    beat = worker_service_pb2.HeartbeatRequest(claim_token=first.claim_token, checkpoint_no=1)
    beat.checkpoint.json = LARGE
    beat.frames.add(seq=1, kind=Frame.KIND_TEXT).payload.json = SMALL
    await served.workers.Heartbeat(beat)
    for number, value in enumerate((SMALL, LARGE, SMALL)):
        signal = wire.SignalRequest(workflow=ref(), signal_name="go", signal_id=f"s{number}")
        signal.payload.json = value
        await served.workflows.Signal(signal)
    waiting = worker_service_pb2.CompleteRequest(claim_token=first.claim_token)
    waiting.waiting.checkpoint.json = SMALL
    waiting.waiting.wait.any_of.add(name="go").signal.signal_name = "go"
    await served.workers.Complete(waiting)
    result = worker_service_pb2.CompleteRequest(claim_token=(await claim(served)).claims[0].claim_token)
    result.completed.output.json = LARGE
    await served.workers.Complete(result)
    for _ in range(2):
        failed = worker_service_pb2.CompleteRequest(claim_token=(await claim(served)).claims[0].claim_token)
        failed.failed.type, failed.failed.message, failed.failed.details.json = "t.x", MARK, SMALL
        await served.workers.Complete(failed)


@pytest.mark.parametrize("way", ["one", "many"])
async def test_a_marker_is_nowhere_after_a_redaction(
    store_process: RunningServer, redis_process: RunningServer, database_name: str, eventually: Eventually, way: str
) -> None:
    store = MongoStore(store_process.url, database_name)
    parts = Parts(store=store, coordination=lambda _clock: RedisCoordination(redis_process.url, database_name))
    client: MongoClient[Any] = MongoClient(store_process.url, directConnection=True)
    redis: Redis = Redis.from_url(redis_process.url)
    try:
        async with serving(Config(port=0, drain_grace_ms=1_000), parts) as served:
            await fill(served)
            assert MARK in dump(client, database_name)
            assert MARK in await dump_redis(redis, database_name)
            if way == "one":
                answer = await served.admin.RedactPayloads(admin.RedactPayloadsRequest(workflow=ref(), request_id="r", reason="asked for"))
                assert answer.redacted_count > 5
            else:
                started = await served.admin.RedactPayloads(admin.RedactPayloadsRequest(filter=WorkflowFilter(), request_id="r"))

                async def done() -> bool:
                    batch = await served.admin.GetBatch(admin.GetBatchRequest(batch_id=started.batch.batch_id))
                    return batch.batch.succeeded_count == 1

                await eventually(done)
            assert MARK not in dump(client, database_name)
            assert MARK not in await dump_redis(redis, database_name)
            after = (await served.workflows.GetWorkflow(wire.GetWorkflowRequest(workflow=ref()))).workflow
            assert (after.input.json, after.failure.message, len(after.steps)) == ("null", "", 2)
    finally:
        await redis.aclose()
        client.drop_database(database_name)
        client.close()
