"""What a case means by `like`."""

import pytest

from tests.conformance.matching import Missing, at, differences, expected, filled

VARIABLES = {"run": "r-1", "n": 7}


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1}, {"a": 1.0}),
        ({"a": {"$absent": True}}, {}),
        ({"a": {"$exactly": {"b": [1, None]}}}, {"a": {"b": [1, None]}}),
        ({"a": {"$any": True}}, {"a": 0}),
        ({"a": {"$not": 1}}, {"a": 2}),
        ({"a": {"$matches": "^x"}}, {"a": "xy"}),
        ({"a": {"$has": [{"b": 1}]}}, {"a": [{"b": 2}, {"b": 1, "c": 3}]}),
        ({"a": {"$size": 2}}, {"a": [1, 2]}),
        ({"a": {"$least": 2}}, {"a": 2}),
        ({"a": {"$one_of": [1, 2]}}, {"a": 2}),
        ([{"a": 1}, 2], [{"a": 1, "b": 0}, 2]),
        ({"a": None}, {"a": None}),
        (9007199254740993, 9007199254740993),
    ],
)
def test_alike(wanted: object, found: object) -> None:
    assert differences(wanted, found) == []


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"a": 1}, {}),
        ({"a": 1}, {"a": True}),
        ({"a": "1"}, {"a": 1}),
        ({"a": None}, {}),
        ({"a": {"$absent": True}}, {"a": None}),
        ({"a": {"$exactly": {"b": 1}}}, {"a": {"b": 1, "c": 2}}),
        ({"a": {"$exactly": [True]}}, {"a": [1]}),
        ({"a": {"$any": True}}, {"a": None}),
        ({"a": {"$not": 1}}, {"a": 1}),
        ({"a": {"$matches": "^x"}}, {"a": 1}),
        ({"a": {"$has": [{"b": 1}]}}, {"a": [{"b": 2}]}),
        ({"a": {"$size": 2}}, {"a": [1]}),
        ({"a": {"$least": 2}}, {"a": 1}),
        ({"a": {"$one_of": [1, 2]}}, {"a": 3}),
        ([1, 2], [1]),
        ({"a": 1}, [1]),
        (9007199254740993, 9007199254740992),
    ],
)
def test_not_alike(wanted: object, found: object) -> None:
    assert differences(wanted, found)


def test_variables_keep_their_type_where_they_stand_alone() -> None:
    wanted = {"run": "${run}", "n": "${n}", "text": "k-${n}", "long": {"$repeat": "ab", "times": 3}, "gone": {"$absent": True}}
    assert filled(wanted, VARIABLES.__getitem__) == {"run": "r-1", "n": 7, "text": "k-7", "long": "ababab"}
    assert expected(wanted, VARIABLES.__getitem__)["gone"] == {"$absent": True}


def test_a_part_is_found_by_its_path() -> None:
    found = {"a": [{"b": 1}]}
    assert at("a.0.b", found) == 1
    for path in ("a.1", "a.x", "c"):
        with pytest.raises(Missing):
            at(path, found)
