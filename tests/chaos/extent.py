"""How much the scenes carry. `make chaos`, which every change runs, is done in five minutes; `make chaos-long` takes twelve."""

from typing import TypeVar

from tests.processes import LONG_CHAOS

T = TypeVar("T")


def extent(usual: T, long: T) -> T:
    """Which of the two this run has."""
    return long if LONG_CHAOS else usual
