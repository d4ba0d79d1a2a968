"""When two inputs are the same."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure_server.kernel import limits
from perdure_server.kernel.canonical import check_json, payload_digest
from perdure_server.kernel.rejection import FieldViolation, Reason
from perdure_server.kernel.values import Payload


def digest(text: str) -> bytes:
    """The digest of a JSON input."""
    return payload_digest("input", Payload(json=text))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a":1,"b":2}', '{ "b" : 2,\n\t"a" : 1 }'),
        ('{"a":{"x":1,"y":[true,null]}}', '{"a": {"y": [true, null], "x": 1}}'),
        ('"\\u00e9"', '"é"'),
        ('"\\/"', '"/"'),
        ('"\\ud83d\\ude00"', '"😀"'),
        ('{"\\u0061":1}', '{"a":1}'),
        ("[]", "[ ]"),
        ("18446744073709551616", " 18446744073709551616 "),
    ],
)
def test_the_same(one: str, other: str) -> None:
    assert digest(one) == digest(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1", "1.0"),  # numbers as written
        ("1", '"1"'),
        ("1", "[1]"),
        ("0", "-0"),
        ("1e2", "100"),
        ("9007199254740993", "9007199254740992"),  # C84: beyond 53 bits
        ("18446744073709551616", "18446744073709551617"),  # beyond 64
        ("[1,2]", "[2,1]"),
        ("null", '"null"'),
        ("true", '"true"'),
        ('{"a":null}', "{}"),
        ('"e\\u0301"', '"\\u00e9"'),  # no Unicode normalisation
        ('{"a":"b"}', '["a","b"]'),
    ],
)
def test_not_the_same(one: str, other: str) -> None:
    assert digest(one) != digest(other)


def test_no_value_is_not_null_and_the_clients_digest_decides_if_given() -> None:
    assert payload_digest("input", None) != digest("null")
    one, other = Payload(json="1", digest="k"), Payload(json="2", digest="k")
    assert payload_digest("input", one) == payload_digest("input", other)
    assert payload_digest("input", one) != payload_digest("input", Payload(json="1", digest="l"))


def test_bytes_and_content_type() -> None:
    def of(binary: bytes, content_type: str = "", encoding: str = "") -> bytes:
        return payload_digest("input", Payload(binary=binary, content_type=content_type, encoding=encoding))

    assert of(b"x", "text/plain") == of(b"x", "text/plain")
    different = [of(b"x"), of(b"y"), of(b"x", "text/plain"), of(b"x", "", "zstd"), of(b"", "x"), of(b""), digest('"x"')]
    assert len(set(different)) == len(different)


def test_an_encoded_json_payload_is_bytes_to_us() -> None:
    assert payload_digest("input", Payload(json="not json", encoding="aes")) != payload_digest(
        "input", Payload(json="other", encoding="aes")
    )
    plain, typed = Payload(json="{}"), Payload(json="{}", content_type="application/json")
    assert payload_digest("input", plain) == payload_digest("input", typed), "of JSON the value decides, not its label"


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "{",
        "[1,]",
        "{'a':1}",
        "nul",
        "NaN",
        "-Infinity",
        '{"a":Infinity}',
        "01",
        "1.",
        '"\t"',
        '"\\x"',
        "1 2",
        "\ufeff1",
        '"\\ud800"',
        '{"\\udfff":1}',
        '["a","\\ud83d"]',
        '{"a":1,"a":1}',
        '{"b":{"a":1,"\\u0061":2}}',
        '{"a":1,"b":2,"a":3}',
    ],
)
def test_c81_what_is_no_strict_json_is_refused(text: str) -> None:
    for check in (lambda: check_json("input.json", text), lambda: digest(text)):
        with pytest.raises(FieldViolation) as caught:
            check()
        assert caught.value.reason is Reason.PAYLOAD_INVALID
        assert len(caught.value.violations) == 1


def test_the_violation_names_the_field_and_what_is_wrong() -> None:
    with pytest.raises(FieldViolation) as caught:
        check_json("signal.payload.json", '{"a":1,"a":2}')
    assert caught.value.violations == [("signal.payload.json", "has a duplicate key in a JSON object")]


@pytest.mark.parametrize("bracket", ["[]", "{}"])
def test_c83_depth_is_bounded_whatever_the_shape(bracket: str) -> None:
    def nested(depth: int) -> str:
        inner = '{"a":' if bracket == "{}" else "["
        return inner * (depth - 1) + bracket + ("}" if bracket == "{}" else "]") * (depth - 1)

    check_json("input", nested(limits.JSON_DEPTH))
    digest(nested(limits.JSON_DEPTH))
    for depth in (limits.JSON_DEPTH + 1, 1_000, 100_000):
        with pytest.raises(FieldViolation, match="nests deeper"):
            check_json("input", nested(depth))


def test_c83_brackets_in_strings_and_beside_each_other_are_no_depth() -> None:
    check_json("input", json.dumps("[" * 1_000 + '\\"' + "{" * 1_000))
    check_json("input", json.dumps([[{}]] * 1_000))
    check_json("input", '["' + "[" * 200 + '\\\\",' + "[]," * 200 + "1]")


@pytest.mark.parametrize("text", ['"' + '\\"' * 500_000, "[" * 91 + '"' * 500_001, '["' + "\\" * 500_001, '{"a":"' + "[{" * 250_000])
def test_c83_long_broken_texts_are_refused_in_linear_time(text: str) -> None:
    with pytest.raises(FieldViolation):  # quadratic would take hours: pytest-timeout says so
        check_json("input", text)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda children: (
        st.lists(children, max_size=4) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), children, max_size=4)
    ),
    max_leaves=12,
)


def _shuffled(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shuffled(value[key]) for key in reversed(value)}
    return [_shuffled(item) for item in value] if isinstance(value, list) else value


@given(VALUES)
def test_any_way_of_writing_a_value_is_the_same_input(value: Any) -> None:
    ways = [
        json.dumps(value),
        json.dumps(value, ensure_ascii=False),
        json.dumps(_shuffled(value), indent=3),
        json.dumps(_shuffled(value), separators=(",", ":")),
    ]
    assert len({digest(way) for way in ways}) == 1


@given(VALUES, VALUES)
def test_two_values_are_the_same_input_only_if_they_are_equal(one: Any, other: Any) -> None:
    written = [json.dumps(value, sort_keys=True) for value in (one, other)]
    assert (digest(written[0]) == digest(written[1])) == (written[0] == written[1])
