"""What only some seeds have: each ingredient lives beside the chaos of its seed, and knows what must be true of it.

A seed draws a few, so that it stays small. What really happened is counted by name: a simulation that never gets there proves nothing.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from tests.simulation.world import Simulation


class Ingredient:
    """One that does nothing. `name` is shown in the summary; `share` of the seeds have it."""

    name: ClassVar[str]
    share: ClassVar[float]
    limits: ClassVar[Mapping[str, int]] = {}  # bounds of kernel/limits.py that are smaller in such a seed, so that it reaches them

    def __init__(self, simulation: "Simulation") -> None:
        self.simulation = simulation
        self.source = random.Random(f"{simulation.seed} {self.name}")
        self.counts: Counter[str] = Counter({f"seeds with {self.name}": 1})

    async def prepare(self) -> None:
        """Before anything goes wrong."""

    async def live(self, until: float) -> None:
        """Beside the chaos, until then (loop time in s)."""

    async def heal(self) -> None:
        """Begin nothing more."""

    @property
    def quiet(self) -> bool:
        """Whether all that it began has ended."""
        return True

    async def at_the_end(self) -> None:
        """Everything has healed and had its time: whatever is not as promised is a breach."""

    def start_fields(self, source: random.Random) -> Mapping[str, Any]:
        """What it adds to a start."""
        return {}

    def count(self, what: str, number: int = 1) -> None:
        """It happened."""
        self.counts[what] += number


def chosen(seed: int, kinds: Sequence[type[Ingredient]]) -> list[type[Ingredient]]:
    """The ingredients of a seed, always in the same order."""
    return [kind for kind in kinds if random.Random(f"{seed} has {kind.name}").random() < kind.share]
