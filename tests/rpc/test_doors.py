"""Tokens, revocation and reload at the doors of a running server."""

import asyncio
import logging
import re
import stat
from pathlib import Path
from typing import Any

import grpc
import pytest
from click.testing import CliRunner

from perdure.v1 import admin_service_pb2 as admin
from perdure.v1 import claim_pb2, resource_pb2
from perdure.v1 import worker_service_pb2 as work
from perdure.v1 import workflow_service_pb2 as wire
from perdure_server import tokens as command
from perdure_server.rpc.doors.access_file import read_access_file
from perdure_server.rpc.doors.invalid import DoorsInvalid
from perdure_server.rpc.doors.tokens import new_token, parse_line, token_line
from tests.rpc.conftest import Served, definition, ref, refusal_of, refused, serving
from tests.rpc.doors import Access, access_file, guarded, secret_of


def look(served: Served) -> None:
    served.running.server.entrance.look()


async def info(served: Served, metadata: Any) -> None:
    await served.admin.GetServerInfo(admin.GetServerInfoRequest(), metadata=metadata)


class TestTokens:
    def test_a_token_is_its_own_and_only_its_hash_is_kept(self) -> None:
        token = new_token()
        line = token_line(token)
        assert secret_of(token) not in line
        kept = parse_line(line)
        assert kept.matches(token)
        assert not kept.matches(token[:-1])
        assert not kept.matches(new_token())

    @pytest.mark.parametrize("weak", ["", "secret", "perdure_abc_def", "perdure_0123456789ab_short", "perdure_0123456789AB_" + "x" * 43])
    def test_a_word_of_a_person_is_no_token(self, weak: str) -> None:
        with pytest.raises(ValueError, match="enough random bits"):
            token_line(weak)

    def test_the_command_shows_it_once(self, tmp_path: Path) -> None:
        made = CliRunner().invoke(command.tokens, ["create", "billing", "--role", "client", "--role", "reader", "--in", "a", "--in", "b*"])
        token = made.stdout.strip()
        path = tmp_path / "access.toml"
        path.write_text(made.stderr)
        assert token not in made.stderr
        table = read_access_file(path)
        assert [(line.matches(token), caller.name) for line, caller in table.tokens.values()] == [(True, "billing")]
        hashed = CliRunner().invoke(command.tokens, ["hash"], input=token + "\n")
        assert hashed.stdout.strip() == token_line(token)
        assert CliRunner().invoke(command.tokens, ["hash"], input="secret\n").exit_code == 1

    def test_the_command_writes_a_file_for_its_owner_only(self, tmp_path: Path) -> None:
        out = tmp_path / "token"
        made = CliRunner().invoke(command.tokens, ["create", "x", "--out", str(out)])
        assert made.exit_code == 0
        assert stat.S_IMODE(out.stat().st_mode) == 0o600
        assert out.read_text().strip() not in made.output
        assert token_line(out.read_text().strip()) in made.stdout
        assert CliRunner().invoke(command.tokens, ["create", "x", "--out", str(out)]).exit_code == 1


class TestAccessFile:
    def test_all_faults_are_named_at_once_and_no_secret(self, tmp_path: Path) -> None:
        token = new_token()
        path = tmp_path / "access.toml"
        path.write_text(f"""
[[callers]]
name = "a"
tokens = ["{token}"]
certificates = ["billing"]
subjects = ["s"]
roles = {{ king = ["*"], reader = ["No*Pattern"] }}
[[callers]]
name = "a"
tokens = ["{token_line(token)}", "{token_line(token)}"]
roles = {{}}
""")
        with pytest.raises(DoorsInvalid) as caught:
            read_access_file(path)
        told = str(caught.value)
        for fault in ("king is no role", "No*Pattern", "tokens[0]", "URI", "two of this name", "is there twice", "[jwt]"):
            assert fault in told
        assert token not in told
        assert secret_of(token) not in repr(caught.value)

    @pytest.mark.parametrize("text", ["nonsense", "[[callers]]\nname = 1", "[[callers]]\nname = 'a'\nroles = {}\nmore = 1", "x = 1"])
    def test_what_is_no_access_file_is_refused(self, tmp_path: Path, text: str) -> None:
        path = tmp_path / "access.toml"
        path.write_text(text)
        with pytest.raises(DoorsInvalid, match=re.escape(str(path))):
            read_access_file(path)

    def test_the_example_of_the_documentation_is_one(self, tmp_path: Path) -> None:
        page = Path(__file__).parents[2] / "docs" / "security.md"
        path = tmp_path / "access.toml"
        path.write_text(page.read_text(encoding="utf-8").partition("```toml\n")[2].partition("```")[0])
        table = read_access_file(path)
        assert sorted(caller.name for _, caller in table.tokens.values()) == ["billing"]
        assert list(table.certificates) == ["spiffe://example.org/transcriber"]
        assert (list(table.subjects), list(table.groups)) == (["auth0|ann"], ["perdure-readers"])

    async def test_a_server_does_not_start_with_it(self, tmp_path: Path) -> None:
        with pytest.raises(DoorsInvalid, match="cannot be read"):
            async with guarded(Access(tmp_path / "missing.toml", {})):
                pass


class TestReload:
    async def test_a_new_caller_is_let_in_and_a_removed_one_is_not(self, tmp_path: Path) -> None:
        access = access_file(tmp_path, {"a": {"reader": "*"}})
        async with guarded(access) as served:
            access.write({"a": {"reader": "*"}, "b": {"reader": "*"}})
            look(served)
            await info(served, access.metadata("b"))
            access.write({"b": {"reader": "*"}})
            look(served)
            assert (await refused(info(served, access.metadata("a")))).reason == "UNAUTHENTICATED"
            await info(served, access.metadata("b"))

    async def test_a_broken_file_changes_nothing_and_is_told_once(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        access = access_file(tmp_path, {"a": {"reader": "*"}})
        async with guarded(access) as served:
            good = access.path.read_text()
            with caplog.at_level(logging.INFO):
                access.path.write_text(good + "\nbroken = ")
                look(served)
                look(served)
                access.path.unlink()
                look(served)
            assert caplog.text.count("the last good one goes on") == 2
            await info(served, access.metadata("a"))
            with caplog.at_level(logging.INFO):
                access.path.write_text(good)
                look(served)
                look(served)
                served.running.server.entrance.read_again()
            assert caplog.text.count("was read anew") == 2

    async def test_it_is_looked_for_without_being_asked(self, tmp_path: Path) -> None:
        async with guarded(access_file(tmp_path, {"a": {"reader": "*"}})) as served:
            assert "doors" in served.running.engine.supervisor.running
        async with serving() as served:
            assert "doors" not in served.running.engine.supervisor.running


async def ended(call: Any) -> Any:
    """How this stream ends; what it says before is passed over."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        async with asyncio.timeout(5):
            while await call.read() is not grpc.aio.EOF:  # type: ignore[attr-defined]  # missing in the stubs
                pass
    return refusal_of(caught.value)


class TestStreams:
    async def test_the_streams_of_a_revoked_caller_end_and_others_go_on(self, tmp_path: Path) -> None:
        callers = {"a": {"client": "*", "worker": "*"}, "b": {"client": "*"}, "root": {"admin": "*"}}
        access = access_file(tmp_path, callers)
        async with guarded(access) as served:
            request = admin.RegisterDefinitionRequest(definition=definition("wait_go"), activate=True)
            await served.admin.RegisterDefinition(request, metadata=access.metadata("root"))
            start = wire.StartWorkflowRequest(workflow=ref(), request_id="r")
            await served.workflows.StartWorkflow(start, metadata=access.metadata("a"))
            watches: dict[str, Any] = {
                name: served.workflows.Watch(wire.WatchRequest(workflow=ref()), metadata=access.metadata(name)) for name in ("a", "b")
            }
            many: Any = served.workflows.WatchWorkflows(wire.WatchWorkflowsRequest(), metadata=access.metadata("a"))
            claims: Any = served.workers.Claim(None, metadata=access.metadata("a"))
            hello = work.Hello(worker_id="w", pools=[claim_pb2.Pool(pool="p", workflow_type="note", any_contract=True)])
            await claims.write(work.ClaimRequest(hello=hello))
            for call in (*watches.values(), many, claims):
                await call.read()
            access.write({name: roles for name, roles in callers.items() if name != "a"})
            look(served)
            told = await asyncio.gather(*(ended(call) for call in (watches["a"], many, claims)))
            assert {refusal.reason for refusal in told} == {"UNAUTHENTICATED"}
            await served.workflows.Signal(
                wire.SignalRequest(workflow=ref(), signal_name="wait_go", signal_id="s"), metadata=access.metadata("b")
            )
            assert await watches["b"].read()
            many.cancel()

    async def test_a_role_that_is_taken_away_ends_them_too(self, tmp_path: Path) -> None:
        access = access_file(tmp_path, {"a": {"reader": "default other"}})
        async with guarded(access) as served:
            many: Any = served.workflows.WatchWorkflows(wire.WatchWorkflowsRequest(), metadata=access.metadata("a"))
            await many.read()
            access.write({"a": {"reader": "other"}})
            look(served)
            told = await ended(many)
            assert (told.reason, told.facts["namespace"]) == ("PERMISSION_DENIED", "default")

    async def test_a_worker_may_not_claim_in_a_namespace_of_others(self, tmp_path: Path) -> None:
        access = access_file(tmp_path, {"a": {"worker": "mine"}})
        async with guarded(access) as served:
            claims: Any = served.workers.Claim(None, metadata=access.metadata("a"))
            await claims.write(work.ClaimRequest(hello=work.Hello(worker_id="w")))
            assert (await ended(claims)).facts["namespace"] == "default"


class TestWorkersDefinitions:
    @pytest.mark.parametrize(("roles", "created"), [({"worker": "*"}, False), ({"worker": "*", "definition-writer": "*"}, True)])
    async def test_hello_registers_only_for_a_caller_with_that_right(self, tmp_path: Path, roles: dict[str, str], created: bool) -> None:
        access = access_file(tmp_path, {"a": roles})
        async with guarded(access) as served:
            hello = work.Hello(worker_id="w", pools=[claim_pb2.Pool(pool="p", workflow_type="note", any_contract=True)])
            hello.definitions.add(definition=definition("a"), register=True)
            claims: Any = served.workers.Claim(None, metadata=access.metadata("a"))
            await claims.write(work.ClaimRequest(hello=hello))
            (status,) = (await claims.read()).welcome.definitions
            claims.cancel()
            assert status.active is created
            assert (status.status.code == grpc.StatusCode.PERMISSION_DENIED.value[0]) is not created
            assert bool(await served.running.engine.definitions("default")) is created


class TestAudit:
    async def test_the_trail_names_the_proved_caller_also_of_what_was_denied(self, tmp_path: Path) -> None:
        access = access_file(tmp_path, {"boss": {"admin": "*"}, "guest": {"reader": "*"}})
        async with guarded(access) as served:
            put = admin.PutResourceRequest(resource=resource_pb2.Resource(resource="asr", capacity=1))
            await served.admin.PutResource(put, metadata=(*access.metadata("boss"), ("perdure-actor", "Ann")))
            await refused(served.admin.PutResource(put, metadata=(*access.metadata("guest"), ("perdure-actor", "boss"))))
            await served.running.engine.supervisor.finish(1_000)
            listed = await served.admin.ListAuditRecords(admin.ListAuditRecordsRequest(), metadata=access.metadata("boss"))
            told = {(record.actor, record.facts["claimed_actor"], record.status.code) for record in listed.records}
            assert told == {("boss", "Ann", 0), ("guest", "boss", grpc.StatusCode.PERMISSION_DENIED.value[0])}
