"""Page tokens: the last row of a page, bound to the query that it came from."""

import base64
import binascii
import hashlib
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct

from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.ports.store import PageKey
from perdure_server.rpc import limits

_encode: Final = msgspec.msgpack.Encoder(order="deterministic").encode


class _KeyToken(Struct, frozen=True, array_like=True):
    scope: bytes
    key: list[str]


class _Token(Struct, frozen=True, array_like=True):
    query: bytes
    start_time: int
    workflow_id: bytes


def encode(query: Struct, after: PageKey | None) -> str:
    """The token of the page after `after`; empty after the last page."""
    if after is None:
        return ""
    # int(), because a store may hand out a subclass of its own, which msgspec does not encode.
    raw = msgspec.msgpack.encode(_Token(_digest(query), int(after.start_time), after.workflow_id))
    return base64.urlsafe_b64encode(raw).decode()


def decode(query: Struct, token: str) -> PageKey | None:
    """Where the page begins; None for the first. Raises Rejection PAGE_TOKEN_INVALID, also for the token of another query."""
    if not token:
        return None
    try:
        found = msgspec.msgpack.decode(base64.b64decode(token.encode(), altchars=b"-_", validate=True), type=_Token)
    except (ValueError, binascii.Error, msgspec.DecodeError) as error:
        raise _invalid() from error
    if found.query != _digest(query) or len(found.workflow_id) != limits.WORKFLOW_ID:
        raise _invalid()
    return PageKey(found.start_time, found.workflow_id)


def encode_key(scope: Sequence[str], key: Sequence[str]) -> str:
    """The token of the page after the row with this sort key, in the list that `scope` names."""
    return base64.urlsafe_b64encode(msgspec.msgpack.encode(_KeyToken(_digest(list(scope)), list(key)))).decode()


def decode_key(scope: Sequence[str], token: str) -> list[str]:
    """The sort key after which the page begins; [] for the first. Raises Rejection PAGE_TOKEN_INVALID."""
    if not token:
        return []
    try:
        found = msgspec.msgpack.decode(base64.b64decode(token.encode(), altchars=b"-_", validate=True), type=_KeyToken)
    except (ValueError, binascii.Error, msgspec.DecodeError) as error:
        raise _invalid() from error
    if found.scope != _digest(list(scope)):
        raise _invalid()
    return found.key


def _digest(query: Struct | list[str]) -> bytes:
    return hashlib.blake2b(_encode(query), digest_size=limits.PAGE_TOKEN_DIGEST).digest()


def _invalid() -> Rejection:
    return Rejection(Reason.PAGE_TOKEN_INVALID, "This page_token is not from this list with these arguments.")
