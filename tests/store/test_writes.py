"""What a stored document proves about a write of ours that was carried out with an unknown result."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from perdure_server.ports.errors import DocumentTooLarge, StoreError
from perdure_server.store.writes import Write, outcome_of_error, proof
from tests.store.instances import claimed, following, started

OURS, THEIRS = 1, 2
FIRST = started("proof", run_id="a" * 24)
NEXT_ROUND = following(FIRST, run_id="b" * 24, round=2)


def stored(run: str, revision: int, write_id: int) -> dict[str, Any]:
    return {"run_id": run * 24, "revision": revision, "write_id": write_id}


@pytest.mark.parametrize(
    ("old", "new", "document", "expected"),
    [
        # A change: revision 1 -> 2 of one run.
        (FIRST, claimed(FIRST), stored("a", 2, OURS), True),
        (FIRST, claimed(FIRST), stored("a", 2, THEIRS), False),
        (FIRST, claimed(FIRST), stored("a", 3, THEIRS), None),
        (FIRST, claimed(FIRST), stored("c", 2, THEIRS), None),
        (FIRST, claimed(FIRST), None, None),
        # A start: the run is its own.
        (None, FIRST, stored("a", 1, OURS), True),
        (None, FIRST, stored("a", 5, THEIRS), True),
        (None, FIRST, stored("c", 1, THEIRS), None),
        (None, FIRST, None, None),
        # A new round takes the place of the run before.
        (FIRST, NEXT_ROUND, stored("b", 2, OURS), True),
        (FIRST, NEXT_ROUND, stored("b", 9, THEIRS), True),
        (FIRST, NEXT_ROUND, stored("a", 2, THEIRS), False),
        (FIRST, NEXT_ROUND, stored("a", 9, THEIRS), False),
        (FIRST, NEXT_ROUND, stored("c", 2, THEIRS), None),
    ],
)
async def test_c68_proof(old: Any, new: Any, document: Any, expected: bool | None) -> None:
    write = Write(old, new, OURS, asyncio.get_running_loop().create_future())
    assert proof(write, document) is expected


async def test_refusals_of_one_write() -> None:
    write = Write(None, FIRST, OURS, asyncio.get_running_loop().create_future())
    assert outcome_of_error(write, {"code": 11000}) is False
    assert isinstance(
        outcome_of_error(write, {"code": 2, "errmsg": "object to insert too large. size in bytes: 17000000"}), DocumentTooLarge
    )
    assert type(outcome_of_error(write, {"code": 2, "errmsg": "bad"})) is StoreError


async def test_c84_number_beyond_64_bits_is_refused_before_it_is_sent() -> None:
    with pytest.raises(StoreError, match="BSON"):
        Write(None, replace(FIRST, event_seq=2**63), OURS, asyncio.get_running_loop().create_future())
