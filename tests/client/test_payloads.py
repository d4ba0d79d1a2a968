"""Values to payloads and back."""

import math
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure import Payload, PayloadRejected
from perdure.durations import format_duration, parse_duration
from perdure.payloads import decode, encode, inline
from perdure.v1 import payload_pb2


class Colour(Enum):
    RED = "red"


@dataclass
class Line:
    text: str
    at: datetime
    colours: list[Colour] = field(default_factory=list)
    took: timedelta = timedelta()


def round_trip(value: object, as_type: Any) -> Any:
    return decode(encode(value), as_type)


def test_dataclasses_dates_and_enums_come_back_as_they_were() -> None:
    line = Line("é", datetime(2030, 1, 1, tzinfo=UTC), [Colour.RED], timedelta(seconds=1.5))
    assert round_trip(line, Line) == line
    assert round_trip([line], list[Line]) == [line]


@given(st.integers(-(2**80), 2**80))
def test_c84_integers_stay_exact(number: int) -> None:
    assert round_trip({"n": number}, dict[str, int]) == {"n": number}
    assert round_trip(number, Any) == number


LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()


@given(st.recursive(LEAVES, lambda leaf: st.lists(leaf) | st.dictionaries(st.text(), leaf), max_leaves=20))
def test_what_json_can_hold_comes_back(value: object) -> None:
    assert round_trip([value], Any) == [value]


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_c81_nan_and_infinity_are_refused_with_their_place(number: float) -> None:
    with pytest.raises(PayloadRejected, match=r"at `rows\[1\]\.score`"):
        encode({"rows": [{"score": None}, {"score": number}]})
    with pytest.raises(PayloadRejected, match="at `value`"):
        encode(number)


@pytest.mark.parametrize("value", ["\ud800", {"k": "\udfff"}, object(), {"f": print}])
def test_what_cannot_travel_is_refused(value: object) -> None:
    with pytest.raises(PayloadRejected, match="cannot travel"):
        encode(value)


def test_none_is_no_value_and_bytes_are_bytes() -> None:
    assert encode(None) is None
    assert decode(None, int | None) is None
    assert decode(None) is None
    with pytest.raises(PayloadRejected, match="there is no value"):
        decode(None, int)
    assert round_trip(b"\x00", bytes) == b"\x00"
    assert round_trip(bytearray(b"\x01"), Any) == b"\x01"
    with pytest.raises(PayloadRejected, match="binary"):
        round_trip(b"\x00", str)


def test_refs_and_encoded_values_are_not_guessed_at() -> None:
    with pytest.raises(PayloadRejected, match="fetch it first"):
        decode(payload_pb2.Payload(ref=payload_pb2.PayloadRef(payload_id="x", size_bytes=5)), str)
    sealed = payload_pb2.Payload(binary=b"x", encoding="aes-gcm")
    with pytest.raises(PayloadRejected, match="aes-gcm"):
        decode(sealed, bytes)
    assert decode(sealed, Payload) == Payload(binary=b"x", encoding="aes-gcm")
    assert inline(sealed) == "<encrypted (aes-gcm, key unknown)>"


@given(st.integers(0, 10**12))
def test_durations_come_back(milliseconds: int) -> None:
    duration = timedelta(milliseconds=milliseconds)
    assert parse_duration(format_duration(duration)) == duration


@pytest.mark.parametrize("text", ["", "30", "s", "1h30", "1 fortnight", "-5s", "1e3s"])
def test_durations_need_a_unit(text: str) -> None:
    with pytest.raises(ValueError, match="write a number and a unit"):
        parse_duration(text)
