"""Callers by JWT: signature, issuer, audience and times are checked by PyJWT, with the key that the token names, once per token.

A token that was found good is remembered by its digest until it expires, so that its next calls cost a hash. Only the algorithms of the
access file are taken, all asymmetric, and each key is bound to its own: neither `none` nor an HMAC by a public key gets by.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Final

import jwt

from perdure_server.kernel.limits import SECOND
from perdure_server.rpc import limits
from perdure_server.rpc.doors.access_file import AccessTable, JwtEntry
from perdure_server.rpc.doors.identity import Grants, Identity, joined, unauthenticated
from perdure_server.rpc.doors.jwks import Keys
from perdure_server.rpc.errors import CallRefused

_FAULTS: Final[tuple[tuple[type[Exception], str], ...]] = (
    (jwt.ExpiredSignatureError, "the token has expired"),
    (jwt.ImmatureSignatureError, "the token is not valid yet"),
    (jwt.InvalidAudienceError, "the token is for another audience"),
    (jwt.InvalidIssuerError, "the token is of another issuer"),
    (jwt.MissingRequiredClaimError, "the token lacks a claim: it must have exp, iss, aud and a subject"),
    (jwt.InvalidAlgorithmError, "the token is signed by an algorithm that is not allowed"),
)


class KeyUnknown(Exception):
    """The token names a key that is not among those known; the issuer may have a new one."""


class JwtCallers:
    """Who shows a JWT, by one access table."""

    def __init__(self, table: AccessTable, entry: JwtEntry, keys: Callable[[], Keys], now: Callable[[], int]) -> None:
        self._table = table
        self._entry = entry
        self._keys = keys
        self._now = now
        self._proved: dict[bytes, Identity] = {}

    def forget(self) -> None:
        """The keys have changed: every token is to be proved again."""
        self._proved.clear()

    def identify(self, token: str) -> Identity:
        """Who it is. Raises CallRefused UNAUTHENTICATED, KeyUnknown."""
        digest = hashlib.sha256(token.encode()).digest()
        known = self._proved.get(digest)
        if known is None:
            known = self._identity(self._verified(token))
            if len(self._proved) >= limits.JWTS_REMEMBERED:
                del self._proved[next(iter(self._proved))]
            self._proved[digest] = known
        elif known.expires is not None and known.expires <= self._now():
            del self._proved[digest]
            raise unauthenticated("the token has expired")
        return known

    def _verified(self, token: str) -> Mapping[str, Any]:
        try:
            header = jwt.get_unverified_header(token)
        except jwt.PyJWTError:
            raise unauthenticated("the token is of no kind that this server knows") from None
        if header.get("alg") not in self._entry.algorithms:
            raise unauthenticated("the token is signed by an algorithm that is not allowed")
        key = self._keys().get(header.get("kid", ""))
        if key is None:
            raise KeyUnknown
        entry = self._entry
        try:
            claims: Mapping[str, Any] = jwt.decode(
                token,
                key,
                algorithms=list(entry.algorithms),
                audience=entry.audience,
                issuer=entry.issuer,
                leeway=entry.leeway_seconds,
                options={"require": ["exp", "iss", "aud", entry.subject_claim]},
            )
        except jwt.PyJWTError as error:
            raise _refusal(error) from None
        return claims

    def _identity(self, claims: Mapping[str, Any]) -> Identity:
        subject = claims[self._entry.subject_claim]
        if not isinstance(subject, str) or not subject.isprintable() or len(subject) > limits.ACTOR:
            raise unauthenticated("the token's subject is no short text")
        bound = self._table.subjects.get(subject)
        grants = bound.grants if bound is not None else Grants()
        groups = claims.get(self._entry.groups_claim, ())
        for group in (groups,) if isinstance(groups, str) else groups if isinstance(groups, list) else ():
            if isinstance(group, str) and group in self._table.groups:
                grants = joined(grants, self._table.groups[group])
        expires = (int(claims["exp"]) + self._entry.leeway_seconds) * SECOND
        return Identity(bound.name if bound is not None else f"jwt:{subject}", grants, expires)


def _refusal(error: jwt.PyJWTError) -> CallRefused:
    text = next((text for kind, text in _FAULTS if isinstance(error, kind)), "the token is not signed by its issuer, or is damaged")
    return unauthenticated(text)
