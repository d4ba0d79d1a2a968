"""Perdure's own processes, as an operator starts them."""

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.processes import ServerProcess

LEASE_MS = 3_000  # the shortest that the server allows: a lost worker is noticed about 5 s after its last renewal
GRACE_MS = 3_000
STAMPED = re.compile(r"\d{4}-\d\d-\d\dT")


class PerdureProcess(ServerProcess):
    """`python -m perdure_server serve` on a free port, which it keeps over restarts."""

    program: tuple[str, ...] = ("-m", "perdure_server")

    def __init__(self, directory: Path, mongo_url: str, redis_url: str, database: str, flags: Mapping[str, object] | None = None) -> None:
        self.database = database
        settings = {
            "mongo-url": mongo_url,
            "redis-url": redis_url,
            "database": database,
            "redis-prefix": database,
            "session-lease-ms": LEASE_MS,
            "drain-grace-ms": GRACE_MS,
            **(flags or {}),
        }
        given = [f"--{name}={value}" for name, value in settings.items()]

        def arguments(port: int) -> list[str]:
            return [sys.executable, *self.program, "serve", f"--port={port}", *given]

        super().__init__(arguments, r"perdure serves on [^ ]+:(?P<port>\d+)", directory)

    @property
    def address(self) -> str:
        """host:port of the service."""
        return f"127.0.0.1:{self.port}"

    @property
    def exit_code(self) -> int | None:
        """Exit code; None while it runs. -N = killed by signal N."""
        return self._process.poll() if self._process is not None else None

    @property
    def complaints(self) -> list[str]:
        """What its log tells of bugs: errors, and tracebacks to their end. An outage of the store is a warning, with or without one."""
        found: list[str] = []
        stamp = ""
        is_telling = False
        for line in list(self.log):
            if STAMPED.match(line):
                stamp = line
                is_telling = " ERROR " in line
            elif "Traceback" in line and " WARNING " not in stamp:
                is_telling = True
            if is_telling:
                found.append(line)
        return found


class DevProcess(ServerProcess):
    """`perdure dev` with its data in `directory`, as a person types it; as a test server it keeps none. `flags` are added."""

    def __init__(self, directory: Path, *, is_test: bool = False, flags: Sequence[str] = ()) -> None:
        def arguments(port: int) -> list[str]:
            program = str(Path(sys.executable).parent / "perdure")
            place = ["--test"] if is_test else ["--data-dir", str(directory / "data")]
            return [program, "dev", *place, "--port", str(port), "--lease", "3", *flags]

        # The last line of its greeting, so that all of it is in the log.
        super().__init__(arguments, "Ctrl-C stops", directory)

    @property
    def address(self) -> str:
        """host:port of the service, as its last start told."""
        return self._told(r"Perdure serves on (\S+)")[-1]

    @property
    def children(self) -> list[int]:
        """Process ids of its store and its Redis, as its last start told."""
        return [int(pid) for pid in self._told(r"pid (\d+)")[-2:]]

    def _told(self, pattern: str) -> list[str]:
        return re.findall(pattern, "\n".join(self.log))
