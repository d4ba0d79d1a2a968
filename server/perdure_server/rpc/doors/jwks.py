"""The keys by which an issuer signs, from a file or a URL. Only keys of the allowed algorithms are taken, and each is bound to its own."""

import asyncio
import json
import logging
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPException
from typing import Any, Final

from jwt import PyJWK, PyJWTError

from perdure_server.kernel.limits import SECOND
from perdure_server.rpc import limits
from perdure_server.rpc.doors.invalid import DoorsInvalid

logger = logging.getLogger(__name__)

Keys = Mapping[str, PyJWK]
_UNNAMED: Final = ""


def parse_jwks(data: bytes, algorithms: Sequence[str], where: str) -> Keys:
    """The keys that may be used, by `kid`. Raises DoorsInvalid when there is none."""
    try:
        entries = json.loads(data)["keys"]
        found = [key for entry in entries[: limits.JWKS_KEYS] if (key := _key(entry, algorithms)) is not None]
    except (ValueError, TypeError, KeyError, AttributeError):
        raise DoorsInvalid([f"{where}: is no JSON Web Key Set"]) from None
    if not found:
        raise DoorsInvalid([f"{where}: has no key for {', '.join(algorithms)}"])
    keys: dict[str, PyJWK] = {}
    for key in found:
        keys.setdefault(key.key_id or _UNNAMED, key)
    return keys


def _key(entry: Mapping[str, Any], algorithms: Sequence[str]) -> PyJWK | None:
    if entry.get("kty") == "oct" or entry.get("use", "sig") != "sig":
        return None
    try:
        key = PyJWK(dict(entry))
    except PyJWTError:
        return None  # of a kind that this server does not know; the others may do
    too_short = key.Algorithm.check_key_length(key.key)
    return key if key.algorithm_name in algorithms and not too_short else None


class FetchedKeys:
    """Keys behind a URL: fetched anew now and then, and, not more often than every 30 s, when a token names a key that is not known."""

    def __init__(self, url: str, algorithms: tuple[str, ...], now: Callable[[], int], told: Callable[[str, str], None]) -> None:
        self.url = url
        self.keys: Keys = {}
        self.algorithms = algorithms
        self._now = now
        self._told = told
        self._fetching = asyncio.Lock()
        self._tried: int | None = None
        self._fault = ""
        self._data = b""

    @property
    def due(self) -> bool:
        """Whether it is time to fetch them."""
        if self._tried is None:
            return True
        age = self._now() - self._tried
        return age >= (limits.JWKS_REFRESH if self.keys and not self._fault else limits.JWKS_REFETCH)

    async def fetch(self) -> bool:
        """Fetch them, unless that was tried a moment ago; True = there are new ones. Never raises; what was known stays known."""
        async with self._fetching:
            if self._tried is not None and self._now() - self._tried < limits.JWKS_REFETCH:
                return False
            self._tried = self._now()
            try:
                data = await asyncio.get_running_loop().run_in_executor(None, _download, self.url)
                keys = parse_jwks(data, self.algorithms, self.url)
            except (DoorsInvalid, urllib.error.URLError, HTTPException, OSError) as error:
                self._told("JWKS", "failed")
                self._fault = str(error)
                logger.error("the keys of JWTs cannot be fetched, those known go on: %s", error)  # noqa: TRY400 -- the issuer's trouble, no bug
                return False
            self._fault = ""
            self._told("JWKS", "ok")
            self.keys, before = keys, self._data
            self._data = data
            return before != data


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect could lead from https to anywhere."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """None."""
        return


def _download(url: str) -> bytes:
    opener = urllib.request.build_opener(_NoRedirect(), urllib.request.HTTPSHandler(context=ssl.create_default_context()))
    request = urllib.request.Request(url, headers={"Accept": "application/json"})  # noqa: S310 -- the access file allows https and loopback only
    with opener.open(request, timeout=limits.JWKS_TIMEOUT / SECOND) as answer:
        data: bytes = answer.read(limits.JWKS_BYTES + 1)
    if len(data) > limits.JWKS_BYTES:
        raise DoorsInvalid([f"{url}: is larger than {limits.JWKS_BYTES} bytes"])
    return data
