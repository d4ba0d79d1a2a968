"""The contract, in memory."""

import pytest

from perdure_server.ports.store import Store
from perdure_server.store.memory import MemoryStore
from tests.store.contract import StoreContract
from tests.store.instances import NOW


class TestMemory(StoreContract):
    @pytest.fixture
    def store(self) -> Store:
        return MemoryStore(lambda: NOW)
