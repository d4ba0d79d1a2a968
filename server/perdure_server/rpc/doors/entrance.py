"""Everything at the door of one server: built from its settings, and read anew while it runs."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from perdure_server.kernel.limits import SECOND
from perdure_server.ports.clock import Clock
from perdure_server.ports.telemetry import Telemetry
from perdure_server.rpc import limits
from perdure_server.rpc.doors.access_file import AccessTable, read_access_file
from perdure_server.rpc.doors.certificates import Certificates, TlsFiles, read_certificates, server_credentials
from perdure_server.rpc.doors.doors import Doors
from perdure_server.rpc.doors.reloading import Reloaded

if TYPE_CHECKING:
    import grpc


class DoorSettings(Struct, frozen=True):
    """What guards the server. Neither: whoever reaches the address may do everything."""

    tls: TlsFiles | None = None
    access_file: Path | None = None
    reflection: bool = True  # served to anybody: it shows the published API and nothing else


class Entrance:
    """The certificates and the doors of one server."""

    def __init__(self, settings: DoorSettings, clock: Clock, telemetry: Telemetry) -> None:
        """Reads all files. Raises DoorsInvalid."""
        self._clock = clock
        self._telemetry = telemetry
        self._certificates: Reloaded[Certificates] | None = None
        self._access: Reloaded[AccessTable] | None = None
        self.credentials: grpc.ServerCredentials | None = None
        self.doors: Doors | None = None
        if (tls := settings.tls) is not None:
            certificates = Reloaded("TLS files", tls.paths, lambda: read_certificates(tls, self._today), self._told)
            self._certificates = certificates
            self.credentials = server_credentials(lambda: certificates.value, tls.client_ca is not None)
        if (path := settings.access_file) is not None:
            self._access = Reloaded("access file", (path,), lambda: read_access_file(path), self._told)
            self.doors = Doors(self._access.value, clock.unshifted, lambda reason: telemetry.count("doors.refused", reason=reason))

    async def step(self) -> None:
        """Look for changed files, after a while."""
        await self._clock.sleep(limits.DOORS_INTERVAL)
        self.look()

    def look(self) -> None:
        """Read what has changed."""
        if self._certificates is not None:
            self._certificates.look()
        if self._access is not None and self._access.look():
            self._changed(self._access.value)

    def read_again(self) -> None:
        """Read everything, changed or not: an operator has asked for it."""
        if self._certificates is not None:
            self._certificates.read()
        if self._access is not None and self._access.read():
            self._changed(self._access.value)

    def _changed(self, table: AccessTable) -> None:
        assert self.doors is not None, "the doors are made with the access file"
        self.doors.replace(table)

    def _told(self, what: str, outcome: str) -> None:
        self._telemetry.count("doors.reloads", what=what, outcome=outcome)

    def _today(self) -> datetime:
        return datetime.fromtimestamp(self._clock.unshifted() / SECOND, UTC)
