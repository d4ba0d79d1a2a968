"""Tokens route by themselves, tell nothing, and are not to be made up."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure_server.kernel.rejection import Reason
from perdure_server.kernel.tokens import (
    Address,
    decode_claim_token,
    decode_wake_token,
    encode_token,
    idempotency_key,
    verify_wake_token,
    wake_token,
)
from tests.kernel.harness import KEY, refused

RUN = "0123456789abcdef01234567"
NONCE = "00112233445566778899aabbccdd"
ADDRESS = Address(KEY.workflow_id, RUN, "transcribe", NONCE)


def test_a_token_comes_back_as_it_went() -> None:
    token = encode_token(ADDRESS)
    assert decode_claim_token(token) == ADDRESS
    assert KEY.business_key not in token
    assert token.isascii()
    assert len(token) == 56 + 1 + len("transcribe")


@given(st.binary(min_size=16, max_size=16), st.binary(min_size=12, max_size=12), st.binary(min_size=14, max_size=14))
def test_any_address_comes_back(workflow_id: bytes, run: bytes, nonce: bytes) -> None:
    address = Address(workflow_id, run.hex(), "a_1", nonce.hex())
    assert decode_claim_token(encode_token(address)) == address


TOKEN = encode_token(ADDRESS)
BROKEN = [
    "",
    ".",
    "x",
    ".transcribe",
    TOKEN.split(".", maxsplit=1)[0],
    TOKEN.split(".", maxsplit=1)[0] + ".",
    TOKEN[1:],
    "A" + TOKEN,
    "é" + TOKEN[1:],
]
BROKEN += ["!" + TOKEN, TOKEN[:10] + "\n" + TOKEN[10:], TOKEN[:10] + " " + TOKEN[10:], TOKEN.replace(".", "=.")]


@pytest.mark.parametrize("token", BROKEN)
def test_what_is_none_of_ours_is_an_unknown_claim(token: str) -> None:
    assert refused(Reason.CLAIM_LOST, lambda: decode_claim_token(token)) == {"cause": "UNKNOWN"}
    refused(Reason.WAKE_TOKEN_INVALID, lambda: decode_wake_token(token))


@given(st.text())
def test_any_text_is_refused_in_order(text: str) -> None:
    refused(Reason.CLAIM_LOST, lambda: decode_claim_token(text))


SECRET = "5e" * 16
PLACE = (KEY.workflow_id, RUN, "transcribe")


WHERE = (KEY.workflow_id, RUN, "transcribe")
SECRET = "0123456789abcdef0123456789abcdef"


def test_a_wake_token_is_known_before_the_task_is_submitted_and_stays() -> None:
    token = wake_token(WHERE, SECRET)
    assert token == wake_token(WHERE, SECRET)
    address = decode_wake_token(token)
    assert (address.workflow_id, address.run_id, address.step) == WHERE
    verify_wake_token(address, SECRET)


def test_a_wake_token_is_of_one_step_of_one_run_with_its_secret() -> None:
    token = wake_token(WHERE, SECRET)
    forged = [
        token.replace("transcribe", "compose"),
        encode_token(Address(KEY.workflow_id, "f" * 24, "transcribe", decode_wake_token(token).nonce)),
        encode_token(Address(bytes(16), RUN, "transcribe", decode_wake_token(token).nonce)),
        TOKEN,
        token[:50] + ("A" if token[50] != "A" else "B") + token[51:],
    ]
    for text in forged:
        refused(Reason.WAKE_TOKEN_INVALID, partial(verify_wake_token, decode_wake_token(text), SECRET))
    for secret in ("", "f" * 32):
        refused(Reason.WAKE_TOKEN_INVALID, partial(verify_wake_token, decode_wake_token(token), secret))
    refused(Reason.WAKE_TOKEN_INVALID, partial(verify_wake_token, decode_wake_token(wake_token(WHERE, "")), ""))


def test_who_knows_run_and_key_cannot_make_a_wake_token() -> None:
    guesses = {wake_token(WHERE, guess) for guess in ("", RUN, KEY.business_key)}
    assert wake_token(WHERE, SECRET) not in guesses


def test_the_idempotency_key_is_the_same_for_all_attempts_of_a_generation() -> None:
    assert idempotency_key(RUN, "transcribe", 0) == f"{RUN}-transcribe-0"
    keys = {idempotency_key(run, step, generation) for run in (RUN, "f" * 24) for step in "ab" for generation in (0, 1)}
    assert len(keys) == 8
