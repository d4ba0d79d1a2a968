"""Stories run on real servers, stores and workers; a story is read from top to bottom."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from perdure import Client, Definition
from tests.e2e.conftest import MakeServer, new_server
from tests.e2e.servers import PerdureProcess

__all__ = ["new_server"]

Working = Callable[..., AbstractAsyncContextManager[None]]


@pytest.fixture
def server(new_server: MakeServer) -> PerdureProcess:
    """A server of this story's own, that it may kill and start again."""
    return new_server()


@pytest.fixture
async def client(server: PerdureProcess) -> AsyncIterator[Client]:
    """A caller; it goes on over restarts of the server."""
    async with Client(server.address) as made:
        yield made


@pytest.fixture
def working(client: Client) -> Working:
    """`async with working(definition):` runs a worker, which is gone afterwards."""

    @asynccontextmanager
    async def work(definition: Definition, **options: object) -> AsyncIterator[None]:
        async with client.worker(definition, **options):  # type: ignore[arg-type]  # options of client.worker
            yield

    return work
