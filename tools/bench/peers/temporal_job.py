"""The jobs for Temporal."""

import time
from datetime import timedelta

from temporalio import activity, workflow

LIMIT = timedelta(minutes=1)
QUEUE = "bench"


@activity.defn
async def nothing() -> None:
    """A step."""


@activity.defn
async def moment() -> float:
    """When this line ran."""
    return time.time()


@workflow.defn
class Job:
    """Three steps, each stored before the next."""

    @workflow.run
    async def run(self) -> None:
        """In order."""
        await workflow.execute_activity(nothing, start_to_close_timeout=LIMIT)
        await workflow.execute_activity(nothing, start_to_close_timeout=LIMIT)
        await workflow.execute_activity(nothing, start_to_close_timeout=LIMIT)


@workflow.defn
class Parked:
    """A step behind a signal."""

    def __init__(self) -> None:
        self._go = False

    @workflow.run
    async def run(self) -> float:
        """Wait, then one step."""
        await workflow.wait_condition(lambda: self._go)
        return await workflow.execute_activity(moment, start_to_close_timeout=LIMIT)

    @workflow.signal
    def go(self) -> None:
        """The signal."""
        self._go = True
