"""Access files with tokens for tests, and servers behind them."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc

from perdure_server.config import Config
from perdure_server.main import Parts
from perdure_server.rpc.doors.tokens import PREFIX, new_token, token_line
from tests.rpc.conftest import GRACE, Served, serving

Roles = Mapping[str, str]  # role -> namespaces, divided by spaces


@dataclass
class Access:
    """An access file and the tokens of its callers, by name."""

    path: Path
    tokens: dict[str, str]

    def write(self, callers: Mapping[str, Roles], more: str = "") -> None:
        """Give these callers a token, where they have none, and these roles."""
        text = more
        for name, roles in callers.items():
            token = self.tokens.setdefault(name, new_token())
            granted = ", ".join(f"{role} = {namespaces.split()}" for role, namespaces in roles.items())
            text += f'\n[[callers]]\nname = "{name}"\ntokens = ["{token_line(token)}"]\nroles = {{ {granted} }}\n'
        self.path.write_text(text)

    def metadata(self, name: str) -> tuple[tuple[str, str], ...]:
        """What a call of this caller carries."""
        return (("authorization", f"Bearer {self.tokens[name]}"),)


def secret_of(token: str) -> str:
    """The secret part: behind the id of a token, or the signature of a JWT. It may have any `_` itself."""
    return token.split("_", 2)[2] if token.startswith(f"{PREFIX}_") else token.rpartition(".")[2]


def access_file(directory: Path, callers: Mapping[str, Roles], more: str = "") -> Access:
    made = Access(directory / "access.toml", {})
    made.write(callers, more)
    return made


@asynccontextmanager
async def guarded(access: Access, parts: Parts | None = None) -> AsyncIterator[Served]:
    """A server behind this access file, and a channel without credentials."""
    async with serving(Config(port=0, drain_grace_ms=GRACE, access_file=str(access.path)), parts) as served:
        yield served


def code_of(error: grpc.aio.AioRpcError) -> str:
    return error.code().name
