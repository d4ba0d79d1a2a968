"""DBOS, which is a library: the worker and the load are one process."""

import asyncio
import sys
import time

from dbos import DBOS, SetWorkflowID

from tools.bench.load.driving import drive


@DBOS.step()
async def nothing() -> None:
    """A step."""


@DBOS.step()
async def moment() -> float:
    """When this line ran."""
    return time.time()


@DBOS.workflow()
async def job() -> None:
    """Three steps, each stored before the next."""
    await nothing()
    await nothing()
    await nothing()


@DBOS.workflow()
async def parked() -> float:
    """A step behind a signal; the longest wait that it has is a number of seconds."""
    await DBOS.recv_async("go", timeout_seconds=86_400)
    return await moment()


class Dbos:
    """In process."""

    def __init__(self, url: str) -> None:
        DBOS(config={"name": "bench", "system_database_url": url, "log_level": "ERROR"})

    async def open(self) -> None:
        """Its tables are made."""
        DBOS.launch()
        await self.run("first")

    async def run(self, key: str) -> None:
        """Start and result."""
        with SetWorkflowID(key):
            handle = await DBOS.start_workflow_async(job)
        await handle.get_result()

    async def park(self, key: str) -> None:
        """A stored start."""
        with SetWorkflowID(key):
            await DBOS.start_workflow_async(parked)

    async def wake(self, key: str) -> float:
        """Signal and result."""
        await DBOS.send_async(key, "now", "go")
        handle = await DBOS.retrieve_workflow_async(key)
        return float(await handle.get_result())

    async def close(self) -> None:
        """Whatever still waits is left."""
        DBOS.destroy(workflow_completion_timeout_sec=0)


if __name__ == "__main__":
    asyncio.run(drive(Dbos(sys.argv[1])))
