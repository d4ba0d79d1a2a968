"""Doors of real processes: files that change under a running server, SIGHUP, and `perdure dev --tls --auth` for a client and a worker."""

import asyncio
import shutil
import signal
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import grpc
import pytest

from perdure.v1 import admin_service_pb2 as admin
from perdure.v1 import admin_service_pb2_grpc
from perdure_server.rpc.doors.authority import Authority, Pair
from tests.conftest import Eventually
from tests.e2e.conftest import MakeServer
from tests.e2e.servers import DevProcess, PerdureProcess
from tests.processes import environment, redis_binary, store_available
from tests.rpc.doors import Access, access_file
from tests.rpc.test_tls import credentials_of

pytestmark = pytest.mark.slow

NOTE = Path(__file__).parents[2] / "examples" / "note" / "note.py"
DAY = timedelta(days=1)
BOSS = {"boss": {"admin": "*"}}

Answered = Callable[[Path, Pair, str], Awaitable[str]]


def answers(server: PerdureProcess) -> Answered:
    """Calls it on a connection of its own: "OK", or the code of the refusal."""

    async def call(ca: Path, pair: Pair, token: str) -> str:
        credentials = credentials_of(ca, pair)
        async with grpc.aio.secure_channel(f"localhost:{server.port}", credentials) as channel:
            try:
                metadata = (("authorization", f"Bearer {token}"),)
                stub = admin_service_pb2_grpc.AdminServiceStub(channel)
                await stub.GetServerInfo(admin.GetServerInfoRequest(), timeout=5, metadata=metadata)
            except grpc.aio.AioRpcError as error:
                return error.code().name
        return "OK"

    return call


def read_anew(server: PerdureProcess) -> int:
    """How often it told that it has read something again."""
    return sum("was read anew" in line for line in list(server.log))


@dataclass
class Doors:
    """What a server was started with: two CAs, the files that it reads, and who calls."""

    old: Authority
    new: Authority
    pair: Pair
    client_ca: Path
    access: Access


@pytest.fixture
def doors(tmp_path: Path) -> Doors:
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
    old, new = Authority(tmp_path / "old", DAY), Authority(tmp_path / "new", DAY)
    client_ca = tmp_path / "client-ca.pem"
    shutil.copy(old.ca, client_ca)
    return Doors(old, new, old.server("localhost"), client_ca, access_file(tmp_path, BOSS))


def behind(doors: Doors, new_server: MakeServer) -> PerdureProcess:
    """A server behind them."""
    pair = {"tls_cert_file": doors.pair.certificate, "tls_key_file": doors.pair.key}
    return new_server(**pair, tls_client_ca_file=doors.client_ca, access_file=doors.access.path)


async def test_sighup_reads_all_and_tokens_change_under_a_running_server(
    doors: Doors, new_server: MakeServer, eventually: Eventually
) -> None:
    server, client, access = behind(doors, new_server), doors.old.client("a"), doors.access
    call, token = answers(server), access.tokens["boss"]
    assert await call(doors.old.ca, client, token) == "OK"
    assert read_anew(server) == 0
    server.send(signal.SIGHUP)
    await eventually(lambda: read_anew(server) == 2, what="certificates and access file are read again, though nothing changed")
    assert await call(doors.old.ca, client, token) == "OK"

    del access.tokens["boss"]
    access.write(BOSS)

    async def is_refused() -> bool:
        return await call(doors.old.ca, client, token) == "UNAUTHENTICATED"

    await eventually(is_refused, within=20)
    next_token = access.tokens["boss"]
    assert await call(doors.old.ca, client, next_token) == "OK"

    access.path.write_text("nonsense")
    server.send(signal.SIGHUP)
    await eventually(lambda: any("cannot be used, the last good one goes on" in line for line in list(server.log)))
    assert await call(doors.old.ca, client, next_token) == "OK"
    assert not [line for line in list(server.log) if token in line or next_token in line]


async def test_client_ca_and_certificate_change_under_a_running_server(
    doors: Doors, new_server: MakeServer, eventually: Eventually
) -> None:
    server, token = behind(doors, new_server), doors.access.tokens["boss"]
    old, new, call = doors.old, doors.new, answers(server)
    client, next_client = old.client("a"), new.client("a")

    async def becomes(ca: Path, own: Pair, wanted: str) -> None:  # the server looks at its files every 2 s
        async def is_so() -> bool:
            return await call(ca, own, token) == wanted

        await eventually(is_so, within=20)

    assert await call(old.ca, client, token) == "OK"
    assert await call(old.ca, next_client, token) == "UNAVAILABLE"
    doors.client_ca.write_bytes(old.ca.read_bytes() + new.ca.read_bytes())
    await becomes(old.ca, next_client, "OK")
    assert await call(old.ca, client, token) == "OK"
    shutil.copy(new.ca, doors.client_ca)
    await becomes(old.ca, client, "UNAVAILABLE")
    assert await call(old.ca, next_client, token) == "OK"

    changed = new.server("localhost")
    shutil.copy(changed.key, doors.pair.key)
    shutil.copy(changed.certificate, doors.pair.certificate)
    await becomes(new.ca, next_client, "OK")
    assert await call(old.ca, next_client, token) == "UNAVAILABLE"


@pytest.mark.skipif(not (store_available() and redis_binary()), reason="the embedded servers are not installed")
async def test_dev_with_tls_and_tokens_serves_a_client_and_a_worker(tmp_path: Path) -> None:
    dev = DevProcess(tmp_path, flags=("--tls", "--auth"))
    dev.start()
    try:
        exports = dict(line.partition("export ")[2].split("=", 1) for line in list(dev.log) if "export PERDURE_" in line)
        assert set(exports) == {"PERDURE_TLS_CA_FILE", "PERDURE_TOKEN_FILE"}
        code, output = await note(dev, exports)
        assert code == 0, output
        assert output.splitlines()[-2:] == ["COMPLETED", "None"]
        code, output = await note(dev, {"PERDURE_TLS_CA_FILE": exports["PERDURE_TLS_CA_FILE"]})
        assert code != 0
        assert "UNAUTHENTICATED" in output or "token" in output
        secret = await asyncio.to_thread(Path(exports["PERDURE_TOKEN_FILE"]).read_text)
        assert not [line for line in list(dev.log) if secret.strip() in line]
    finally:
        dev.kill()


async def note(dev: DevProcess, exports: dict[str, str]) -> tuple[int | None, str]:
    """The sample, a client and a worker in one, with these settings: exit code and output."""
    settings = environment(PERDURE_ADDRESS=dev.address, **exports)
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(NOTE), env=settings, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    async with asyncio.timeout(40):
        told, _ = await process.communicate()
    return process.returncode, told.decode()
