"""What the tests of rounds say again and again."""

import asyncio
from typing import Any, cast

from perdure_server.engine.service import Engine
from perdure_server.engine.values import Started
from perdure_server.kernel.definition import Definition, Hook, Hooks
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.start import OnClosed, OnOpen
from perdure_server.kernel.workflow import Workflow, round_id
from perdure_server.ports.errors import StoreUnavailable
from perdure_server.store.memory import MemoryWorkflows, Moment
from tests.engine.harness import World
from tests.kernel.harness import activity

SUPERSEDE = OnOpen.SUPERSEDE
AGAIN = OnClosed.NEW_ROUND


async def defined(world: World, server: Engine, **fields: Any) -> Definition:
    hooks = Hooks(cancel_finalizer=Hook("tidy"))
    return await world.define(server, "a", "b: a", activity("tidy", needs=()), hooks=hooks, **fields)


async def stored(world: World, number: int, name: str = "k") -> Workflow | None:
    """An archived round as stored."""
    return cast("MemoryWorkflows", world.store.workflows)._load(round_id(world.key(name).workflow_id, number))


async def archived(world: World, number: int, name: str = "k") -> Workflow:
    found = await stored(world, number, name)
    assert found is not None, f"round {number} is not archived"
    assert (found.archived, found.round) == (True, number)
    return found


def superseding(world: World, server: Engine, request_id: str = "r", **fields: Any) -> "asyncio.Task[Started]":
    return world.spawn(world.start(server, request_id=request_id, on_open=SUPERSEDE, on_closed=AGAIN, **fields))


async def supersede(world: World, server: Engine, request_id: str = "r", **fields: Any) -> Started:
    task = superseding(world, server, request_id, **fields)
    await world.until(task.done)
    return await task


def reason_of(error: BaseException | None) -> tuple[Reason, str]:
    assert isinstance(error, Rejection), error
    return error.reason, error.facts.get("cause", "")


async def crash(world: World, server: Engine) -> None:
    """It is gone, with all that it had in hand."""
    closing = world.spawn(server.close())
    await world.until(closing.done)


class Breaks:
    """The store goes away at its commit number `at`, before or after it is done, until `over`."""

    def __init__(self, world: World, at: int, moment: Moment) -> None:
        self.world = world
        self.at = at
        self.moment = moment
        self.seen = 0
        self.broken = False
        world.store.faults = self

    def over(self) -> None:
        self.world.store.faults = self.world.faults

    async def __call__(self, operation: str, moment: Moment) -> None:
        await self.world.faults(operation, moment)
        if operation == "workflows.commit" and moment is Moment.BEFORE:
            self.seen += 1
        self.broken = self.broken or (operation == "workflows.commit" and self.seen == self.at and moment is self.moment)
        if self.broken:
            raise StoreUnavailable("broken off")
