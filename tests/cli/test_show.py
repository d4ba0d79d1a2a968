"""`perdure show` in words: what ended a wait, who asked for a stop and why, and when something is due; and whom `audit` names."""

from datetime import UTC, datetime, timedelta

import pytest

from perdure import Client, Definition
from perdure.cli.output import about, due
from perdure.v1 import workflow_pb2
from perdure.view import workflow_of
from tests.cli.conftest import Command


def waiting() -> Definition:
    definition = Definition("gate")
    definition.wait("approval", signal="approve", timeout=timedelta(days=1))
    definition.wait("pause", after="approval", timeout=timedelta(0))
    return definition


async def test_the_output_of_a_wait_is_told_in_words(perdure: Command, client: Client) -> None:
    await client.definitions.register(waiting(), activate=True)
    run = await client.start("gate", key="k")
    await run.signal("approve", {"by": "ann"})
    await run.result()
    shown = (await perdure("show", "gate", "k")).out
    assert 'ended by approve: {"by":"ann"}' in shown
    assert "ended by after" in shown
    steps = [line for line in shown.splitlines() if "COMPLETED" in line and "state" not in line]
    assert len(steps) == 2
    assert not [line for line in steps if "wakes" in line or "signalId" in line], "not the JSON of the wire"


async def test_a_cancel_is_shown_with_its_reason(perdure: Command, client: Client) -> None:
    await client.definitions.register(waiting(), activate=True)
    await (await client.start("gate", key="k")).cancel("no need any more")
    await (await client.start("gate", key="t")).terminate("it hung")
    await client.start("gate", key="open")
    assert "s ago: no need any more" in (await perdure("show", "gate", "k")).out
    assert "it hung" in (await perdure("show", "gate", "t")).out
    assert "stop asked" not in (await perdure("show", "gate", "open")).out


@pytest.mark.parametrize(
    ("distance", "told"), [(timedelta(minutes=3, seconds=1), "in 3m"), (timedelta(milliseconds=400), "now"), (-timedelta(minutes=3), "now")]
)
def test_what_is_due_is_due_now_and_not_in_no_time(distance: timedelta, told: str) -> None:
    assert due(datetime.now(UTC) + distance) == told
    assert due(None) == ""


def test_a_step_that_is_due_says_so() -> None:
    message = workflow_pb2.Workflow()
    step = message.steps.add(name="a", state=workflow_pb2.StepView.STATE_BACKOFF)
    step.next_time.FromDatetime(datetime.now(UTC))
    assert about(workflow_of(message).steps["a"]) == "next now"


async def test_the_trail_of_a_server_that_asks_nobody_says_so_and_from_where(perdure: Command, client: Client) -> None:
    await client.definitions.register(waiting(), activate=True)
    await (await client.start("gate", key="k")).cancel("enough")
    told = (await perdure("audit", "--method", "CancelWorkflow")).out
    assert "(anyone)" in told
    assert "127.0.0.1" in told
    assert "enough" in told
