"""Files that are read anew when they change. A new state that cannot be used changes nothing: the old one goes on, and that is told."""

import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Generic, TypeVar

from perdure_server.rpc import limits
from perdure_server.rpc.doors.invalid import DoorsInvalid

T = TypeVar("T")
Stamp = tuple[tuple[int, int, int] | None, ...]
Told = Callable[[str, str], None]

logger = logging.getLogger(__name__)


class Reloaded(Generic[T]):
    """What was last made of some files that was good."""

    def __init__(self, what: str, paths: Iterable[Path], load: Callable[[], T], told: Told) -> None:
        """Reads them. `told(what, outcome)` is called for every reload: outcome `ok` or `failed`. Raises DoorsInvalid."""
        self._what = what
        self._paths = tuple(paths)
        self._load = load
        self._told = told
        self._stamp = self._stamped()
        self._fault = ""
        self.value = load()

    def look(self) -> bool:
        """Read them if they changed, or could not be used the last time; True = there is a new value."""
        stamp = self._stamped()
        if stamp == self._stamp and not self._fault:
            return False
        self._stamp = stamp
        return self.read()

    def read(self) -> bool:
        """Read them; True = there is a new value. Never raises."""
        try:
            self.value = self._load()
        except DoorsInvalid as error:
            if str(error) != self._fault:  # a state between two files of a pair lasts for a look or two: it is told once
                self._fault = str(error)
                self._told(self._what, "failed")
                logger.error("the %s cannot be used, the last good one goes on: %s", self._what, error)  # noqa: TRY400 -- faults of a file, no bug
            return False
        self._fault = ""
        self._told(self._what, "ok")
        logger.info("the %s was read anew", self._what)
        return True

    def _stamped(self) -> Stamp:
        return tuple(_stamp(path) for path in self._paths)


def read_file(path: Path) -> bytes:
    """Its bytes. Raises DoorsInvalid when it is not there or too large."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DoorsInvalid([f"{path}: cannot be read ({error.strerror})"]) from None
    if len(data) > limits.DOORS_FILE:
        raise DoorsInvalid([f"{path}: is larger than {limits.DOORS_FILE} bytes"])
    return data


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()  # follows links: a secret that is mounted changes by changing where one leads
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
