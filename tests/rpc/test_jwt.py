"""JWTs: what is believed, what is not, and how keys change."""

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from perdure.v1 import admin_service_pb2 as admin
from perdure_server.rpc.doors.access_file import read_access_file
from perdure_server.rpc.doors.identity import Credential
from perdure_server.rpc.doors.invalid import DoorsInvalid
from perdure_server.rpc.doors.jwks import parse_jwks
from tests.rpc.conftest import Served, refused
from tests.rpc.doors import Access, guarded

ISSUER, AUDIENCE = "https://issuer.example", "perdure"
RSA = rsa.generate_private_key(65537, 2048)
CURVE = ec.generate_private_key(ec.SECP256R1())
EDWARDS = ed25519.Ed25519PrivateKey.generate()
KEYS: dict[str, Any] = {"RS256": RSA, "ES256": CURVE, "EdDSA": EDWARDS}
KINDS: dict[str, Any] = {"RS256": RSAAlgorithm, "ES256": ECAlgorithm, "EdDSA": OKPAlgorithm}


def jwk(algorithm: str, kid: str, key: Any = None, **more: str) -> dict[str, Any]:
    public = (key or KEYS[algorithm]).public_key()
    return {**json.loads(KINDS[algorithm].to_jwk(public)), "kid": kid, "use": "sig", **more}


def jwks(*entries: dict[str, Any]) -> str:
    return json.dumps({"keys": entries})


EVERY = jwks(*(jwk(algorithm, f"k-{algorithm}") for algorithm in KEYS))


def token(algorithm: str = "ES256", key: Any = None, kid: str | None = None, **claims: Any) -> str:
    now = int(time.time())
    body = {"iss": ISSUER, "aud": AUDIENCE, "sub": "svc", "exp": now + 600, **claims}
    body = {name: value for name, value in body.items() if value is not None}
    return jwt.encode(body, key or KEYS[algorithm], algorithm=algorithm, headers={"kid": kid or f"k-{algorithm}"})


def access(directory: Path, source: str = "keys.json", keys: str = EVERY) -> Access:
    (directory / "keys.json").write_text(keys)
    made = Access(directory / "access.toml", {})
    section = f'[jwt]\nissuer = "{ISSUER}"\naudience = "{AUDIENCE}"\njwks = "{source}"\n'
    caller = '\n[[callers]]\nname = "service"\nsubjects = ["svc"]\nroles = { reader = ["default"] }\n'
    group = '\n[[groups]]\nname = "operators"\nroles = { operator = ["*"] }\n'
    made.write({}, section + caller + group)
    return made


def bearer(text: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {text}"),)


async def listed(served: Served, text: str, namespace: str = "") -> None:
    await served.admin.ListQueues(admin.ListQueuesRequest(namespace=namespace), metadata=bearer(text))


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with guarded(access(tmp_path)) as found:
        yield found


@pytest.mark.parametrize("algorithm", KEYS)
async def test_what_the_issuer_signed_is_believed(served: Served, algorithm: str) -> None:
    for _ in range(2):  # the second is remembered
        await listed(served, token(algorithm))
    denied = await refused(listed(served, token(algorithm), "other"))
    assert (denied.reason, denied.facts["caller"]) == ("PERMISSION_DENIED", "service")


async def test_groups_give_roles_and_a_stranger_has_a_name(served: Served) -> None:
    await listed(served, token(sub="ann", groups=["x", "operators", 7]), "other")
    await listed(served, token(sub="ann", groups="operators"), "other")
    denied = await refused(listed(served, token(sub="ann")))
    assert (denied.reason, denied.facts["caller"]) == ("PERMISSION_DENIED", "jwt:ann")


def forged() -> dict[str, str]:
    now = int(time.time())
    pem = CURVE.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    good = token()
    head, body, signature = good.split(".")
    _, other, _ = token(sub="root").split(".")
    hmac_token = jwt.api_jws.PyJWS().encode(json.dumps({"sub": "svc"}).encode(), b"x" * 32, "HS256", headers={"kid": "k-ES256"})
    return {
        "none": jwt.encode({"iss": ISSUER, "aud": AUDIENCE, "sub": "svc", "exp": now + 60}, "", "none", {"kid": "k-ES256"}),
        "hmac": hmac_token,
        "hmac by the public key": _hmac_by_public_key(pem),
        "algorithm of another key": token("RS256", kid="k-ES256"),
        "key of somebody else": token(key=ec.generate_private_key(ec.SECP256R1())),
        "issuer": token(iss="https://other.example"),
        "no issuer": token(iss=None),
        "audience": token(aud="other"),
        "no audience": token(aud=None),
        "expired": token(exp=now - 60),
        "no expiry": token(exp=None),
        "not yet": token(nbf=now + 600),
        "no subject": token(sub=None),
        "unknown key": token(kid="other"),
        "changed body": f"{head}.{other}.{signature}",
        "cut": f"{head}.{body}.",
        "two parts": f"{head}.{body}",
    }


def _hmac_by_public_key(pem: bytes) -> str:
    def packed(data: bytes) -> str:
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": "svc", "exp": int(time.time()) + 60}
    signed = f"{packed(json.dumps({'alg': 'HS256', 'kid': 'k-ES256'}).encode())}.{packed(json.dumps(claims).encode())}"
    return f"{signed}.{packed(hmac.new(pem, signed.encode(), hashlib.sha256).digest())}"


async def test_what_is_forged_old_or_for_others_is_not_believed(served: Served) -> None:
    for kind, text in forged().items():
        refusal = await refused(listed(served, text))
        assert refusal.reason == "UNAUTHENTICATED", kind
        assert not any(part in refusal.message for part in text.split(".") if part), kind


async def test_a_token_that_is_remembered_still_expires(tmp_path: Path) -> None:
    async with guarded(access(tmp_path)) as served:
        text = token(exp=int(time.time()) - 29)  # within the leeway of 30 s
        await listed(served, text)
        doors = served.running.server.entrance.doors
        assert doors is not None
        identity = doors._identify(Credential(text))
        assert identity is not None
        assert identity.expires is not None
        left = identity.expires - served.running.engine.clock.unshifted()
        assert 0 < left <= 1_000


async def test_a_key_that_its_issuer_took_back_is_believed_no_more(tmp_path: Path) -> None:
    made = access(tmp_path)
    async with guarded(made) as served:
        await listed(served, token("ES256"))
        (tmp_path / "keys.json").write_text(jwks(jwk("RS256", "k-RS256")))
        served.running.server.entrance.look()
        assert (await refused(listed(served, token("ES256")))).reason == "UNAUTHENTICATED"
        await listed(served, token("RS256"))
        (tmp_path / "keys.json").write_text("broken")
        served.running.server.entrance.look()
        await listed(served, token("RS256"))


@dataclass
class Published:
    """Keys behind a URL."""

    url: str = ""
    text: str = EVERY
    status: int = 200
    asked: list[str] = field(default_factory=list)


@contextmanager
def published() -> Iterator[Published]:
    found = Published()

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.asked.append(self.path)
            self.send_response(found.status)
            if found.status == 302:
                self.send_header("Location", "/elsewhere")
            self.end_headers()
            self.wfile.write(found.text.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    found.url = f"http://127.0.0.1:{server.server_port}/keys"
    try:
        yield found
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@asynccontextmanager
async def fetching(tmp_path: Path) -> AsyncIterator[tuple[Served, Published]]:
    with published() as source:
        async with guarded(access(tmp_path, source.url)) as served:
            yield served, source


async def test_keys_behind_a_url_are_fetched_once_and_not_for_every_stranger(tmp_path: Path) -> None:
    async with fetching(tmp_path) as (served, source):
        await listed(served, token())
        assert len(source.asked) == 1
        for number in range(5):
            assert (await refused(listed(served, token(kid=f"other-{number}")))).reason == "UNAUTHENTICATED"
        await listed(served, token())
        assert len(source.asked) == 1


async def test_a_new_key_is_fetched_when_a_token_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with fetching(tmp_path) as (served, source):
        await listed(served, token())
        monkeypatch.setattr("perdure_server.rpc.limits.JWKS_REFETCH", 0)  # as if 30 s had passed
        new = ec.generate_private_key(ec.SECP256R1())
        source.text = jwks(jwk("ES256", "new", new))
        await listed(served, token(key=new, kid="new"))
        assert (await refused(listed(served, token()))).reason == "UNAUTHENTICATED"  # the old one is gone with it
        source.status = 500
        await listed(served, token(key=new, kid="new"))  # what was known goes on
        assert (await refused(listed(served, token(kid="other")))).reason == "UNAUTHENTICATED"


@pytest.mark.parametrize(("status", "text"), [(500, EVERY), (302, EVERY), (200, "broken"), (200, jwks()), (200, " " * 300_000)])
async def test_without_any_keys_the_caller_is_asked_to_come_again(tmp_path: Path, status: int, text: str) -> None:
    with published() as source:
        source.status, source.text = status, text
        async with guarded(access(tmp_path, source.url)) as served:
            assert (await refused(listed(served, token()))).reason == "NOT_READY"
        assert source.asked == ["/keys"]


class TestKeys:
    def test_only_keys_of_allowed_algorithms_are_taken(self) -> None:
        weak = rsa.generate_private_key(65537, 1024)
        entries = [
            {"kty": "oct", "kid": "o", "k": "c2VjcmV0"},
            jwk("RS256", "e") | {"use": "enc"},
            jwk("RS256", "weak", weak),
            jwk("RS256", "r512", alg="RS512"),
            {"kty": "new"},
            jwk("ES256", "good"),
        ]
        assert list(parse_jwks(jwks(*entries).encode(), ("RS256", "ES256"), "x")) == ["good"]
        with pytest.raises(DoorsInvalid, match="has no key"):
            parse_jwks(jwks(*entries[:-1]).encode(), ("RS256", "ES256"), "x")

    @pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"keys": 1}', b'{"keys": [1]}', b"\xff"])
    def test_what_is_no_set_of_keys_is_refused(self, data: bytes) -> None:
        with pytest.raises(DoorsInvalid):
            parse_jwks(data, ("ES256",), "x")

    @pytest.mark.parametrize("source", ["http://issuer.example/keys", "ftp://x/y"])
    def test_keys_travel_by_https_only(self, tmp_path: Path, source: str) -> None:
        with pytest.raises(DoorsInvalid, match="https"):
            read_access_file(access(tmp_path, source).path)
