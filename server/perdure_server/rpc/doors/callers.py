"""Who shows a credential: by the access table, that is by the tokens, certificates and subjects in it."""

from typing import Any, Final

from perdure_server.rpc.doors.access_file import AccessTable
from perdure_server.rpc.doors.identity import Credential, Grants, Identity, unauthenticated
from perdure_server.rpc.doors.tokens import token_id
from perdure_server.rpc.transport import Context

AUTHORIZATION: Final = "authorization"
_BEARER: Final = "bearer "
_TOKEN_LENGTH: Final = 16 * 1024


def shown(context: Context) -> Credential:
    """What a call shows: its bearer token, else the certificate of its connection. Raises CallRefused UNAUTHENTICATED."""
    tokens = [value for key, value in context.invocation_metadata() or () if key == AUTHORIZATION]
    if len(tokens) > 1:
        raise unauthenticated("`authorization` was sent more than once")
    if tokens:
        text = tokens[0] if isinstance(tokens[0], str) else ""
        token = text[len(_BEARER) :].strip()
        if text[: len(_BEARER)].lower() != _BEARER or not token or len(token) > _TOKEN_LENGTH:
            raise unauthenticated("`authorization` must be `Bearer TOKEN`")
        return Credential(token)
    return Credential(certificate=certificate_name(context.auth_context() or {}))


def certificate_name(facts: Any) -> str:
    """The identity in a client certificate that the client CA has proved: its one URI, else `CN=` and its common name; "" = none."""
    if b"ssl" not in facts.get("transport_security_type", ()):
        return ""
    uris = facts.get("peer_uri", ())
    if len(uris) == 1:
        return _text(uris[0])
    names = facts.get("x509_common_name", ())
    return f"CN={_text(names[0])}" if not uris and len(names) == 1 and names[0] else ""


def known_caller(table: AccessTable, credential: Credential) -> Identity | None:
    """Who it is. None: a token of another kind than the table's, such as a JWT. Raises CallRefused UNAUTHENTICATED."""
    if credential.token:
        found_id = token_id(credential.token)
        if found_id is None:
            return None
        entry = table.tokens.get(found_id)
        if entry is None or not entry[0].matches(credential.token):
            raise unauthenticated("the token is not known here; it may have been revoked")
        return entry[1]
    if credential.certificate:
        # Proved, but nobody has given it a role: it is told what it may not do, and the trail names it.
        return table.certificates.get(credential.certificate) or Identity(f"certificate:{credential.certificate}", Grants())
    raise unauthenticated("no credentials: send `authorization: Bearer TOKEN`, or a client certificate")


def _text(value: bytes | str) -> str:
    return value if isinstance(value, str) else value.decode(errors="replace")
