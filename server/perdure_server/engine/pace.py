"""How fast something goes, by counting alone."""

from perdure_server.kernel import limits


class Pace:
    """How many came within the last whole second."""

    def __init__(self) -> None:
        self._second = 0
        self._count = 0
        self._before = 0

    def count(self, now: int) -> None:
        """One more came at `now`, ms."""
        self._turn(now // limits.SECOND)
        self._count += 1

    def lately(self, now: int) -> int:
        """How many came in the whole second before that of `now`, or in this one if they are more by now."""
        self._turn(now // limits.SECOND)
        return max(self._before, self._count)

    def _turn(self, second: int) -> None:
        if second > self._second:
            self._before = self._count if second == self._second + 1 else 0
            self._second, self._count = second, 0
