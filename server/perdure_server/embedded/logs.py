"""A child's log: a file that the child itself writes, of bounded size, so that its last words outlive us."""

import os
import shutil
from pathlib import Path

from perdure_server.embedded.limits import LOG_BYTES, LOG_TAIL_LINES


class BoundedLog:
    """`path` and one older part, `path` + ".1"; about twice LOG_BYTES in all."""

    def __init__(self, path: Path, largest: int = LOG_BYTES) -> None:
        self.path = path
        self._largest = largest

    def open(self) -> int:
        """A descriptor for the child's stdout and stderr; the caller closes it. Appending, so that `trim` may cut while it writes."""
        return os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def trim(self) -> None:
        """Moves what is there to the older part once it is too long. Lines written during the copy may be lost."""
        if self.path.exists() and self.path.stat().st_size > self._largest:
            shutil.copyfile(self.path, self.path.with_name(self.path.name + ".1"))
            os.truncate(self.path, 0)

    def tail(self, count: int = LOG_TAIL_LINES) -> str:
        """The last lines."""
        lines = self.path.read_text(errors="replace").splitlines() if self.path.exists() else []
        return "\n".join(lines[-count:])
