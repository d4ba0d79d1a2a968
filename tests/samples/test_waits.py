"""examples/waits: each wait runs, and costs what the page about it says."""

import re

import pytest

from tests.samples.conftest import RunSample
from tests.samples.program import ROOT

PAGE = ROOT / "docs" / "how-to" / "choose-a-wait.md"
SAID = re.compile(r"^(?P<name>\w+) +(?P<claims>\d+) claims, (?P<changes>\d+) changes, (?P<documents>\d+) documents: (?P<result>.*)$")


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_each_wait_runs_and_costs_what_the_page_says(sample: RunSample) -> None:
    lines = await sample("examples.waits").ends()
    measured = {found["name"]: found for line in lines if (found := SAID.match(line))}
    told = re.findall(r"^\| \[(\w+)\]\(\S+\) \| .* \| (\d+)(?: \+ one per poll)? \| (\d+) \|$", PAGE.read_text(), re.MULTILINE)
    assert [name for name, _, _ in told] == list(measured)
    for name, claims, documents in told:
        assert documents == measured[name]["documents"], name
        if name == "polling":
            assert int(claims) < int(measured[name]["claims"])
        else:
            assert claims == measured[name]["claims"], name
