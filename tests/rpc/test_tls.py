"""TLS and mTLS with real handshakes, the identity in a certificate, and a change of certificates while the server runs."""

import asyncio
import shutil
import ssl
import stat
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import grpc
import pytest
from cryptography import x509

from perdure.v1 import admin_service_pb2 as admin
from perdure.v1 import admin_service_pb2_grpc
from perdure_server import config as configuration
from perdure_server.__main__ import main as command
from perdure_server.config import Config, ConfigInvalid
from perdure_server.main import Parts, Running, serve
from perdure_server.rpc.doors.authority import Authority, Pair
from perdure_server.rpc.doors.callers import certificate_name
from perdure_server.rpc.doors.certificates import TlsFiles, read_certificates
from perdure_server.rpc.doors.invalid import DoorsInvalid
from perdure_server.store.memory import MemoryStore
from tests.rpc.conftest import GRACE, Refusal, refused

DAY = timedelta(days=1)
ACCESS = """
[[callers]]
name = "billing"
certificates = ["spiffe://example.org/billing"]
roles = { reader = ["*"] }
[[callers]]
name = "old"
certificates = ["CN=old-service"]
roles = { reader = ["*"] }
"""


def tls_config(pair: Pair, client_ca: Path | None = None, access: Path | None = None) -> Config:
    made = Config(port=0, drain_grace_ms=GRACE, tls_cert_file=str(pair.certificate), tls_key_file=str(pair.key))
    return replace(made, tls_client_ca_file=str(client_ca or ""), access_file=str(access or ""))


@asynccontextmanager
async def running(config: Config) -> AsyncIterator[Running]:
    async with serve(config, Parts(store=MemoryStore(lambda: time.time_ns() // 1_000_000))) as found:
        yield found


def credentials_of(ca: Path, pair: Pair | None) -> grpc.ChannelCredentials:
    own = (pair.key.read_bytes(), pair.certificate.read_bytes()) if pair else ()
    return grpc.ssl_channel_credentials(ca.read_bytes(), *own)


async def info(server: Running, ca: Path, pair: Pair | None = None, token: str = "") -> str:
    """The name of the service that answered."""
    async with grpc.aio.secure_channel(f"localhost:{server.port}", credentials_of(ca, pair)) as channel:
        metadata = (("authorization", f"Bearer {token}"),) if token else ()
        answer: Any = await admin_service_pb2_grpc.AdminServiceStub(channel).GetServerInfo(
            admin.GetServerInfoRequest(), timeout=5, metadata=metadata
        )
        return str(answer.server_id)


async def refused_info(server: Running, ca: Path, pair: Pair | None = None, token: str = "") -> Refusal:
    return await refused(info(server, ca, pair, token))


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path, DAY)


async def test_a_server_with_a_certificate_is_reached_by_those_who_trust_its_ca(authority: Authority, tmp_path: Path) -> None:
    (other := tmp_path / "other").mkdir()
    async with running(tls_config(authority.server("localhost"))) as server:
        assert await info(server, authority.ca)
        for ca in (Authority(other, DAY).ca,):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await info(server, ca)
            assert caught.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_a_client_certificate_is_an_identity(authority: Authority, tmp_path: Path) -> None:
    access = tmp_path / "access.toml"
    access.write_text(ACCESS)
    server_pair = authority.server("localhost")
    async with running(tls_config(server_pair, authority.ca, access)) as server:
        assert await info(server, authority.ca, authority.client("any", "spiffe://example.org/billing"))
        assert await info(server, authority.ca, authority.client("old-service"))
        stranger = await refused_info(server, authority.ca, authority.client("stranger"))
        assert (stranger.reason, stranger.facts["caller"]) == ("PERMISSION_DENIED", "certificate:CN=stranger")
        # The name of an old one does not pass where there is a URI: a CA may give names and URIs to different people.
        mixed = await refused_info(server, authority.ca, authority.client("old-service", "spiffe://example.org/other"))
        assert mixed.facts["caller"] == "certificate:spiffe://example.org/other"
        wrong = await refused_info(server, authority.ca, authority.client("old-service"), token="perdure_0123456789ab_" + "x" * 43)
        assert wrong.reason == "UNAUTHENTICATED"


async def test_without_a_certificate_of_the_client_ca_there_is_no_connection(authority: Authority, tmp_path: Path) -> None:
    (elsewhere := tmp_path / "elsewhere").mkdir()
    stranger = Authority(elsewhere, DAY).client("old-service")
    async with running(tls_config(authority.server("localhost"), authority.ca)) as server:
        for pair in (None, stranger):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await info(server, authority.ca, pair)
            assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        assert await info(server, authority.ca, authority.client("anybody"))


def serial(port: int) -> int:
    return x509.load_pem_x509_certificate(ssl.get_server_certificate(("127.0.0.1", port)).encode()).serial_number


async def test_a_new_certificate_counts_from_the_next_connection_on(authority: Authority, tmp_path: Path) -> None:
    pair = authority.server("localhost")
    async with running(tls_config(pair)) as server:
        before = await on_thread(serial, server.port)
        for broken in (pair.certificate, pair.key):  # a change of one of two files is seen half done
            good = broken.read_bytes()
            broken.write_bytes(authority.server("localhost", file="next").key.read_bytes() if broken is pair.key else b"nonsense")
            server.server.entrance.look()
            assert await on_thread(serial, server.port) == before
            broken.write_bytes(good)
        server.server.entrance.look()
        new = authority.server("localhost", file="next")
        shutil.copy(new.certificate, pair.certificate)
        shutil.copy(new.key, pair.key)
        server.server.entrance.look()
        assert await on_thread(serial, server.port) == x509.load_pem_x509_certificate(new.certificate.read_bytes()).serial_number != before


async def on_thread(function: Any, *arguments: Any) -> Any:
    return await asyncio.get_running_loop().run_in_executor(None, function, *arguments)


class TestFiles:
    def test_what_cannot_be_used_is_named(self, authority: Authority, tmp_path: Path) -> None:
        pair, other = authority.server("localhost"), authority.server("localhost", file="other")
        text = tmp_path / "text"
        text.write_text("no PEM")
        (old := tmp_path / "old").mkdir()
        expired = Authority(old, DAY, datetime.now(UTC) - 3 * DAY).server("localhost")
        cases = {
            TlsFiles(tmp_path / "missing", pair.key): "missing: cannot be read",
            TlsFiles(text, pair.key): "holds no certificate",
            TlsFiles(pair.certificate, text): "holds no private key",
            TlsFiles(pair.certificate, other.key): "is not the key of the certificate",
            TlsFiles(pair.certificate, pair.key, text): "holds no certificate",
            TlsFiles(expired.certificate, expired.key): "has expired",
        }
        for files, told in cases.items():
            with pytest.raises(DoorsInvalid, match=told):
                read_certificates(files, lambda: datetime.now(UTC))

    def test_keys_are_for_their_owner_only(self, authority: Authority) -> None:
        for pair in (authority.server("localhost"), authority.client("c"), authority.client("c")):
            assert stat.S_IMODE(pair.key.stat().st_mode) == 0o600


class TestCertificateName:
    @pytest.mark.parametrize(
        ("facts", "name"),
        [
            ({}, ""),
            ({"x509_common_name": [b"forged"]}, ""),
            ({"transport_security_type": [b"insecure"], "x509_common_name": [b"forged"]}, ""),
            ({"transport_security_type": [b"ssl"]}, ""),
            ({"transport_security_type": [b"ssl"], "x509_common_name": [b"a"]}, "CN=a"),
            ({"transport_security_type": [b"ssl"], "x509_common_name": [b"a"], "peer_uri": [b"x://b"]}, "x://b"),
            ({"transport_security_type": [b"ssl"], "x509_common_name": [b"a"], "peer_uri": [b"x://b", b"x://c"]}, ""),
            ({"transport_security_type": [b"ssl"], "x509_common_name": [b""]}, ""),
        ],
    )
    def test_it_is_the_one_uri_else_the_common_name(self, facts: dict[str, list[bytes]], name: str) -> None:
        assert certificate_name(facts) == name


class TestConfiguration:
    def test_another_address_takes_both_tls_and_an_access_file(self) -> None:
        tls = ["--tls-cert-file=c", "--tls-key-file=k"]
        for given in ([], tls, ["--access-file=a"]):
            with pytest.raises(ConfigInvalid) as caught:
                configuration.read(["--address=0.0.0.0", *given], {})
            assert "--insecure" in str(caught.value)
            configuration.read(["--address=0.0.0.0", "--insecure", *given], {})
        configuration.read(["--address=0.0.0.0", *tls, "--access-file=a"], {})

    @pytest.mark.parametrize("flags", [["--tls-cert-file=c"], ["--tls-key-file=k"], ["--tls-client-ca-file=c"]])
    def test_half_of_a_pair_is_a_fault(self, flags: list[str]) -> None:
        with pytest.raises(ConfigInvalid):
            configuration.read(flags, {})


@pytest.mark.parametrize("mutual", [False, True])
async def test_health_is_asked_with_the_servers_own_settings(authority: Authority, mutual: bool) -> None:
    pair = authority.server("perdure.example", "10.0.0.1")
    config = tls_config(pair, authority.ca if mutual else None)
    flags = [f"--tls-cert-file={pair.certificate}", f"--tls-key-file={pair.key}"]
    flags += [f"--tls-client-ca-file={authority.ca}"] if mutual else []
    async with running(config) as server:
        assert await on_thread(command, ["health", f"--port={server.port}", *flags]) == 0
        assert await on_thread(command, ["health", f"--port={server.port}"]) == 1
