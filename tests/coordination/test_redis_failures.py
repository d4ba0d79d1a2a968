"""What Redis and the network can do to us: nothing hangs, nothing answers another, and all comes back by itself."""

import asyncio
import contextlib
import random
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from redis.asyncio import Redis

from perdure_server.coordination import limits
from perdure_server.coordination.redis import RedisCoordination
from perdure_server.ports.coordination import RE_READ, WakeUp
from perdure_server.ports.errors import CoordinationUnavailable
from tests import processes
from tests.conftest import Eventually
from tests.coordination.contract import opened
from tests.coordination.proxy import Proxy
from tests.coordination.samples import NOW, PATIENT, drain, frame, item, numbers
from tests.processes import RedisProcess

TIMEOUT = 300
QUICK = 2 * TIMEOUT / 1_000 + 1.0
QUICK_TAKE = limits.POP_SLICE / 1_000 + QUICK


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisProcess]:
    binary = processes.redis_binary()
    if binary is None:
        processes.missing_server("no Redis binary to kill")
    server = RedisProcess(binary, tmp_path / "redis")
    server.start()
    yield server
    server.kill()


@pytest.fixture
async def admin(server: RedisProcess) -> AsyncIterator[Redis]:
    async with Redis(port=server.port) as admin:
        yield admin


@pytest.fixture
async def proxy(server: RedisProcess) -> AsyncIterator[Proxy]:
    async with Proxy(server.port) as proxy:
        yield proxy


@pytest.fixture
async def coordination(proxy: Proxy) -> AsyncIterator[RedisCoordination]:
    coordination = RedisCoordination(f"redis://127.0.0.1:{proxy.port}/0", timeout=TIMEOUT)
    async with opened(coordination):
        yield coordination


@pytest.fixture
async def patient(proxy: Proxy) -> AsyncIterator[RedisCoordination]:
    async with opened(RedisCoordination(f"redis://127.0.0.1:{proxy.port}/0", timeout=PATIENT)) as coordination:
        assert isinstance(coordination, RedisCoordination)
        yield coordination


async def works(coordination: RedisCoordination) -> bool:
    with contextlib.suppress(CoordinationUnavailable):
        await coordination.announce([item(1, queue="probe")])
        return numbers(await coordination.take(["probe"], 1, 1_000)) == [1]
    return False


async def every_call_is_unavailable(coordination: RedisCoordination) -> None:
    calls = (
        coordination.announce([item(1)]),
        coordination.take(["q"], 1, 10_000),
        coordination.backlog(["q"]),
        coordination.remove([item(1)]),
        coordination.set_timers({b"w": NOW}),
        coordination.due_timers(NOW, 1),
        coordination.next_timer(),
        coordination.publish([WakeUp("w", b"k")]),
        coordination.append_frames("run", [frame(1)]),
        coordination.read_frames("run", "", 1),
        coordination.drop_frames("run"),
    )
    async with asyncio.timeout(QUICK_TAKE):
        results = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(result) for result in results] == [CoordinationUnavailable] * len(calls)


async def test_c75_silence_is_noticed_and_healed(coordination: RedisCoordination, proxy: Proxy, eventually: Eventually) -> None:
    subscription = coordination.subscribe()
    assert await anext(subscription) == RE_READ

    async def wait_for_item() -> None:
        with pytest.raises(CoordinationUnavailable):
            await coordination.take(["q"], 1, 60_000)

    async with asyncio.timeout(QUICK_TAKE), asyncio.TaskGroup() as group:
        group.create_task(wait_for_item())
        await coordination.backlog(["q"])
        proxy.freeze()
        await every_call_is_unavailable(coordination)
    assert coordination.description()["health"] not in {"ok", "connecting"}
    # Known to be away: refused at once, without a trip.
    begun = asyncio.get_running_loop().time()
    with pytest.raises(CoordinationUnavailable):
        await coordination.backlog(["q"])
    assert asyncio.get_running_loop().time() - begun < limits.TIMEOUT / 1_000, "a trip takes so long"
    proxy.thaw()
    assert await eventually(lambda: works(coordination), within=limits.BACKOFF_MAX / 1_000 + 5)
    async with asyncio.timeout(limits.IDLE_PING / 1_000 + 10):
        # Its connection may not have been silent long enough to be found broken; then it has healed, and nothing was missed.
        await coordination.publish([WakeUp("q", b"after")])
        while await anext(subscription) not in {WakeUp("q", b"after"), RE_READ}:
            pass


async def test_c75_a_silent_subscription_connects_again(
    coordination: RedisCoordination, proxy: Proxy, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perdure_server.coordination.redis_wakeups.IDLE_PING", 200)
    subscription = coordination.subscribe()
    assert await anext(subscription) == RE_READ
    proxy.drop()
    assert await eventually(lambda: works(coordination))
    assert await anext(subscription) == RE_READ
    accepted = proxy.accepted
    proxy.freeze()
    await eventually(lambda: proxy.accepted > accepted + 2, what="all three connections are tried anew")
    proxy.thaw()
    async with asyncio.timeout(limits.BACKOFF_MAX / 1_000 + 5):
        assert await anext(subscription) == RE_READ


async def test_c74_no_answer_goes_to_another(patient: RedisCoordination, proxy: Proxy, admin: Redis, random_source: random.Random) -> None:
    for number in range(50):
        await patient.append_frames(f"run{number}", [frame(number + 1)])
        await patient.announce([item(each, queue=f"queue{number}") for each in range(number)])
    proxy.delay = lambda: random_source.uniform(0.0, 0.02)
    mismatches: list[str] = []
    done = 0

    async def call(number: int) -> None:
        nonlocal done
        if number % 3 == 0:
            batch = await patient.read_frames(f"run{number % 50}", "", 10)
            right = [each.seq for each in batch.frames] == [number % 50 + 1]
        elif number % 3 == 1:
            right = await patient.backlog([f"queue{number % 50}"]) == {f"queue{number % 50}": number % 50}
        else:
            # A queue of its own: what is announced here comes back here, unless the call was cancelled.
            await patient.announce([item(number, queue=f"own{number}")])
            right = numbers(await patient.take([f"own{number}"], 5, 2_000)) == [number]
        done += 1
        if not right:
            mismatches.append(str(number))

    async def caller(first: int) -> None:
        for number in range(first, 12_000, 100):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(random_source.choice([0.0, 0.005, 0.02, 0.05, 5.0])):
                    await call(number)

    async with asyncio.TaskGroup() as group:
        for first in range(100):
            group.create_task(caller(first))
    assert mismatches == []
    assert done > 2_000
    assert proxy.accepted == 3, "a cancelled call closed a connection"
    assert len(await admin.client_list()) <= 3 + 1


async def test_c76_killed_and_restarted_empty(coordination: RedisCoordination, server: RedisProcess, eventually: Eventually) -> None:
    subscription = coordination.subscribe()
    assert await anext(subscription) == RE_READ
    await coordination.append_frames("run", [frame(1), frame(2)])
    cursor = (await coordination.read_frames("run", "", 10)).cursor
    server.kill()
    await every_call_is_unavailable(coordination)
    await asyncio.get_running_loop().run_in_executor(None, server.start)
    assert await eventually(lambda: works(coordination), within=limits.BACKOFF_MAX / 1_000 + 5)
    async with asyncio.timeout(limits.BACKOFF_MAX / 1_000 + 5):
        assert await anext(subscription) == RE_READ
    batch = await coordination.read_frames("run", cursor, 10)
    assert (batch.frames, batch.cursor, batch.restarted) == ((), "", True)
    await coordination.append_frames("run", [frame(3)])
    assert [each.seq for each in (await coordination.read_frames("run", cursor, 10)).frames] == [3]
    await coordination.set_timers({b"w": NOW})
    assert await coordination.due_timers(NOW, 5) == [b"w"]


async def test_c76_flushed_under_load(patient: RedisCoordination, admin: Redis, random_source: random.Random) -> None:
    stop = asyncio.Event()
    calls = 0

    async def load(number: int) -> None:
        nonlocal calls
        seq = 0
        while not stop.is_set():
            seq += 1
            await patient.announce([item(seq, queue=f"q{number}", fairness_key="k"), item(seq, queue="all")])
            await patient.take([f"q{number}", "all"], 5, 20)
            await patient.set_timers({number.to_bytes(16): NOW})
            await patient.due_timers(NOW, 5)
            await patient.append_frames(f"run{number}", [frame(seq)])
            seqs = [each.seq for each in (await patient.read_frames(f"run{number}", "", 2_000)).frames]
            assert seqs == sorted(set(seqs)), "a sequence went back or repeated"
            calls += 6

    async with asyncio.TaskGroup() as group:
        for number in range(10):
            group.create_task(load(number))
        for _ in range(30):
            await admin.flushall()
            await admin.script_flush()
            await patient.take(["nothing"], 1, 20)
            half = [key for key in await admin.keys("perdure:*") if random_source.random() < 0.5]
            await admin.delete("none", *half)
            await patient.take(["nothing"], 1, 20)
        stop.set()
    assert calls > 500
    assert patient.description()["health"] == "ok"


async def test_c78_a_server_that_turns_into_a_replica(coordination: RedisCoordination, admin: Redis, eventually: Eventually) -> None:
    await admin.slaveof("127.0.0.1", 1)
    with pytest.raises(CoordinationUnavailable):
        await coordination.announce([item(1)])
    await eventually(lambda: coordination.description()["health"] == "ReadOnlyError")
    await every_call_is_unavailable(coordination)
    await admin.slaveof()
    assert await eventually(lambda: works(coordination), within=limits.BACKOFF_MAX / 1_000 + 5)


async def test_out_of_memory_refuses_writes_only(patient: RedisCoordination, admin: Redis) -> None:
    await patient.announce([item(1)])
    await admin.config_set("maxmemory", 1)
    with pytest.raises(CoordinationUnavailable):
        await patient.announce([item(2)])
    with pytest.raises(CoordinationUnavailable):
        await patient.append_frames("run", [frame(1)])
    assert await patient.backlog(["q"]) == {"q": 1}
    await admin.config_set("maxmemory", 0)
    await patient.announce([item(2)])
    assert await drain(patient) == [1, 2]


async def test_a_failing_disk_refuses_writes_only(
    patient: RedisCoordination, admin: Redis, server: RedisProcess, eventually: Eventually
) -> None:
    await patient.announce([item(1)])
    await admin.config_set("save", "3600 1")
    shutil.rmtree(server.directory)
    await admin.bgsave()

    async def refuses() -> bool:
        try:
            await patient.announce([item(2)])
        except CoordinationUnavailable as error:
            return "MISCONF" in str(error.__cause__)
        return False

    assert await eventually(refuses)
    assert (await patient.backlog(["q"]))["q"] >= 1
    await admin.config_set("stop-writes-on-bgsave-error", "no")
    assert await works(patient)


async def test_opening_without_a_server(server: RedisProcess, eventually: Eventually) -> None:
    server.kill()
    coordination = RedisCoordination(server.url, timeout=TIMEOUT)
    async with asyncio.timeout(QUICK), opened(coordination):
        with pytest.raises(CoordinationUnavailable):
            await coordination.announce([item(1)])
        assert coordination.description()["health"] == "ConnectionError"
    coordination = RedisCoordination(server.url, timeout=TIMEOUT)
    async with opened(coordination):
        subscription = coordination.subscribe()
        await asyncio.get_running_loop().run_in_executor(None, server.start)
        assert await eventually(lambda: works(coordination), within=limits.BACKOFF_MAX / 1_000 + 5)
        async with asyncio.timeout(limits.BACKOFF_MAX / 1_000 + 5):
            assert await anext(subscription) == RE_READ


async def test_loading_is_waited_for(server: RedisProcess, admin: Redis, eventually: Eventually) -> None:
    await admin.mset({f"key{number}": "x" * 100 for number in range(3_000)})
    await admin.save()
    server.kill()
    arguments = ["--key-load-delay", "500", "--loading-process-events-interval-bytes", "1024", "--dir", str(server.directory)]
    loading = processes.ServerProcess(
        lambda port: [processes.redis_binary() or "", "--port", str(port), "--bind", "127.0.0.1", "--save", "", *arguments],
        "Server initialized",
        server.directory,
        server.port,
    )
    loading.start()
    try:
        coordination = RedisCoordination(server.url, timeout=TIMEOUT)
        async with opened(coordination):
            await eventually(lambda: coordination.description()["health"] == "BusyLoadingError")
            with pytest.raises(CoordinationUnavailable):
                await coordination.announce([item(1)])
            assert await eventually(lambda: works(coordination), within=15)
    finally:
        loading.kill()


async def test_a_policy_that_evicts_is_named(server: RedisProcess, admin: Redis) -> None:
    await admin.config_set("maxmemory-policy", "allkeys-lru")
    await admin.config_set("maxmemory", "100mb")
    async with opened(RedisCoordination(server.url, timeout=PATIENT)) as coordination:
        facts = coordination.description()
        assert (facts["maxmemory_policy"], facts["health"]) == ("allkeys-lru", "ok")
        assert "noeviction" in facts["warning"]


async def test_every_key_expires(patient: RedisCoordination, admin: Redis) -> None:
    await patient.announce([item(1), item(2, fairness_key="k")])
    await patient.set_timers({b"w": NOW})
    await patient.append_frames("run", [frame(1)])
    keys = await admin.keys("*")
    assert len(keys) >= 5
    assert [key for key in keys if await admin.ttl(key) <= 0] == []
