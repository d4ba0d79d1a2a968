"""Settings of the store's tests: asserts of the contract modules tell their values, and stores start empty."""

import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from perdure_server.store.committer import Road
from perdure_server.store.driver import Driver
from perdure_server.store.mongo import MongoStore
from tests.conftest import RunningServer

pytest.register_assert_rewrite(
    "tests.store.contract_audit",
    "tests.store.contract_batches",
    "tests.store.contract_lists",
    "tests.store.contract_records",
    "tests.store.contract_resources",
    "tests.store.contract_schedules",
    "tests.store.contract_sessions",
    "tests.store.contract_workflows",
)

# One database for all tests of this run: indexes are built once, documents are removed after each test.
DATABASE = f"perdure_test_{secrets.token_hex(6)}"
COLLECTIONS = ["workflows", "payloads", "sessions", "definitions", "active_definitions", "audit", "resources", "stripes", "batches"]
COLLECTIONS += ["schedules", "namespaces", "namespace_tallies"]

OpenStore = Callable[[Driver, Road | None], AbstractAsyncContextManager[MongoStore]]


@asynccontextmanager
async def emptied(store: MongoStore) -> AsyncIterator[MongoStore]:
    """The store, opened; afterwards its collections are empty and it is closed."""
    await store.open()
    try:
        yield store
        for collection in COLLECTIONS:
            await store.connection.command({"delete": collection, "deletes": [{"q": {}, "limit": 0}]})
    finally:
        await store.close()


@pytest.fixture
def open_store(store_process: RunningServer) -> OpenStore:
    """Opens a store of this driver, on this road (None = what the probe finds), on the server that is present."""

    def opened(driver: Driver, road: Road | None = None) -> AbstractAsyncContextManager[MongoStore]:
        return emptied(MongoStore(store_process.url, DATABASE, driver, road))

    return opened
