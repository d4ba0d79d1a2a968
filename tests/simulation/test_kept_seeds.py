"""Seeds that once showed a fault, each with what it was. The test beside the code that was wrong says it in small."""

import pytest

from tests.simulation.world import run_seed

KEPT = {
    70: "a dead session refused a token that it had held: its claim was un-granted, not lost, and max_attempts=1 began twice",
    147: "the same",
}


@pytest.mark.parametrize("seed", KEPT)
def test_a_kept_seed_keeps_every_promise(seed: int) -> None:
    run_seed(seed)
