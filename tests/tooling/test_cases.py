"""docs/cases.md tells the truth: every case has a test, and the table is fresh."""

from tools import cases


def test_every_case_has_a_test() -> None:
    tests = cases.tests_of_cases()
    assert [f"C{number}" for number in cases.titles() if number not in tests] == []


def test_the_table_is_fresh() -> None:
    assert cases.TARGET.read_text(encoding="utf-8") == cases.document(), "run `python tools/cases.py`"


def test_a_number_is_found_wherever_it_stands_in_a_name() -> None:
    assert cases.NUMBER.findall("c01_c02_same_key_and_c3_no_c120") == ["01", "02"]
