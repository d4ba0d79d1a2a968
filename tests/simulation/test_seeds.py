"""The first seeds, in groups that share the cores. `make simulate SEEDS=2000` runs many more, from any `FIRST`."""

import pytest

from tests.simulation.world import run_seed

pytestmark = pytest.mark.slow

GROUPS = 10
GROUP = 15


@pytest.mark.parametrize("group", range(GROUPS))
def test_seeds_keep_every_promise(group: int) -> None:
    for seed in range(group * GROUP, (group + 1) * GROUP):
        run_seed(seed)
