"""What a slow collector may not conclude from an old view."""

from typing import Any, cast

import pytest

from perdure_server.kernel import limits
from perdure_server.kernel.workflow import Workflow
from perdure_server.ports.store import Read
from perdure_server.store.memory_records import MemoryPayloads
from tests.engine.harness import World
from tests.kernel.harness import signal


async def test_a_payload_is_judged_by_what_is_stored_not_by_what_a_local_read_shows(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    server = await world.server()
    await world.define(server, "a")
    await world.start(server)
    await world.settle()
    before = await world.stored()
    await server.signal(world.ref(), signal("go", value="x" * 20_000))
    payloads = cast("MemoryPayloads", world.store.payloads)
    assert len(payloads._stored[before.run_id]) == 1
    await server.close()
    await world.advance(limits.ORPHAN_AFTER + limits.MINUTE)
    load = world.store.workflows.load

    async def as_a_primary_that_is_none(workflow_id: bytes, read: Read = Read.LOCAL, **options: Any) -> Workflow | None:
        return before if read is Read.LOCAL else await load(workflow_id, read, **options)

    other = await world.server()
    monkeypatch.setattr(world.store.workflows, "load", as_a_primary_that_is_none)
    step = world.spawn(other.operations.orphans.step())
    await world.advance(limits.HOUSEKEEPING_INTERVAL)
    await step
    assert len(payloads._stored[before.run_id]) == 1
