"""A clock that only a test moves."""


class StillClock:
    """The Clock port; `time` is what it says, in ms."""

    def __init__(self, time: int = 1_790_000_000_000) -> None:
        self.time = time

    def now(self) -> int:
        return self.time

    def unshifted(self) -> int:
        return self.time

    def unshifted_at(self, time: int) -> int:
        return time

    uncertainty = 0

    def may_judge(self, lease: int) -> bool:
        return True

    async def sleep_until(self, time: int) -> None:
        self.time = max(self.time, time)

    def together(self, duration: int) -> int:
        return duration

    async def sleep(self, duration: int) -> None:
        self.time += duration
