"""docs/reference is made from the code, is fresh, and tells of everything."""

import re

import pytest

from perdure_server.rpc.errors import CODES
from tools import reference
from tools.error_advice import ADVICE


@pytest.mark.parametrize("name", list(reference.PAGES))
def test_a_page_is_fresh(name: str) -> None:
    made = reference.PAGES[name]()
    assert (reference.TARGET / name).read_text(encoding="utf-8") == made, "run `python -m tools.reference`"


def test_every_error_has_advice_and_nothing_else_has() -> None:
    assert ADVICE.keys() == CODES.keys()


def test_every_rpc_message_and_reason_is_told_with_a_comment() -> None:
    page = (reference.TARGET / "api.md").read_text(encoding="utf-8")
    for rpc in ("StartWorkflow", "Claim", "Watch", "RedactPayloads", "AdvanceTime", "PollClaims"):
        assert f"**{rpc}**(" in page
    empty = re.findall(r"^\|[^|]+\|(?:[^|]+\|)? *\|$", page, flags=re.MULTILINE)
    assert not empty, "an element of the wire has no comment"
    anchors = {re.sub(r"[^a-z0-9]", "", heading.lower()) for heading in re.findall(r"^### (\S+)", page, flags=re.MULTILINE)}
    targets = set(re.findall(r"\]\(#([a-z0-9]+)\)", page))
    assert targets <= anchors


@pytest.mark.parametrize(
    "row",
    [
        "| SESSION_LEASE | 30 s |",
        "| THROTTLED_AFTER | 500 ms |",
        "| PAYLOAD | 2 MiB |",
        "| INLINE_PAYLOAD | 16 KiB |",
        "| MAP_CHILDREN | 1,000,000 |",
        "| RETENTION | 30 d |",
        "| CODEC_THREAD_BYTES | 256 KiB |",
    ],
)
def test_numbers_are_told_with_their_units(row: str) -> None:
    assert row in (reference.TARGET / "limits.md").read_text(encoding="utf-8")
