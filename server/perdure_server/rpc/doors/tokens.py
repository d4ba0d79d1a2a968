"""Bearer tokens of the access file: made here with 256 random bits, kept as SHA-256 only.

A slow, salted hash protects passwords, which people choose and which can be tried out. A token of 256 random bits cannot be tried out, so a
fast hash is as good, and a check costs a microsecond. The id in front is no secret: it finds the line, so that the secret part is
compared in constant time.
"""

import hashlib
import hmac
import re
import secrets
from typing import Final

from msgspec import Struct

PREFIX: Final = "perdure"
_TOKEN: Final = re.compile(r"perdure_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_LINE: Final = re.compile(r"([0-9a-f]{12}):([0-9a-f]{64})")


class TokenHash(Struct, frozen=True):
    """What the access file holds of a token."""

    token_id: str
    digest: bytes

    def __repr__(self) -> str:
        return f"TokenHash({self.token_id})"

    def matches(self, token: str) -> bool:
        """Whether this is the token, in a time that does not tell how near it comes."""
        return hmac.compare_digest(self.digest, hashlib.sha256(token.encode()).digest())


def new_token() -> str:
    """A token that nobody has. Show it once."""
    return f"{PREFIX}_{secrets.token_hex(6)}_{secrets.token_urlsafe(32)}"


def token_id(token: str) -> str | None:
    """The id in front of a token; None = it is not of this kind."""
    found = _TOKEN.fullmatch(token)
    return found[1] if found else None


def token_line(token: str) -> str:
    """What the access file holds of it: `id:sha256`. Raises ValueError if it was not made by `new_token`."""
    found = token_id(token)
    if found is None:
        raise ValueError("this is no token of `perdure tokens create`: only those have enough random bits for a fast hash")
    return f"{found}:{hashlib.sha256(token.encode()).hexdigest()}"


def parse_line(line: str) -> TokenHash:
    """A line of the access file. Raises ValueError."""
    found = _LINE.fullmatch(line)
    if not found:
        raise ValueError("must be id:sha256 as `perdure tokens create` or `perdure tokens hash` print it")
    return TokenHash(found[1], bytes.fromhex(found[2]))
