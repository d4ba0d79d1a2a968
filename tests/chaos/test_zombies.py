"""Streams that look alive and are not: the worker must take claims again within 30 s, without a restart (case C57)."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import pytest

from perdure import Client, Context, Definition
from tests.chaos.conftest import Report
from tests.chaos.scene import Scene
from tests.chaos.wire import Wire, wired
from tests.e2e.channels import COMPLETED, Perdure, connected

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(120)]

AGAIN_WITHIN = 30.0


@dataclass
class Zombie:
    """A worker behind a wire, a caller beside it, and how often the activity began per key."""

    wire: Wire
    caller: Perdure
    begun: dict[str, int]

    async def serves(self, key: str) -> float:
        """Start a workflow and wait for its end; the seconds that it took."""
        began = time.monotonic()
        await self.caller.start(key)
        async with asyncio.timeout(AGAIN_WITHIN):
            assert (await self.caller.ended(key)).state == COMPLETED
        return time.monotonic() - began


@pytest.fixture
async def zombie(scene: Scene) -> AsyncIterator[Zombie]:
    """The Python client's worker with a lease of 3 s, its only way to the server the wire."""
    definition = Definition("zombie")
    begun: dict[str, int] = {}

    @definition.step()
    async def work(ctx: Context[None]) -> str:
        begun[ctx.business_key] = begun.get(ctx.business_key, 0) + 1
        return "done"

    async with (
        wired(scene.servers[0].port) as wire,
        connected(scene.servers[0].address, "zombie") as caller,
        Client(f"127.0.0.1:{wire.port}") as client,
        client.worker(definition),
    ):
        yield Zombie(wire, caller, begun)


FAULTS: dict[str, Callable[[Wire], None]] = {
    "answers_swallowed": Wire.swallow_answers,
    "frozen": Wire.freeze,
    "reset": Wire.reset,
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_c57_a_dead_stream_is_left_for_a_new_one(zombie: Zombie, report: Report, fault: str) -> None:
    await zombie.serves(f"{fault}-before")
    FAULTS[fault](zombie.wire)
    took = await zombie.serves(f"{fault}-during")
    assert zombie.begun == {f"{fault}-before": 1, f"{fault}-during": 1}
    claim = (await zombie.caller.steps(f"{fault}-during"))["work"]
    assert claim.attempt == 1, "what never reached the worker is not charged"
    report(f"served again after {took:.1f} s, by claim {claim.claim_no}")


async def test_c57_a_server_that_restarts_behind_a_proxy_that_holds_the_client_s_end(zombie: Zombie, scene: Scene, report: Report) -> None:
    await zombie.serves("restart-before")
    zombie.wire.hold_open()
    await scene.kill(scene.servers[0])
    await scene.start(scene.servers[0])
    report(f"served again after {await zombie.serves('restart-during'):.1f} s")
