"""Claim tokens and wake tokens: opaque to clients, and each routes by itself to its workflow, run and step."""

import base64
import hashlib
import hmac

from msgspec import Struct

from perdure_server.kernel.draft import claim_lost
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.values import LossCause

_ID_SIZE = 16
_RUN_SIZE = 12
_NONCE_SIZE = 14  # 16 + 12 + 14 = 42 bytes need no padding in base64


class Address(Struct, frozen=True):
    """What a token says: which workflow, which run, which step, and the secret that makes it the current one."""

    workflow_id: bytes
    run_id: str
    step: str
    nonce: str


def encode_token(address: Address) -> str:
    """The text that clients hold."""
    raw = address.workflow_id + bytes.fromhex(address.run_id) + bytes.fromhex(address.nonce)
    return f"{base64.urlsafe_b64encode(raw).decode()}.{address.step}"


def _decode(token: str) -> Address | None:
    body, _, step = token.partition(".")
    try:
        raw = base64.b64decode(body, altchars=b"-_", validate=True)
    except ValueError:
        return None
    if not step or "=" in body or len(raw) != _ID_SIZE + _RUN_SIZE + _NONCE_SIZE:
        return None
    run_end = _ID_SIZE + _RUN_SIZE
    return Address(raw[:_ID_SIZE], raw[_ID_SIZE:run_end].hex(), step, raw[run_end:].hex())


def decode_claim_token(token: str) -> Address:
    """The address in a claim token; Rejection CLAIM_LOST (UNKNOWN) if it is none of ours."""
    address = _decode(token)
    if address is None:
        raise claim_lost(LossCause.UNKNOWN)
    return address


def decode_wake_token(token: str) -> Address:
    """The address in a wake token, not yet verified; Rejection WAKE_TOKEN_INVALID if it has not even the shape of one."""
    address = _decode(token)
    if address is None:
        raise _invalid_wake_token()
    return address


def wake_token(address: tuple[bytes, str, str], secret: str) -> str:
    """What an external task is given to call back with, for (workflow_id, run_id, step): the same for all claims of a step in one run.

    So it is known before the task is submitted. `secret` is the run's own and stays in its document.
    """
    workflow_id, run_id, step = address
    return encode_token(Address(workflow_id, run_id, step, _wake_nonce(workflow_id, run_id, step, secret)))


def verify_wake_token(address: Address, secret: str) -> None:
    """Raise Rejection WAKE_TOKEN_INVALID unless the run with this secret gave the token out."""
    expected = _wake_nonce(address.workflow_id, address.run_id, address.step, secret)
    if not secret or not hmac.compare_digest(expected, address.nonce):
        raise _invalid_wake_token()


def _invalid_wake_token() -> Rejection:
    return Rejection(Reason.WAKE_TOKEN_INVALID, "This wake token is not one that a claim of this service carried.")


def _wake_nonce(workflow_id: bytes, run_id: str, step: str, secret: str) -> str:
    # Keyed BLAKE2: made for every claim, and a quarter of an HMAC, which also gives the interpreter's lock away for each.
    text = workflow_id + run_id.encode() + step.encode()
    return hashlib.blake2b(text, key=secret.encode(), digest_size=_NONCE_SIZE).hexdigest()


def idempotency_key(run_id: str, step: str, generation: int) -> str:
    """The same for all attempts of one generation of a step; safe to hand to a downstream."""
    return f"{run_id}-{step}-{generation}"
