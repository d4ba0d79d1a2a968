"""TLS, tokens and profiles of the client, the worker and the command line, on real servers; and what is said of the usual mistakes."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import grpc
import pytest

from perdure import AccessDenied, Client, Context, Definition, InvalidRequest, Tls, Unavailable
from perdure.config import Security, connection_config
from perdure.security import TokenFile, handshake_fault
from perdure.sync import Client as SyncClient
from perdure_server.config import Config
from perdure_server.main import Parts, Running, serve
from perdure_server.rpc.doors.authority import Authority, Pair
from perdure_server.store.memory import MemoryStore
from tests.rpc.conftest import GRACE
from tests.rpc.doors import Access, access_file

DAY = timedelta(days=1)
greeting = Definition("greeting")


@greeting.step()
async def hello(_ctx: Context[None]) -> str:
    return "hello"


@asynccontextmanager
async def running(config: Config) -> AsyncIterator[Running]:
    async with serve(replace(config, port=0, drain_grace_ms=GRACE), Parts(store=MemoryStore(lambda: time.time_ns() // 1_000_000))) as found:
        yield found


def tls(pair: Pair, **more: Any) -> Config:
    more = {name: str(path) for name, path in more.items()}
    return Config(tls_cert_file=str(pair.certificate), tls_key_file=str(pair.key), **more)


def client(server: Running, **more: Any) -> Client:
    return Client(f"127.0.0.1:{server.port}", connect_timeout=timedelta(seconds=2), **more)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path, DAY)


@pytest.fixture
def pair(authority: Authority) -> Pair:
    return authority.server("localhost", "127.0.0.1")


async def test_a_client_and_its_worker_speak_tls_with_a_token_from_a_file(authority: Authority, pair: Pair, tmp_path: Path) -> None:
    access = access_file(tmp_path, {"app": {"client": "*", "worker": "*", "definition-writer": "*"}})
    token = tmp_path / "token"
    token.write_text(access.tokens["app"] + "\n")
    async with (
        running(tls(pair, access_file=access.path)) as server,
        client(server, tls=Tls(str(authority.ca)), token_file=str(token)) as found,
        found.worker(greeting, handle_signals=False),
    ):
        run = await found.start(greeting, key="k")
        assert await run.result() == "hello"

        def blocking() -> str:
            with SyncClient(f"127.0.0.1:{server.port}", tls=Tls(str(authority.ca)), token_file=str(token)) as other:
                return other.get(greeting, "k").state.name

        assert await asyncio.get_running_loop().run_in_executor(None, blocking) == "COMPLETED"


async def test_a_worker_without_the_right_to_register_serves_what_is_registered(tmp_path: Path) -> None:
    access = access_file(tmp_path, {"worker": {"worker": "*"}, "app": {"client": "*", "definition-writer": "*"}})
    async with (
        running(Config(access_file=str(access.path))) as server,
        client(server, token=access.tokens["app"]) as app,
        client(server, token=access.tokens["worker"]) as other,
    ):
        await app.definitions.register(greeting, activate=True)
        async with other.worker(greeting, handle_signals=False):
            assert await (await app.start(greeting, key="k")).result() == "hello"
        with pytest.raises(AccessDenied, match="client"):
            await other.start(greeting, key="other")


async def test_a_client_certificate_is_shown_and_replaced_while_the_client_lives(authority: Authority, pair: Pair, tmp_path: Path) -> None:
    access = Access(tmp_path / "access.toml", {})
    caller = '[[callers]]\nname = "{0}"\ncertificates = ["CN={0}"]\nroles = {{ reader = ["*"] }}\n'
    access.write({}, caller.format("one") + caller.format("two"))
    own = authority.client("one")
    shown = Tls(str(authority.ca), str(own.certificate), str(own.key))
    async with running(tls(pair, tls_client_ca_file=authority.ca, access_file=access.path)) as server, client(server, tls=shown) as found:
        with pytest.raises(AccessDenied, match="one may not"):
            await found.start(greeting, key="k")
        authority.client("two")
        with pytest.raises(AccessDenied, match="two may not"):
            await found.start(greeting, key="k")


async def refusal(server: Running, **given: Any) -> str:
    """What a client says that is not let in."""
    async with client(server, **given) as found:
        with pytest.raises((Unavailable, AccessDenied)) as caught:
            await found.server_info()
    return str(caught.value)


async def test_the_usual_mistakes_are_named(authority: Authority, pair: Pair, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = Authority(tmp_path / "other", DAY)
    right = Tls(str(authority.ca))
    async with running(tls(pair)) as server:
        assert "may want TLS" in await refusal(server)
        assert "no CA that is trusted" in await refusal(server, tls=Tls(str(other.ca)))
        assert "no CA that is trusted" in await refusal(server, tls=True)
        assert "other names" in await refusal(server, tls=Tls(str(authority.ca), server_name="perdure.example"))
    async with running(Config()) as server:
        assert "speaks plain text" in await refusal(server, tls=right)
    async with running(tls(pair, tls_client_ca_file=authority.ca)) as server:
        assert "may want a client certificate" in await refusal(server, tls=right)


async def test_missing_credentials_are_named(tmp_path: Path) -> None:
    access = access_file(tmp_path, {"a": {"reader": "*"}})
    async with running(Config(access_file=str(access.path))) as server, client(server) as found:
        assert "no credentials" in await refusal(server)
        with pytest.raises(AccessDenied, match="no credentials"):
            await found.worker(greeting, handle_signals=False).__aenter__()


async def test_an_expired_certificate_is_named(tmp_path: Path) -> None:
    authority = Authority(tmp_path, DAY, datetime.now(UTC) - 3 * DAY)
    pair = authority.server("localhost", "127.0.0.1")
    server = grpc.aio.server()
    port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([(pair.key.read_bytes(), pair.certificate.read_bytes())]))
    await server.start()
    async with Client(f"127.0.0.1:{port}", tls=Tls(str(authority.ca)), connect_timeout=timedelta(seconds=2)) as found:
        with pytest.raises(Unavailable, match="has expired"):
            await found.server_info()
    await server.stop(None)


class TestTokenFile:
    def test_it_is_read_again_when_it_changes_and_the_last_one_stays(self, tmp_path: Path) -> None:
        path = tmp_path / "token"
        path.write_text("one\n")
        token = TokenFile(str(path))
        assert token.current() == "one"
        for number, (text, told) in enumerate([("two", "two"), ("", "two"), ("three\n", "three")]):
            path.write_text(text)
            os.utime(path, (number, number))
            assert token.current() == told
        path.unlink()
        assert token.current() == "three"
        assert "three" not in repr(token)

    @pytest.mark.parametrize("text", ["", "  \n", "two\nlines", "ü"])
    def test_what_is_no_token_is_refused(self, tmp_path: Path, text: str) -> None:
        path = tmp_path / "token"
        path.write_text(text)
        with pytest.raises(InvalidRequest, match="no token"):
            TokenFile(str(path))
        with pytest.raises(InvalidRequest, match="cannot be read"):
            TokenFile(str(tmp_path / "missing"))


class TestSettings:
    def test_any_file_asks_for_tls_and_a_switch_decides(self) -> None:
        def of(**settings: str) -> Tls | None:
            return connection_config(environment=settings).tls

        assert of() is None
        assert of(PERDURE_TLS="true") == Tls()
        assert of(PERDURE_TLS_CA_FILE="ca") == Tls("ca")
        assert of(PERDURE_TLS="false", PERDURE_TLS_CA_FILE="ca") is None
        assert of(PERDURE_TLS_SERVER_NAME="n", PERDURE_TLS_CERT_FILE="c", PERDURE_TLS_KEY_FILE="k") == Tls("", "c", "k", "n")
        assert connection_config(environment={"PERDURE_TLS_CA_FILE": "ca"}, security=Security(tls=False)).tls is None
        for wrong in ({"PERDURE_TLS": "maybe"}, {"PERDURE_TLS_CERT_FILE": "c"}):
            with pytest.raises(InvalidRequest):
                of(**wrong)

    def test_a_token_wins_over_a_file_and_what_is_given_over_both(self, tmp_path: Path) -> None:
        path = tmp_path / "token"
        path.write_text("filed")
        file = {"PERDURE_TOKEN_FILE": str(path)}
        assert connection_config(environment=file).bearer() == "filed"
        assert connection_config(environment={**file, "PERDURE_TOKEN": "set"}).bearer() == "set"
        assert connection_config(environment={"PERDURE_TOKEN": "set"}, security=Security(str(path))).bearer() == "filed"
        assert connection_config(token="given", environment=file).bearer() == "given"
        assert "filed" not in repr(connection_config(environment=file))

    def test_a_profile_fills_in_what_is_not_set(self, tmp_path: Path) -> None:
        profiles = tmp_path / "profiles.toml"
        profiles.write_text('[prod]\naddress = "p:1"\nnamespace = "n"\ntls = true\n[typo]\nadress = "x"\n')
        known = {"PERDURE_PROFILES": str(profiles), "PERDURE_NAMESPACE": "mine"}
        config = connection_config(environment={**known, "PERDURE_PROFILE": "prod"})
        assert (config.address, config.namespace, config.tls) == ("p:1", "mine", Tls())
        assert connection_config(environment=known, security=Security(profile="prod")).address == "p:1"
        assert connection_config(environment=known).address == "127.0.0.1:7463"
        for name, told in {"other": "has no profile other", "typo": "adress"}.items():
            with pytest.raises(InvalidRequest, match=told):
                connection_config(environment={**known, "PERDURE_PROFILE": name})
        with pytest.raises(InvalidRequest, match="cannot be read"):
            connection_config(environment={"PERDURE_PROFILES": str(tmp_path / "missing"), "PERDURE_PROFILE": "prod"})


def test_a_cut_says_nothing_of_tls_once_a_server_has_answered() -> None:
    assert handshake_fault("Socket closed", None) == ""
    assert handshake_fault("Connection refused", False) == ""
    assert "has expired" in handshake_fault("CERTIFICATE_VERIFY_FAILED: certificate has expired", None)
