"""The stage of one session: its servers, and the drivers of each language, started when they are first needed."""

from collections.abc import Iterable, Mapping
from typing import Final

from tests.conformance.driver import Driver
from tests.conformance.scenery import Scenery

OPERATOR: Final = "python"
"""The language that sets scenes up, and speaks to the test service."""


class Stage:
    """Driver processes live as long as the session; one that was killed is started anew."""

    def __init__(self, scenery: Scenery, ready: Iterable[str], variables: Mapping[str, str]) -> None:
        self.scenery = scenery
        self._ready = tuple(ready)
        self._variables = variables
        self._drivers: dict[tuple[str, str], Driver] = {}

    def driver(self, language: str, role: str = "main") -> Driver:
        """The process of a language in a role."""
        found = self._drivers.get((language, role))
        if found is None or found.is_gone:
            if found is not None:
                found.kill()
            found = self._drivers[language, role] = Driver(language, self._variables)
        return found

    def peers(self, language: str) -> list[Driver]:
        """Drivers of the other languages that are there; without any, a second one of this."""
        others = [other for other in self._ready if other != language]
        return [self.driver(other) for other in others] or [self.driver(language, "second")]

    def close(self) -> list[str]:
        """Ends all drivers and servers; what servers complained of."""
        for driver in self._drivers.values():
            driver.end()
        return self.scenery.close()
