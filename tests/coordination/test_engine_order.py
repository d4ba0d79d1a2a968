"""The engine on a real Redis or Valkey: who comes first among ten thousand."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from perdure_server.coordination.redis import RedisCoordination
from perdure_server.engine.clock import StoreClock
from perdure_server.engine.service import Engine
from perdure_server.engine.settings import EngineSettings
from perdure_server.engine.values import ClaimsOut, Hello
from perdure_server.kernel import limits
from perdure_server.kernel.start import Start
from perdure_server.kernel.values import Trace
from perdure_server.kernel.workflow import WorkflowKey
from perdure_server.ports.store import Subscription
from perdure_server.store.memory import MemoryStore
from tests.conftest import RunningServer
from tests.coordination.contract import opened
from tests.coordination.samples import PATIENT
from tests.engine.harness import Spans
from tests.kernel.harness import plan


@asynccontextmanager
async def serving(coordination: RedisCoordination) -> AsyncIterator[Engine]:
    """One server over a store in memory."""
    store = MemoryStore(lambda: time.time_ns() // 1_000_000)
    clock = StoreClock(store.time, lambda: time.monotonic_ns() // 1_000_000)
    await clock.sync()
    clock.reachable_since = clock.now() - limits.DAY
    engine = Engine(store, coordination, Spans(), clock, settings=EngineSettings("server"))
    await engine.open()
    try:
        yield engine
    finally:
        await engine.close()


async def start_many(engine: Engine, prefix: str, count: int) -> None:
    """Starts of one fairness key, named after it."""

    def command(number: int) -> Start:
        key = WorkflowKey("default", "note", f"{prefix}-{number}")
        return Start(key, f"{number:024x}", Trace("1" * 32, "2" * 16), fairness_key=prefix)

    for first in range(0, count, 500):
        await asyncio.gather(*(engine.start(command(number)) for number in range(first, min(first + 500, count))))


async def test_c53_ten_steps_of_one_key_against_ten_thousand_of_another(redis_process: RunningServer, database_name: str) -> None:
    coordination = RedisCoordination(redis_process.url, prefix=database_name, timeout=PATIENT)
    async with opened(coordination), serving(coordination) as engine:
        await engine.register(plan("a", workflow_type="note"), True, False, False)
        await start_many(engine, "big", 10_000)
        await start_many(engine, "small", 10)
        await engine.supervisor.finish(10_000)
        _, stream = await engine.connect(Hello("default", "worker", "tests", (Subscription("pool", "default", "note", {}, 4),)))
        order: list[str] = []
        stream.credit("pool", 4)
        async with asyncio.timeout(20):
            while len(order) < 60:
                items = await stream.receive()
                claims = [claim for item in items or () if isinstance(item, ClaimsOut) for claim in item.claims]
                order += [claim.key.business_key for claim in claims]
                stream.credit("pool", len(claims))
        small = [place for place, key in enumerate(order) if key.startswith("small")]
        assert len(small) == 10
        assert max(small) < 40
        await stream.close()
