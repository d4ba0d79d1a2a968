"""The contract on the MongoDB that is present, by Motor and by PyMongo's asyncio API."""

from collections.abc import AsyncIterator

import pytest

from perdure_server.ports.store import Store
from tests.store.conftest import OpenStore
from tests.store.contract import StoreContract


class TestMotor(StoreContract):
    @pytest.fixture
    async def store(self, open_store: OpenStore) -> AsyncIterator[Store]:
        async with open_store("motor", None) as store:
            yield store


class TestPyMongo(StoreContract):
    @pytest.fixture
    async def store(self, open_store: OpenStore) -> AsyncIterator[Store]:
        async with open_store("pymongo", None) as store:
            yield store
