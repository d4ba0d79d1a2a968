"""The same seed has the same history: whatever a seed shows can be seen again."""

import pytest

from tests.simulation.world import run_seed


@pytest.mark.parametrize("seed", [3, 17, 70])
def test_a_seed_has_one_history(seed: int) -> None:
    first, second = run_seed(seed), run_seed(seed)
    assert first == second
    assert first.changes > 0


def test_two_seeds_have_two_histories() -> None:
    assert run_seed(3).digest != run_seed(4).digest
