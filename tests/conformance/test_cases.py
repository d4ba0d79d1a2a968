"""Every case in every language."""

from collections.abc import Callable

import pytest

from tests.conformance.case_file import Case, all_cases
from tests.conformance.play import Play
from tests.conformance.stage import Stage

CASES = all_cases()


@pytest.fixture(autouse=True)
def named(record_property: Callable[[str, object], None], language: str) -> None:
    record_property("language", language)


@pytest.mark.conformance
@pytest.mark.timeout(180)
@pytest.mark.parametrize("case", CASES, ids=[case.name.replace(" ", "-") for case in CASES])
def test_case(case: Case, ready: str, stage: Stage) -> None:
    Play(case, ready, stage).run()
