"""Commits on each road, forced: what MongoDB 8, and what MongoDB 6 and 7 would get."""

from collections.abc import AsyncIterator

import pytest

from perdure_server.ports.store import Store
from perdure_server.store.committer import Road
from tests.store.conftest import OpenStore
from tests.store.contract_workflows import WorkflowsContract


class TestBulkWrite(WorkflowsContract):
    @pytest.fixture
    async def store(self, open_store: OpenStore) -> AsyncIterator[Store]:
        async with open_store("motor", Road.BULK_WRITE) as store:
            yield store


class TestTransaction(WorkflowsContract):
    @pytest.fixture(params=["motor", "pymongo"])
    async def store(self, open_store: OpenStore, request: pytest.FixtureRequest) -> AsyncIterator[Store]:
        async with open_store(request.param, Road.TRANSACTION) as store:
            yield store


class TestInsertAndUpdate(WorkflowsContract):
    @pytest.fixture
    async def store(self, open_store: OpenStore) -> AsyncIterator[Store]:
        async with open_store("motor", Road.INSERT_AND_UPDATE) as store:
            yield store
