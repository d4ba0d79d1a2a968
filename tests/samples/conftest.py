"""The servers of tests/e2e, real processes on the session's store and Redis, and samples started on them as a person does."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from perdure import Client
from tests.e2e.conftest import new_server, server
from tests.e2e.servers import PerdureProcess
from tests.samples.program import Program

__all__ = ["new_server", "server"]

RunSample = Callable[..., Program]


@pytest.fixture
async def client(server: PerdureProcess) -> AsyncIterator[Client]:
    """A client of the session's server."""
    async with Client(server.address) as found:
        yield found


@pytest.fixture
async def sample(server: PerdureProcess, tmp_path: Path) -> AsyncIterator[RunSample]:
    """Starts `python -m examples....` on the session's server, or on `address`; all are killed at the end."""
    async with AsyncExitStack() as running:

        def start(*arguments: object, address: str = "", **settings: str) -> Program:
            known = {"PERDURE_ADDRESS": address or server.address, **settings}
            program = Program([str(argument) for argument in arguments], known, tmp_path)
            running.push_async_callback(program.kill)
            return program

        yield start
