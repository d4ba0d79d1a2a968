"""Engine tests run on a loop whose time only the test moves."""

from collections.abc import AsyncIterator, Callable, Mapping

import pytest

from tests.engine.harness import World
from tests.engine.virtual_loop import VirtualLoop


def pytest_asyncio_loop_factories(config: pytest.Config, item: pytest.Item) -> Mapping[str, Callable[[], VirtualLoop]]:
    """Every test of this folder, its fixtures included."""
    return {"virtual": VirtualLoop}


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """One store, one coordination, no server yet. At the end every stored instance is checked."""
    world = World()
    yield world
    await world.close()
