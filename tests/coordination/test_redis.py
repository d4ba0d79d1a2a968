"""Coordination through a real Redis or Valkey."""

from collections.abc import AsyncIterator

import pytest

from perdure_server.coordination.redis import RedisCoordination
from perdure_server.ports.coordination import Coordination
from tests.conftest import RunningServer
from tests.coordination.contract import CoordinationContract, opened


@pytest.fixture
async def coordination(redis_process: RunningServer, database_name: str) -> AsyncIterator[Coordination]:
    async with opened(RedisCoordination(redis_process.url, prefix=database_name)) as coordination:
        yield coordination


class TestRedisCoordination(CoordinationContract):
    """The contract, on Redis."""
