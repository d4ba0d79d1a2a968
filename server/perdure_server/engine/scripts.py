"""Outcomes told in advance: which script an attempt follows."""

from collections.abc import Sequence

from msgspec import Struct

from perdure_server.kernel.outcomes import Outcome


class NeverSettled(Struct, frozen=True):
    """The attempt gives no result: a timeout ends it."""


class WorkerVanishes(Struct, frozen=True):
    """The worker is lost, and its claim with it."""


class Script(Struct, frozen=True):
    """How attempts end. `step` "", `attempt` 0, `business_key` "" match any; `duration` in ms; `times` 0 = always.

    `field` names it to whoever told it.
    """

    outcome: Outcome | NeverSettled | WorkerVanishes
    step: str = ""
    attempt: int = 0
    business_key: str = ""
    duration: int = 0
    times: int = 0
    field: str = ""

    def matches(self, step: str, attempt: int, business_key: str) -> bool:
        """Whether it is about this attempt."""
        return self.step in {"", step} and self.attempt in {0, attempt} and self.business_key in {"", business_key}


class Playbook:
    """Scripts in order of preference; the first that matches is used, as often as it may be."""

    def __init__(self, scripts: Sequence[Script] = ()) -> None:
        self._scripts = [(script, script.times) for script in scripts]

    def __len__(self) -> int:
        return len(self._scripts)

    def put_before(self, scripts: Sequence[Script], replace: bool) -> None:
        """Prefer these to those before, or forget those."""
        self._scripts = [(script, script.times) for script in scripts] + ([] if replace else self._scripts)

    def take(self, step: str, attempt: int, business_key: str) -> Script | None:
        """The script of this attempt, used once more; None = nothing is told of it."""
        for place, (script, left) in enumerate(self._scripts):
            if not script.matches(step, attempt, business_key) or (script.times and not left):
                continue
            self._scripts[place] = (script, left - 1)
            return script
        return None
