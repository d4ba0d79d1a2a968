"""Which requests are remembered, and that the same id with other content is none of them."""

import pytest

from perdure_server.kernel import limits
from perdure_server.kernel.rejection import Reason
from perdure_server.kernel.requests import is_known, with_request
from tests.kernel.harness import refused

ODD = "a:b.c d"  # whatever a caller may use


@pytest.mark.parametrize("content", ["", "0123"])
def test_an_id_is_remembered_for_its_verb_with_its_content(content: str) -> None:
    entries = with_request((), "resolve", ODD, content)
    assert is_known(entries, "resolve", ODD, content)
    assert not is_known(entries, "replay", ODD, content), "ids are told apart by verb"
    assert not is_known(entries, "resolve", "c d", content)
    assert refused(Reason.REQUEST_ID_REUSED, lambda: is_known(entries, "resolve", ODD, "4567")) == {"request_id": ODD}


def test_the_last_sixteen_are_remembered() -> None:
    entries: tuple[str, ...] = ()
    for number in range(limits.REQUEST_IDS + 1):
        entries = with_request(entries, "pause", str(number))
    assert [is_known(entries, "pause", str(number)) for number in range(3)] == [False, True, True]
    assert with_request(entries, "pause", "") is entries
    assert not is_known(entries, "pause", "")
