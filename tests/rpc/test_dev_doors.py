"""What `perdure dev --tls --auth` makes: a server with doors, and what its greeting says works, also with grpcurl."""

import stat
import time
from pathlib import Path

import pytest

from perdure import AccessDenied, Client, Tls
from perdure_server.config import Config
from perdure_server.dev_doors import dev_doors
from perdure_server.main import Parts, serve
from perdure_server.store.memory import MemoryStore
from tests.rpc.conftest import GRACE
from tests.rpc.test_grpcurl import run


def setting(lines: tuple[str, ...], name: str) -> str:
    """What the greeting says to export."""
    return next(line.partition(f"{name}=")[2] for line in lines if f"{name}=" in line)


def modes_of_secrets(directory: Path) -> list[int]:
    """Who may read the tokens and keys."""
    secret = [*directory.rglob("*.token"), *directory.rglob("*-key.pem")]
    return [stat.S_IMODE(path.stat().st_mode) for path in secret]


def content(path: str) -> str:
    return Path(path).read_text(encoding="utf-8").strip()


async def test_the_greeting_says_how_to_get_in(tmp_path: Path) -> None:
    made = dev_doors(Config(port=0, drain_grace_ms=GRACE), tmp_path, tls=True, auth=True)
    ca, token = setting(made.lines, "PERDURE_TLS_CA_FILE"), setting(made.lines, "PERDURE_TOKEN_FILE")
    assert modes_of_secrets(tmp_path) == [0o600] * 8
    async with serve(made.config, Parts(store=MemoryStore(lambda: time.time_ns() // 1_000_000))) as server:
        address = f"localhost:{server.port}"
        async with Client(address, tls=Tls(ca), token_file=token) as admin, Client(address, tls=Tls(ca)) as nobody:
            assert (await admin.server_info()).server_version
            with pytest.raises(AccessDenied):
                await nobody.server_info()
        flags = ["-cacert", ca, "-H", f"authorization: Bearer {content(token)}"]
        code, output = await run([*flags, address, "perdure.v1.AdminService/GetServerInfo"], tmp_path)
        assert code == 0
        assert "server_version" in output


def test_without_the_flags_there_are_no_doors(tmp_path: Path) -> None:
    config = Config()
    assert dev_doors(config, tmp_path, tls=False, auth=False).config == config
    assert not list(tmp_path.iterdir())
