"""The load for Restate: its HTTP ingress, by aiohttp."""

import asyncio
import sys

import aiohttp

from tools.bench.load.driving import drive

_JSON = {"content-type": "application/json"}


class Restate:
    """By the ingress."""

    def __init__(self, ingress: str) -> None:
        self._ingress = ingress

    async def open(self) -> None:
        """The first job ends when a worker serves."""
        self._session = aiohttp.ClientSession(
            self._ingress, connector=aiohttp.TCPConnector(limit=0), timeout=aiohttp.ClientTimeout(total=60)
        )
        await self.run("first")

    async def run(self, key: str) -> None:
        """A call that ends with the job."""
        await self._post(f"/Job/{key}/run")

    async def park(self, key: str) -> None:
        """A call that ends with the start."""
        await self._post(f"/Parked/{key}/run/send")

    async def wake(self, key: str) -> float:
        """Signal and result."""
        await self._post(f"/Parked/{key}/go")
        async with self._session.get(f"/restate/workflow/Parked/{key}/attach") as answer:
            answer.raise_for_status()
            return float(await answer.text())

    async def close(self) -> None:
        """The connections."""
        await self._session.close()

    async def _post(self, path: str) -> None:
        async with self._session.post(path, data=b"null", headers=_JSON) as answer:
            await answer.read()
            answer.raise_for_status()


if __name__ == "__main__":
    asyncio.run(drive(Restate(sys.argv[1])))
