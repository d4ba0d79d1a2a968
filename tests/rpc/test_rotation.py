"""What docs/security.md says of rotation and revocation: when a change of keys, tokens, certificates and callers counts, and for what."""

import socket
import ssl
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from perdure.v1 import admin_service_pb2 as admin
from perdure.v1 import workflow_service_pb2 as wire
from perdure_server.config import Config
from perdure_server.main import Parts
from perdure_server.rpc import limits
from perdure_server.rpc.doors.authority import Authority
from perdure_server.rpc.doors.certificates import TlsFiles, read_certificates
from perdure_server.rpc.doors.invalid import DoorsInvalid
from perdure_server.rpc.doors.jwks import FetchedKeys
from perdure_server.store.memory import MemoryStore
from tests.conftest import Eventually
from tests.rpc.conftest import GRACE, Served, definition, ref, refused, serving
from tests.rpc.doors import access_file, guarded
from tests.rpc.test_doors import ended, look
from tests.rpc.test_jwt import EVERY, bearer, jwk, jwks, published, token
from tests.rpc.test_jwt import access as jwt_access
from tests.rpc.test_tls import authority, info, on_thread, refused_info, running, tls_config

__all__ = ["authority"]  # a fixture


def watching(served: Served, metadata: Any) -> Any:
    return served.workflows.WatchWorkflows(wire.WatchWorkflowsRequest(), metadata=metadata)


class TestJwts:
    async def test_a_key_that_is_gone_takes_its_streams_along(self, tmp_path: Path) -> None:
        async with guarded(jwt_access(tmp_path)) as served:
            gone, stays = watching(served, bearer(token("ES256"))), watching(served, bearer(token("RS256")))
            for call in (gone, stays):
                await call.read()
            (tmp_path / "keys.json").write_text(jwks(jwk("RS256", "k-RS256")))
            look(served)
            assert (await ended(gone)).reason == "UNAUTHENTICATED"
            assert not stays.done()
            stays.cancel()

    async def test_the_stream_of_a_token_ends_with_it(self, tmp_path: Path) -> None:
        async with guarded(jwt_access(tmp_path)) as served:
            begun = time.monotonic()
            told = await ended(watching(served, bearer(token(exp=int(time.time()) - 28))))  # clocks may differ by 30 s
            assert told.reason in {"UNAUTHENTICATED", "DRAINING"}, "cut, or asked to come again in time"
            assert time.monotonic() - begun < 8, "two seconds, and what a busy machine adds"
            assert (
                await refused(served.admin.GetServerInfo(admin.GetServerInfoRequest(), metadata=bearer(token(exp=int(time.time()) - 31))))
            ).reason == "UNAUTHENTICATED"

    async def test_a_subject_that_is_taken_out_of_the_file_has_no_rights_left(self, tmp_path: Path) -> None:
        made = jwt_access(tmp_path)
        async with guarded(made) as served:
            call = watching(served, bearer(token()))
            await call.read()
            made.path.write_text(made.path.read_text().replace('subjects = ["svc"]', 'subjects = ["other"]'))
            look(served)
            assert (await ended(call)).reason == "PERMISSION_DENIED"
            await served.admin.ListQueues(admin.ListQueuesRequest(), metadata=bearer(token(groups="operators")))  # a group's rights stay

    async def test_keys_behind_a_url_are_fetched_every_ten_minutes_and_after_a_failure_every_half(self) -> None:
        now = 0
        told: list[tuple[str, str]] = []

        def due() -> bool:
            return keys.due

        with published() as source:
            keys = FetchedKeys(source.url, ("ES256",), lambda: now, lambda what, outcome: told.append((what, outcome)))
            assert due()
            assert await keys.fetch()
            assert not due()
            now = limits.JWKS_REFRESH - 1
            assert not due()
            now += 1
            assert due()
            source.text = jwks(jwk("ES256", "next", ec.generate_private_key(ec.SECP256R1())))
            assert await keys.fetch(), "there are new ones"
            assert list(keys.keys) == ["next"]
            now += limits.JWKS_REFRESH
            source.status = 500
            assert not await keys.fetch()
            assert list(keys.keys) == ["next"], "the issuer is away: what was known goes on"
            now += limits.JWKS_REFETCH
            assert due()
        assert told == [("JWKS", "ok"), ("JWKS", "ok"), ("JWKS", "failed")]
        assert (limits.JWKS_REFRESH, limits.JWKS_REFETCH) == (600_000, 30_000), "as docs/security.md says"

    async def test_the_servers_own_loop_fetches_what_is_due(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, eventually: Eventually
    ) -> None:
        monkeypatch.setattr(limits, "DOORS_INTERVAL", 20)
        with published() as source:
            async with guarded(jwt_access(tmp_path, source.url)) as served:
                await eventually(lambda: len(source.asked) == 1, what="without any caller")
                await served.admin.ListQueues(admin.ListQueuesRequest(), metadata=bearer(token()))
                call = watching(served, bearer(token()))
                await call.read()
                monkeypatch.setattr(limits, "JWKS_REFRESH", 0)
                monkeypatch.setattr(limits, "JWKS_REFETCH", 0)
                source.text = jwks(jwk("RS256", "k-RS256"))
                assert (await ended(call)).reason == "UNAUTHENTICATED"
                source.text = EVERY


class TestTokens:
    async def test_two_tokens_of_a_caller_count_until_the_old_line_is_gone(self, tmp_path: Path) -> None:
        access = access_file(tmp_path, {"a": {"reader": "*"}})
        old = access.metadata("a")
        [line] = [text for text in access.path.read_text().splitlines() if text.startswith("tokens")]
        async with guarded(access) as served:
            del access.tokens["a"]
            access.write({"a": {"reader": "*"}})
            new = access.metadata("a")
            [next_line] = [text for text in access.path.read_text().splitlines() if text.startswith("tokens")]
            both = next_line[:-1] + ", " + line.partition("[")[2]
            alone = access.path.read_text()
            access.path.write_text(alone.replace(next_line, both))
            look(served)
            for metadata in (old, new):
                await served.admin.GetServerInfo(admin.GetServerInfoRequest(), metadata=metadata)
            access.path.write_text(alone)
            look(served)
            await served.admin.GetServerInfo(admin.GetServerInfoRequest(), metadata=new)
            assert (await refused(served.admin.GetServerInfo(admin.GetServerInfoRequest(), metadata=old))).reason == "UNAUTHENTICATED"

    async def test_a_unary_call_that_was_let_in_runs_to_its_end(self, tmp_path: Path, eventually: Eventually) -> None:
        access = access_file(tmp_path, {"a": {"admin": "*"}, "b": {"admin": "*"}})
        async with guarded(access) as served:
            register = admin.RegisterDefinitionRequest(definition=definition("wait_go"), activate=True)
            await served.admin.RegisterDefinition(register, metadata=access.metadata("b"))
            await served.workflows.StartWorkflow(wire.StartWorkflowRequest(workflow=ref()), metadata=access.metadata("b"))
            request = wire.WaitForResultRequest(workflow=ref())
            request.timeout.seconds = 20
            waiting: Any = served.workflows.WaitForResult(request, metadata=access.metadata("a"))
            await eventually(lambda: served.running.engine.hub.watching == 1)
            access.write({"b": {"admin": "*"}})
            look(served)
            await served.workflows.CancelWorkflow(wire.CancelWorkflowRequest(workflow=ref()), metadata=access.metadata("b"))
            assert (await waiting).done

    async def test_a_file_that_cannot_be_used_is_counted(self, tmp_path: Path) -> None:
        access = access_file(tmp_path, {"a": {"reader": "*"}})
        async with guarded(access) as served:
            entrance = served.running.server.entrance
            told: list[tuple[str, str]] = []
            assert entrance._access is not None
            entrance._access._told = lambda what, outcome: told.append((what, outcome))
            good = access.path.read_text()
            access.path.write_text("nonsense")
            look(served)
            access.path.write_text(good)
            look(served)
            assert told == [("access file", "failed"), ("access file", "ok")]


class TestCertificates:
    async def test_a_caller_that_is_taken_out_of_the_file_is_out_though_its_certificate_is_good(
        self, authority: Authority, tmp_path: Path
    ) -> None:
        access = tmp_path / "access.toml"
        caller = '[[callers]]\nname = "{0}"\ncertificates = ["CN={0}"]\nroles = {{ reader = ["*"] }}\n'
        access.write_text(caller.format("one") + caller.format("two"))
        one, two = authority.client("one", file="one"), authority.client("two", file="two")
        async with running(tls_config(authority.server("localhost"), authority.ca, access)) as server:
            assert await info(server, authority.ca, one)
            access.write_text(caller.format("two"))
            server.server.entrance.look()
            refusal = await refused_info(server, authority.ca, one)
            assert (refusal.reason, refusal.facts["caller"]) == ("PERMISSION_DENIED", "certificate:CN=one")
            assert await info(server, authority.ca, two)

    def test_a_key_with_a_password_is_refused(self, authority: Authority, tmp_path: Path) -> None:
        pair = authority.server("localhost")
        key = ec.generate_private_key(ec.SECP256R1())
        locked = tmp_path / "locked.pem"
        locked.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"x")))
        with pytest.raises(DoorsInvalid, match="without a password"):
            read_certificates(TlsFiles(pair.certificate, locked), lambda: datetime.now(UTC))

    @pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
    async def test_tls_is_of_version_1_2_or_1_3(self, authority: Authority) -> None:
        async with running(tls_config(authority.server("localhost"))) as server:
            spoken = [await on_thread(shaken, server.port, version) for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)]
            assert spoken == ["TLSv1.2", "TLSv1.3"]
            with pytest.raises((ssl.SSLError, OSError)):
                await on_thread(shaken, server.port, ssl.TLSVersion.TLSv1_1)

    def test_older_connections_end_within_an_hour_and_a_half(self) -> None:
        # gRPC adds up to a tenth to the age; what is open then has as long again.
        age = limits.STREAM_AGE * limits.CONNECTION_AGE_FACTOR
        assert age * 1.1 + age <= 90 * 60 * 1_000


def shaken(port: int, version: ssl.TLSVersion) -> str | None:
    """The version that a handshake agrees upon."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers("DEFAULT@SECLEVEL=0")
    context.set_alpn_protocols(["h2"])
    context.minimum_version = context.maximum_version = version
    with (
        socket.create_connection(("127.0.0.1", port), timeout=5) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as wrapped,
    ):
        return wrapped.version()


class TestReflection:
    async def test_it_shows_the_api_to_anybody_and_can_be_turned_off(self, tmp_path: Path) -> None:
        asked = reflection_pb2.ServerReflectionRequest(list_services="")
        async with guarded(access_file(tmp_path, {})) as served:
            stub: Any = reflection_pb2_grpc.ServerReflectionStub(served.channel)
            assert [answer async for answer in stub.ServerReflectionInfo(iter([asked]))], "without credentials"
        parts = Parts(store=MemoryStore(lambda: time.time_ns() // 1_000_000))
        async with serving(Config(port=0, drain_grace_ms=GRACE, reflection=False), parts) as served:
            stub = reflection_pb2_grpc.ServerReflectionStub(served.channel)
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                [_ async for _ in stub.ServerReflectionInfo(iter([asked]))]
            assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
