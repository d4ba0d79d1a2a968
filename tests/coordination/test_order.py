"""The formula of places, alone, and its copy in Lua."""

import random

import pytest
from redis.asyncio import Redis

from perdure_server.coordination.keys import Keys
from perdure_server.coordination.local import LocalCoordination
from perdure_server.coordination.ready import Rotation, decode_item, encode_item
from perdure_server.coordination.redis import RedisCoordination
from perdure_server.kernel import limits
from perdure_server.kernel.limits import AGE_PER_PRIORITY, FAIRNESS_SHARE
from perdure_server.kernel.ordering import place
from perdure_server.ports.coordination import ReadyItem
from tests.conftest import RunningServer
from tests.coordination.clocks import StillClock
from tests.coordination.contract import opened
from tests.coordination.samples import NOW, PATIENT, item


def test_c53_lower_priority_waits_at_most_its_distance() -> None:
    for low in range(limits.PRIORITY_MAX + 1):
        for high in range(low, limits.PRIORITY_MAX + 1):
            later = NOW + AGE_PER_PRIORITY * (high - low) + 1
            assert place(NOW, low) < place(later, high)


def test_c53_high_priority_above_capacity_does_not_starve_the_low() -> None:
    # Ten minutes at 110 per cent of ten items a second, and 100 low ones at the start.
    places = [(place(NOW + 1_000 * second, 9), NOW + 1_000 * second) for second in range(600) for _ in range(11)]
    places += [(place(NOW, 0), NOW)] * 100
    places.sort()
    low = place(NOW, 0)
    waits = [served * 100 for served, (where, _) in enumerate(places) if where == low]
    # 270 s of aging, plus what had piled up by then: a tenth more than was served.
    assert max(waits) <= 270_000 * 1.1 + 100 * 100 + 1_000


def test_equal_scores_go_by_ready_time() -> None:
    equal = [place(NOW + AGE_PER_PRIORITY * priority, priority) for priority in range(10)]
    assert equal == sorted(equal)
    assert len(set(equal)) == 10


def test_fairness_keeps_a_share_and_nothing_is_early() -> None:
    assert place(NOW, 5, None) == place(NOW, 5, place(NOW, 5) - 2 * FAIRNESS_SHARE)
    assert place(NOW, 5, place(NOW, 5)) == place(NOW, 5) + FAIRNESS_SHARE
    assert place(NOW, 9, place(NOW, 0)) == int(place(NOW, 0)) + FAIRNESS_SHARE + 9 / 16


@pytest.mark.parametrize("workflow_id", [b"", b"x", b"\x00" * 16, b"\xff" * 300])
def test_items_survive_the_round_trip(workflow_id: bytes) -> None:
    for priority in range(10):
        original = ReadyItem("q", workflow_id, "stép", NOW + priority, priority)
        assert decode_item("q", encode_item(original), place(NOW + priority, priority)) == original


@pytest.mark.parametrize("member", [b"", b"\x00", b"\x00\x05abc", b"\x00\x01a", b"\x00\x01a\xff\xfe"])
def test_foreign_members_are_refused(member: bytes) -> None:
    with pytest.raises(ValueError):
        decode_item("q", member, 1.0)


def test_rotation_begins_after_the_last_served() -> None:
    rotation = Rotation()
    assert rotation.order(["a", "b", "c"]) == ["a", "b", "c"]
    rotation.served("b")
    assert rotation.order(["a", "b", "c"]) == ["c", "a", "b"]
    assert rotation.order(["a", "c"]) == ["a", "c"]
    assert rotation.order([]) == []


async def test_lua_computes_what_python_computes(redis_process: RunningServer, database_name: str, random_source: random.Random) -> None:
    local = LocalCoordination(StillClock())
    key = Keys(database_name).ready("q")
    async with (
        opened(RedisCoordination(redis_process.url, prefix=database_name, timeout=PATIENT)) as remote,
        Redis.from_url(redis_process.url) as admin,
    ):
        number = 0
        for _ in range(60):
            batch = []
            for _ in range(random_source.randrange(1, 8)):
                number += 1
                ready_time = NOW + random_source.randrange(-5_000, 5_000)
                fairness_key = random_source.choice(["", "a", "b", "ä:b"])
                weight = random_source.choice([1.0, 0.001, 1_000.0, 3.0])
                priority = random_source.randrange(10)
                offered = item(number, ready_time=ready_time, priority=priority, fairness_key=fairness_key, fairness_weight=weight)
                batch.append(offered)
            await local.announce(batch)
            await remote.announce(batch)
            in_redis = {pair[0]: pair[1] for pair in await admin.zrange(key, 0, -1, withscores=True)}
            assert in_redis == (local._queues["q"].places if "q" in local._queues else {})
            taken = random_source.choice([0, 1, 5, 1_000])
            assert list(await local.take(["q"], taken, 0)) == list(await remote.take(["q"], taken, 0))
