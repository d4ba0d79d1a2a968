"""Redis hears of nothing: whatever a server tells it is lost right after the commit, and the sweep alone carries the work (case C06)."""

import time

import pytest

from tests.chaos.checker import check
from tests.chaos.conftest import Report
from tests.chaos.extent import extent
from tests.chaos.load import loaded
from tests.chaos.scene import Scene
from tests.chaos.wire import wired

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(180)]

WORKFLOWS = extent(30, long=50)
ENDS_WITHIN = 60.0
# A script puts steps in queues and takes them out, sets timers and appends frames; PUBLISH wakes other servers.
TOLD = (b"EVALSHA", b"EVAL", b"PUBLISH", b"ZADD", b"XADD")


async def test_c06_what_redis_is_never_told_is_found_by_the_sweep(scene: Scene, report: Report) -> None:
    async with wired(scene.redis.port) as wire:
        servers = [await scene.add_server(f"redis://127.0.0.1:{wire.port}/0") for _ in range(2)]
        wire.cut_on = lambda data: any(word in data for word in TOLD)
        began = time.monotonic()
        async with loaded(scene, "untold", servers=servers) as load:
            keys = [f"k{number}" for number in range(WORKFLOWS)]
            await load.start(keys)
            await load.signal(keys)
            await load.ended(ENDS_WITHIN)
            took = time.monotonic() - began
            await load.close()
            verdict = await check(load)
        for server in servers:
            await scene.kill(server)
    report(f"{verdict}; {wire.cuts} connections cut; {took:.0f} s")
    assert not verdict.breaches, "\n".join(verdict.breaches[:20])
    assert wire.cuts > 0
    complaints = [line for server in servers for line in server.complaints]
    assert not complaints, "\n".join(complaints)
