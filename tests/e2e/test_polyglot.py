"""One workflow through workers of four languages, as `make demo-polyglot` shows it; here the spans are looked at, too."""

from pathlib import Path

import pytest

from examples.polyglot.__main__ import faults
from examples.polyglot.relay import relay
from examples.polyglot.story import HERE, STEPS, play
from perdure import Client
from perdure.definition_file import load_definition
from tests.conftest import Eventually
from tests.e2e.conftest import MakeServer
from tests.processes import REQUIRE_SERVERS
from tests.telemetry.otlp_receiver import receiving

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

LEASE_MS = 6_000
"""Longer than of other stories: seven processes of four languages begin at once, on two cores, and must renew in time."""
WAITED = {"workflow relay", "workflow relay ended", *(f"relay/{step}" for step in STEPS)}


async def test_one_workflow_runs_in_four_languages_and_a_step_is_added_by_one_team_alone(
    new_server: MakeServer, eventually: Eventually, tmp_path: Path
) -> None:
    lines: list[str] = []
    async with receiving() as collector:
        server = new_server(otlp_endpoint=collector.endpoint, session_lease_ms=LEASE_MS)
        story = await play(server.address, tmp_path, lines.append, otlp_endpoint=collector.endpoint)
        assert list(faults(story)) == [], "\n".join(lines)
        assert story.first is not None
        assert story.second is not None
        traces = {story.first.trace_id, story.second.trace_id}
        await eventually(lambda: set(collector.names()) >= WAITED, what="the servers have told all")
        assert {span.trace_id for span in collector.spans} == traces
        told = {span.resource["service.name"] for span in collector.spans if span.trace_id == story.first.trace_id}
        assert {"perdure", "relay-python"} <= told
        attempts = [span for span in collector.spans if (span.name, span.trace_id) == (f"relay/{story.killed}", story.first.trace_id)]
        assert len(attempts) == 2, "the one that was lost, and the one that replaced it"
    if REQUIRE_SERVERS:
        assert not story.absent, "in CI all languages take part"


async def test_the_story_is_the_same_where_python_stands_in_for_all(new_server: MakeServer, tmp_path: Path) -> None:
    absent = {language: "not wanted here" for language in STEPS.values() if language != "python"}
    lines: list[str] = []
    story = await play(new_server(session_lease_ms=LEASE_MS).address, tmp_path, lines.append, absent=absent)
    assert list(faults(story)) == []
    assert "go is left out: not wanted here" in lines
    assert story.killed == "count"


async def test_the_files_are_the_definitions_of_the_code(new_server: MakeServer) -> None:
    async with Client(new_server().address) as client:
        for file, signed in (("relay.yaml", False), ("relay_signed.yaml", True)):
            of_file = await client.definitions.register(load_definition(HERE / file))
            of_code = await client.definitions.register(relay(signed=signed))
            assert of_file.fingerprint == of_code.fingerprint
