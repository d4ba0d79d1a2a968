"""The issuer of JWTs that an access file names: its keys, kept fresh, and the callers that they prove."""

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from perdure_server.rpc.doors.access_file import AccessTable
from perdure_server.rpc.doors.identity import Identity
from perdure_server.rpc.doors.jwks import FetchedKeys, Keys, parse_jwks
from perdure_server.rpc.doors.jwt_callers import JwtCallers, KeyUnknown
from perdure_server.rpc.doors.reloading import Reloaded, Told, read_file


class Around(Struct, frozen=True):
    """What an issuer needs: `now` in ms of Unix time, and whom to tell of reloads."""

    now: Callable[[], int]
    told: Told


class Issuer:
    """Made anew with each access table; keys behind the same URL are taken over."""

    def __init__(self, table: AccessTable, directory: Path, around: Around, before: "Issuer | None") -> None:
        """`directory` is that of the access file. Raises DoorsInvalid when a file of keys cannot be used; a URL is fetched later."""
        entry = table.jwt
        assert entry is not None, "the access file names an issuer"
        self.on_change: Callable[[], None] = lambda: None
        self.fetched: FetchedKeys | None = None
        self._filed: Reloaded[Keys] | None = None
        if "://" in entry.jwks:
            kept = before.fetched if before is not None else None
            same = kept is not None and (kept.url, kept.algorithms) == (entry.jwks, entry.algorithms)
            self.fetched = kept if same else FetchedKeys(entry.jwks, entry.algorithms, around.now, around.told)
        else:
            path = directory / entry.jwks
            self._filed = Reloaded("JWKS", (path,), lambda: parse_jwks(read_file(path), entry.algorithms, str(path)), around.told)
        self._callers = JwtCallers(table, entry, self._keys, around.now)

    @property
    def has_keys(self) -> bool:
        """Whether there are any."""
        return bool(self._keys())

    def identify(self, token: str) -> Identity | None:
        """Who it is; None: by none of the keys that are known. Raises CallRefused UNAUTHENTICATED."""
        try:
            return self._callers.identify(token)
        except KeyUnknown:
            return None

    async def fetch_keys(self) -> None:
        """Look for new keys, if that was not done a moment ago. Never raises."""
        if self.fetched is not None and await self.fetched.fetch():
            self._changed()

    @property
    def due(self) -> bool:
        """Whether the keys behind a URL are to be fetched."""
        return self.fetched is not None and self.fetched.due

    def look(self, *, again: bool = False) -> None:
        """Read the file of keys, if it has changed, or `again`."""
        if self._filed is not None and (self._filed.read() if again else self._filed.look()):
            self._changed()

    def _changed(self) -> None:
        self._callers.forget()
        self.on_change()

    def _keys(self) -> Keys:
        if self._filed is not None:
            return self._filed.value
        assert self.fetched is not None, "keys are in a file or behind a URL"
        return self.fetched.keys
