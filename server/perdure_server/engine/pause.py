"""How long a poll rests: as long as nothing is there it comes round less often, so that an idle server is idle."""


class Pause:
    """`shortest` ms after something was found, half as long again each time nothing was, up to `longest`."""

    def __init__(self, shortest: int, longest: int) -> None:
        self._shortest = shortest
        self._longest = max(shortest, longest)
        self.next = shortest

    def found(self, anything: bool) -> None:
        """What the last look brought."""
        self.next = self._shortest if anything else min(self._longest, self.next * 3 // 2)
