"""What the tests of schedules share: a schedule that fires every minute, and what it has started."""

from typing import Any, cast

from perdure_server.engine.calendar import time_text
from perdure_server.engine.people import Conditions
from perdure_server.engine.service import Engine
from perdure_server.engine.values import Ref
from perdure_server.kernel import limits
from perdure_server.kernel.definition import StepDefinition
from perdure_server.kernel.schedule import Cron, Interval, Schedule, ScheduledStart, ScheduleSettings
from perdure_server.kernel.workflow import Workflow
from perdure_server.store.memory import MemoryWorkflows
from perdure_server.store.schedules import MemorySchedules
from tests.engine.harness import EPOCH, TYPE, World

MINUTE = limits.MINUTE
NAME = "every-minute"


def settings(*triggers: Cron | Interval, **changes: Any) -> ScheduleSettings:
    start = changes.pop("start", ScheduledStart(TYPE))
    return ScheduleSettings(triggers or (Interval(MINUTE),), start, **changes)


async def put(server: Engine, wanted: ScheduleSettings, name: str = NAME, **conditions: Any) -> Schedule:
    found, _ = await server.schedules.put("default", name, lambda _: wanted, Conditions(**conditions))
    return found


def stored(world: World, name: str = NAME) -> Schedule:
    return cast("MemorySchedules", world.store.schedules)._stored["default", name]


def workflows(world: World) -> dict[str, Workflow]:
    """All workflows by business key, not through the faults."""
    held = cast("MemoryWorkflows", world.store.workflows)
    found = [held._load(key) for key in held._stored]
    return {workflow.key.business_key: workflow for workflow in found if workflow is not None and workflow.tombstone is None}


def keys(world: World) -> list[str]:
    return sorted(workflows(world))


def minute(number: int) -> str:
    return f"{NAME}@{time_text(EPOCH + number * MINUTE)}"


async def begun(world: World, *steps: str | StepDefinition, worker: bool = True, **define: Any) -> Engine:
    server = await world.server()
    await world.define(server, *(steps or ("a",)), **define)
    if worker:
        await world.worker(server)
    return server


async def end(world: World, server: Engine, key: str) -> None:
    await server.people.terminate(Ref(workflows(world)[key].key), "the test", Conditions())
