"""Real server processes on the session's store and Redis, each test with a database of its own."""

import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.conftest import RunningServer
from tests.e2e.channels import Perdure, connected
from tests.e2e.servers import PerdureProcess

MakeServer = Callable[..., PerdureProcess]


@pytest.fixture
def new_server(store_process: RunningServer, redis_process: RunningServer, database_name: str, tmp_path: Path) -> Iterator[MakeServer]:
    """Starts one more server of this test's database; keywords are flags. All are killed at the end."""
    with ExitStack() as running:

        def start(**flags: object) -> PerdureProcess:
            named = {name.replace("_", "-"): value for name, value in flags.items()}
            made = PerdureProcess(tmp_path, store_process.url, redis_process.url, database_name, named)
            running.callback(made.kill)
            made.start()
            return made

        yield start


@pytest.fixture(scope="session")
def server(
    store_process: RunningServer, redis_process: RunningServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PerdureProcess]:
    """One server of this session, that tests share and nobody may kill."""
    database = f"perdure_test_{secrets.token_hex(6)}"
    made = PerdureProcess(tmp_path_factory.mktemp("server"), store_process.url, redis_process.url, database)
    made.start()
    yield made
    made.kill()
    assert not made.complaints


@pytest.fixture
async def perdure(server: PerdureProcess) -> AsyncIterator[Perdure]:
    """A channel to `server`, with a workflow type of its own."""
    async with connected(server.address, f"story_{secrets.token_hex(4)}") as made:
        yield made
