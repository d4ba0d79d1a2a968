"""Everything at the door of one server: built from its settings, and read anew while it runs."""

from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from perdure_server.kernel.limits import SECOND
from perdure_server.ports.clock import Clock
from perdure_server.ports.instruments import DOORS_REFUSED, DOORS_RELOADS
from perdure_server.ports.telemetry import Telemetry
from perdure_server.rpc import limits
from perdure_server.rpc.doors.access_file import AccessTable, read_access_file
from perdure_server.rpc.doors.certificates import Certificates, TlsFiles, read_certificates, server_credentials
from perdure_server.rpc.doors.doors import Doors
from perdure_server.rpc.doors.reloading import Reloaded

if TYPE_CHECKING:
    import grpc

    from perdure_server.rpc.doors.issuer import Issuer

Run = Callable[[Coroutine[Any, Any, None], str], None]


class DoorSettings(Struct, frozen=True):
    """What guards the server. Neither: whoever reaches the address may do everything."""

    tls: TlsFiles | None = None
    access_file: Path | None = None
    reflection: bool = True  # served to anybody: it shows the published API and nothing else


class Entrance:
    """The certificates and the doors of one server."""

    def __init__(self, settings: DoorSettings, clock: Clock, telemetry: Telemetry, run: Run) -> None:
        """Reads all files; `run(work, name)` runs something aside. Raises DoorsInvalid."""
        self._run = run
        self._clock = clock
        self._telemetry = telemetry
        self._certificates: Reloaded[Certificates] | None = None
        self._access: Reloaded[tuple[AccessTable, Issuer | None]] | None = None
        self._issuer: Issuer | None = None
        self.credentials: grpc.ServerCredentials | None = None
        self.doors: Doors | None = None
        if (tls := settings.tls) is not None:
            certificates = Reloaded("TLS files", tls.paths, lambda: read_certificates(tls, self._today), self._told)
            self._certificates = certificates
            self.credentials = server_credentials(lambda: certificates.value, tls.client_ca is not None)
        if (path := settings.access_file) is not None:
            self._access = Reloaded("access file", (path,), lambda: self._read(path), self._told)
            table, self._issuer = self._access.value
            self.doors = Doors(table, self._issuer, clock.unshifted, lambda reason: telemetry.count(DOORS_REFUSED, (reason,)))
            self._follow()

    async def step(self) -> None:
        """Look for changed files, after a while."""
        await self._clock.sleep(self._clock.together(limits.DOORS_INTERVAL))
        self.look()
        if self._issuer is not None and self._issuer.due:
            self._run(self._issuer.fetch_keys(), "jwks")

    def look(self) -> None:
        """Read what has changed."""
        if self._certificates is not None:
            self._certificates.look()
        if self._access is not None and self._access.look():
            self._changed()
        elif self._issuer is not None:
            self._issuer.look()

    def read_again(self) -> None:
        """Read everything, changed or not: an operator has asked for it."""
        if self._certificates is not None:
            self._certificates.read()
        if self._access is not None and self._access.read():
            self._changed()
        elif self._issuer is not None:
            self._issuer.look(again=True)

    def _read(self, path: Path) -> tuple[AccessTable, "Issuer | None"]:
        table = read_access_file(path)
        if table.jwt is None:
            return table, None
        from perdure_server.rpc.doors.issuer import Around, Issuer  # noqa: PLC0415 -- its libraries take time, and few servers need them

        return table, Issuer(table, path.parent, Around(self._clock.unshifted, self._told), self._issuer)

    def _changed(self) -> None:
        assert self.doors is not None, "the doors are made with the access file"
        assert self._access is not None, "it was read"
        table, self._issuer = self._access.value
        self.doors.replace(table, self._issuer)
        self._follow()

    def _follow(self) -> None:
        if self._issuer is not None and self.doors is not None:
            self._issuer.on_change = self.doors.ask_again

    def _told(self, what: str, outcome: str) -> None:
        self._telemetry.count(DOORS_RELOADS, (what, outcome))

    def _today(self) -> datetime:
        return datetime.fromtimestamp(self._clock.unshifted() / SECOND, UTC)
