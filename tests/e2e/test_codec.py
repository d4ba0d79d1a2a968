"""With a codec, what users put in is nowhere: not in the store, not in Redis, not in logs at debug, not in spans."""

import contextlib
import logging
import secrets
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import context, propagate
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pymongo import MongoClient
from redis.asyncio import Redis

from perdure import Client, Codec, Context, Definition, Failure, Page, Resolution, Retry, StartSignal, Wait, Woken, WorkflowFailed
from perdure.aes_gcm import AesGcm, KeyRing
from perdure.outbox import start_document
from perdure.payloads import encode
from perdure.v1 import admin_service_pb2 as admin
from perdure.v1 import workflow_service_pb2 as wire
from perdure_server.config import Config
from perdure_server.coordination.redis import RedisCoordination
from perdure_server.kernel import limits
from perdure_server.main import Parts, serve
from perdure_server.store.mongo import MongoStore
from perdure_server.store.outbox import MongoOutbox
from perdure_server.telemetry.open_telemetry import OpenTelemetry
from tests.conftest import Eventually, RunningServer
from tests.e2e.test_redaction import dump

pytestmark = pytest.mark.slow

TRACED = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def story(mark: str) -> tuple[Definition, Definition]:
    """Everything that a value can be: small and stored apart, in checkpoints, waits, frames, failures, children and outputs."""
    item = Definition("item")

    @item.step(retry=Retry(max_attempts=1))
    async def work(ctx: Context[None], input: str) -> str:
        if input.endswith("1"):
            raise ValueError(f"not this one: {input}")
        return input.upper()

    definition = Definition("story", output="finish")

    @definition.step(retry=Retry(max_attempts=3, initial_interval=timedelta(milliseconds=1)))
    async def begin(ctx: Context[dict[str, str]], input: dict[str, str]) -> dict[str, str] | Wait:
        ctx.frame(f"text {mark}")
        ctx.progress(1, 2, unit="pages", message=mark)
        ctx.log(f"line {mark}")
        if ctx.attempt == 1:
            await ctx.save(input)
            raise Failure("story.odd", f"first {mark}", details={"who": mark})
        found = ctx.woken(str)
        if found is None:
            return Wait.any(signal="go", checkpoint={"small": mark})
        return input | {"signal": str(found.value)}

    @definition.pages(item, join="best_effort")
    async def each(ctx: Context[None], begin: dict[str, str]) -> Page:
        known = ctx.cursor or {"at": 0, "mark": mark}
        return Page([f"{mark}{known['at']}"], cursor=known | {"at": known["at"] + 1} if known["at"] < 2 else None)

    definition.wait("more", signal="more", after=each)

    @definition.step()
    async def first(ctx: Context[None], more: Woken[str]) -> str:
        return str(more.value)

    definition.child("alone", item, input=first)

    @definition.step(retry=Retry(max_attempts=1), on_exhausted="hold", after="alone")
    async def held(ctx: Context[None], first: str) -> str:
        raise RuntimeError(f"a person decides about {first}")

    @definition.step()
    async def finish(ctx: Context[None], alone: str, held: dict[str, str], begin: dict[str, str]) -> list[object]:
        return [alone, held, begin["small"], begin["signal"]]

    return definition, item


async def contents_of_redis(redis: Redis, prefix: str) -> str:
    """All values of all keys, by their types: a DUMP is compressed."""
    readers: dict[Any, Callable[[bytes], Any]] = {
        b"stream": redis.xrange,
        b"zset": lambda key: redis.zrange(key, 0, -1),
        b"list": lambda key: redis.lrange(key, 0, -1),
        b"hash": redis.hgetall,
        b"set": redis.smembers,
        b"string": redis.get,
    }
    found = [(key, await readers[await redis.type(key)](key)) async for key in redis.scan_iter(f"*{prefix}*")]
    return repr(found)


@dataclass(frozen=True)
class Places:
    """Where a value could have been left."""

    client: MongoClient[Any]
    redis: Redis
    database: str
    files: Path | None
    spans: InMemorySpanExporter
    logs: pytest.LogCaptureFixture

    async def texts(self) -> dict[str, str]:
        """All that each place holds."""
        files = [path for path in self.files.rglob("*") if path.is_file()] if self.files is not None else []
        return {
            "documents": dump(self.client, self.database),
            "redis": await contents_of_redis(self.redis, self.database),
            "files": "\n".join(path.read_bytes().decode("latin-1") for path in files),
            "logs": self.logs.text,
            "spans": "\n".join(span.to_json() for span in self.spans.get_finished_spans()),
        }


@pytest.fixture
async def places(
    store_process: RunningServer, redis_process: RunningServer, database_name: str, caplog: pytest.LogCaptureFixture
) -> AsyncIterator[Places]:
    caplog.set_level(logging.DEBUG)
    client: MongoClient[Any] = MongoClient(store_process.url, directConnection=True)
    redis: Redis = Redis.from_url(redis_process.url)
    files = store_process.process.directory if store_process.process is not None else None
    yield Places(client, redis, database_name, files, InMemorySpanExporter(), caplog)
    await redis.aclose()
    client.drop_database(database_name)
    client.close()


@contextlib.asynccontextmanager
async def clients(
    store_process: RunningServer, redis_process: RunningServer, places: Places, codec: Codec | None
) -> AsyncIterator[tuple[Client, Client]]:
    """One with the codec, and one that has none."""
    store = MongoStore(store_process.url, places.database)
    outbox = MongoOutbox(store.connection, "perdure_outbox", is_ours=True)
    await outbox.open()
    parts = Parts(
        outboxes=[outbox],
        store=store,
        coordination=lambda _clock: RedisCoordination(redis_process.url, places.database),
        telemetry=OpenTelemetry(places.spans, {}),
    )
    async with (
        serve(Config(port=0, drain_grace_ms=1_000), parts) as running,
        Client(f"127.0.0.1:{running.port}", codec=codec) as client,
        Client(f"127.0.0.1:{running.port}") as blind,
    ):
        yield client, blind
    await outbox.close()


async def tell(client: Client, mark: str, places: Places, eventually: Eventually) -> None:
    """The whole story, through every door that takes a value."""
    definition, item = story(mark)
    large = {"small": mark, "large": mark * (limits.INLINE_PAYLOAD // 8)}
    calls = client._calls
    async with client.worker(definition, item):
        run = await client.start(definition, key="k", input=large, signals=[StartSignal("other", mark)])
        await run.signal("go", mark)
        batch = admin.StartBatchRequest(request_id="b", namespace="default")
        batch.filter.workflow_types.append("story")
        batch.operation.signal.signal_name = "more"
        batch.operation.signal.payload.CopyFrom(encode(mark) or batch.operation.signal.payload)
        await calls.unary(calls.admin.StartBatch, batch)

        async def is_held() -> bool:
            return (await run.get()).steps["held"].state == "HELD"

        await eventually(is_held)
        await run.resolve("held", Resolution.completed({"decided": mark}), reason="a test")
        assert await run.result() == [mark.upper(), {"decided": mark}, mark, mark]
        schedule = admin.PutScheduleRequest(request_id="s")
        schedule.schedule.schedule_id = "daily"
        schedule.schedule.triggers.add().interval.every.seconds = 3600
        schedule.schedule.start.workflow_type = "item"
        schedule.schedule.start.input.CopyFrom(encode(f"{mark}5") or schedule.schedule.start.input)
        await calls.unary(calls.admin.PutSchedule, schedule)
        await calls.unary(calls.admin.TriggerSchedule, admin.TriggerScheduleRequest(schedule_id="daily", request_id="t"))
        bad = await client.start(item, key="bad", input=f"{mark}1")
        with pytest.raises(WorkflowFailed) as caught:
            await bad.result()
        assert caught.value.failure.message == f"not this one: {mark}1"
        document = start_document(item, key="outbox", input=f"{mark}6", codec=client.config.codec)
        places.client[places.database]["perdure_outbox"].insert_one(document)

        async def relayed() -> bool:
            return len([found async for found in client.list(item, keys=["outbox"])]) == 1

        await eventually(relayed)
        assert await client.run(item, "outbox").result() == f"{mark}6".upper()
        texts = [str(event) async for event in run.watch()]
        assert texts
        exported = [part async for part in calls.admin.ExportWorkflow(admin.ExportWorkflowRequest(workflow=bad.ref.to_message()))]
        assert exported
        attempts = await calls.unary(calls.workflows.ListAttempts, wire.ListAttemptsRequest(workflow=run.ref.to_message()))
        assert mark in str(attempts)


@pytest.mark.parametrize("sealed", [False, True], ids=["plain", "sealed"])
async def test_what_users_put_in_is_nowhere(
    store_process: RunningServer, redis_process: RunningServer, places: Places, eventually: Eventually, sealed: bool
) -> None:
    mark = f"personal{secrets.token_hex(8)}z"  # no digit at the end: `item` refuses what ends with 1
    codec = AesGcm(KeyRing.new()) if sealed else None
    async with clients(store_process, redis_process, places, codec) as (client, blind):
        # Spans are kept of what a sampled trace began.
        token = context.attach(propagate.extract({"traceparent": TRACED}))
        await tell(client, mark, places, eventually)
        context.detach(token)
        seen = repr((await blind.get("story", "k")).message) + repr([str(event) async for event in blind.run("story", "k").watch()])
    found = {name: mark in text or mark.upper() in text for name, text in (await places.texts()).items()}
    if sealed:
        assert found == dict.fromkeys(found, False)
        assert mark not in seen
    else:
        # The same story without a codec leaves it where one would look for it: so the look is a look.
        assert found["documents"]
        assert found["redis"]
        assert found["logs"]
        assert mark in seen
    assert places.logs.text.count("\n") > 100
    assert len(places.spans.get_finished_spans()) > 5
