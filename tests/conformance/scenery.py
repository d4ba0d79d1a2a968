"""What cases run against: real servers, by kind, shared by all cases of a session; and keys, certificates and tokens."""

import base64
import json
import secrets
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from pymongo import MongoClient

from perdure.aes_gcm import KeyRing
from perdure_server.rpc.doors.authority import Authority, Pair
from tests.conformance import small_server
from tests.e2e.servers import DevProcess, PerdureProcess
from tests.processes import ServerProcess, StoreProcess, free_port
from tests.rpc.doors import Access

LEASE_MS: Final = 30_000
SHORT_LEASE_MS: Final = 3_000
GRACE_MS: Final = 2_000
YOUNG_MS: Final = 1_000
FAULTLESS: Final = frozenset({"plain", "short", "young"})
"""Servers on which no case brings about what a log calls an error."""
ROLES: Final = ("client", "worker", "definition-writer", "operator", "admin", "reader")
ISSUER: Final = "https://login.example.org/"
EVERYTHING: Final = dict.fromkeys(ROLES, "*")


@dataclass
class Place:
    """One server as a case sees it."""

    address: str
    process: ServerProcess
    open_with: dict[str, Any] = field(default_factory=dict)
    """What `open` is given unless the case says otherwise."""
    store: StoreProcess | None = None
    """Its own store, which the case may kill."""
    database: str = ""
    """Where in the store its documents are."""

    def damage(self, collection: str, fields: dict[str, Any]) -> None:
        """Puts fields into every document of a collection of its own store."""
        assert self.store is not None, "only a case's own store can be damaged"
        with MongoClient[dict[str, Any]](self.store.url) as store:
            store[self.database][collection].update_many({}, {"$set": fields})


class Scenery:
    """Starts servers when a case first needs their kind; ends them all at the end."""

    def __init__(self, store_url: str, redis_url: str, directory: Path) -> None:
        self._urls = (store_url, redis_url)
        self._directory = directory
        self._shared: dict[str, Place] = {}
        self._running = ExitStack()
        self._doors: Doors | None = None

    @property
    def doors(self) -> "Doors":
        """Certificates, tokens and codec keys."""
        if self._doors is None:
            self._doors = Doors(self._directory)
        return self._doors

    def place(self, kind: str, case: ExitStack) -> Place:
        """A server of this kind; `alone` and `own_store` are new ones that end with the case."""
        if kind in {"alone", "own_store"}:
            return self._own(case, with_store=kind == "own_store")
        if kind not in self._shared:
            self._shared[kind] = _KINDS[kind](self)
        return self._shared[kind]

    def close(self) -> list[str]:
        """Ends all; what their logs tell of bugs."""
        complaints = [
            f"{kind}: {line}"
            for kind, place in self._shared.items()
            if kind in FAULTLESS and isinstance(place.process, PerdureProcess)
            for line in place.process.complaints
        ]
        self._running.close()
        return complaints

    def served(self, name: str, flags: Mapping[str, object], **open_with: Any) -> Place:
        """A server on the session's store and Redis."""
        return self._place(self._running, self._process(name, self._urls, flags), open_with)

    def small(self) -> Place:
        """A server with tiny limits."""
        process = self._process("small", self._urls, {})
        process.program = (small_server.__file__,)
        return self._place(self._running, process, {})

    def tested(self) -> Place:
        """A server whose clock can be moved."""
        process = DevProcess(self._directory / "test", is_test=True, flags=["--lease", "30"])
        self._running.callback(process.stop)
        process.start()
        return Place(process.address, process)

    def _own(self, case: ExitStack, *, with_store: bool) -> Place:
        directory = self._directory / f"own-{secrets.token_hex(4)}"
        if not with_store:
            return self._place(case, self._process(directory.name, self._urls, {}), {})
        store = StoreProcess(directory / "store")
        case.callback(store.kill)
        store.start()
        process = self._process(directory.name, (store.url, ""), {})
        place = self._place(case, process, {})
        place.store = store
        place.database = process.database
        return place

    def _place(self, stack: ExitStack, process: PerdureProcess, open_with: dict[str, Any]) -> Place:
        stack.callback(process.kill)
        process.start()
        return Place(process.address, process, open_with)

    def _process(self, name: str, urls: tuple[str, str], flags: Mapping[str, object]) -> PerdureProcess:
        settings = {"session-lease-ms": LEASE_MS, "drain-grace-ms": GRACE_MS, **flags}
        return PerdureProcess(self._directory / name, *urls, f"conformance_{secrets.token_hex(6)}", settings)


class Doors:
    """A CA with certificates, an access file with tokens, key files of the codec; as variables of cases."""

    def __init__(self, directory: Path) -> None:
        for name in ("ca", "other-ca"):
            (directory / name).mkdir()
        day = timedelta(days=1)
        self.authority = Authority(directory / "ca", day)
        self.pair: Pair = self.authority.server("localhost", "127.0.0.1")
        self.access = Access(directory / "access.toml", {})
        everybody = {role: {role: "*"} for role in ROLES} | {"all": EVERYTHING, "elsewhere": {"client": "elsewhere"}}
        issuer = f'[jwt]\nissuer = "{ISSUER}"\naudience = "perdure"\njwks = "http://127.0.0.1:{free_port()}/keys"\n'
        certificate = '[[callers]]\nname = "certified"\ncertificates = ["CN=certified"]\nroles = {{ {} }}\n'
        self.access.write(everybody, issuer + certificate.format(", ".join(f'{role} = ["*"]' for role in ROLES)))
        certified, stranger = (self.authority.client(name, file=name) for name in ("certified", "stranger"))
        other = Authority(directory / "other-ca", day)
        self.variables: dict[str, Any] = {
            "tls": {
                "ca": str(self.authority.ca),
                "other_ca": str(other.ca),
                "certificate": str(certified.certificate),
                "key": str(certified.key),
                "stranger_certificate": str(stranger.certificate),
                "stranger_key": str(stranger.key),
            },
            "tokens": {name.replace("-", "_"): token for name, token in self.access.tokens.items()} | {"jwt": _jwt()},
            "token_file": str(_written(directory / "token", self.access.tokens["all"] + "\n")),
            "keys": {name: str(path) for name, path in _key_files(directory).items()},
        }


def _auth(scenery: Scenery) -> Place:
    doors = scenery.doors
    return scenery.served("auth", {"access-file": doors.access.path}, token=doors.access.tokens["all"])


def _tls(scenery: Scenery) -> Place:
    doors = scenery.doors
    flags = {"access-file": doors.access.path, "tls-cert-file": doors.pair.certificate, "tls-key-file": doors.pair.key}
    return scenery.served("tls", flags, tls={"ca_file": doors.variables["tls"]["ca"]}, token=doors.access.tokens["all"])


def _mtls(scenery: Scenery) -> Place:
    doors = scenery.doors
    files = doors.variables["tls"]
    flags = {
        "access-file": doors.access.path,
        "tls-cert-file": doors.pair.certificate,
        "tls-key-file": doors.pair.key,
        "tls-client-ca-file": doors.authority.ca,
    }
    shown = {"ca_file": files["ca"], "cert_file": files["certificate"], "key_file": files["key"]}
    return scenery.served("mtls", flags, tls=shown)


_KINDS: Final[Mapping[str, Callable[[Scenery], Place]]] = {
    "plain": lambda scenery: scenery.served("plain", {}),
    "short": lambda scenery: scenery.served("short", {"session-lease-ms": SHORT_LEASE_MS}),
    "small": Scenery.small,
    "young": lambda scenery: scenery.served("young", {"stream-age-ms": YOUNG_MS}),
    "test": Scenery.tested,
    "auth": _auth,
    "tls": _tls,
    "mtls": _mtls,
}


def _jwt() -> str:
    """A token of an issuer whose keys the server cannot fetch."""
    claims = {"iss": ISSUER, "aud": "perdure", "sub": "svc", "exp": 4_000_000_000}
    parts = [json.dumps(part).encode() for part in ({"alg": "ES256", "typ": "JWT", "kid": "unknown"}, claims)]
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in [*parts, b"signature"])


def _written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def _key_files(directory: Path) -> dict[str, Path]:
    """`one`; the same with a newer key; one with other keys only; and one whose key has the same id, and is another."""
    one = KeyRing.new("k1")
    rings = {"one": one, "rotated": one.with_new_key("k2").with_active("k2"), "other": KeyRing.new("k9"), "wrong": KeyRing.new("k1")}
    return {name: _written(directory / f"{name}.keys", ring.to_json()) for name, ring in rings.items()}
