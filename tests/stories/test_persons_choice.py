"""A draft waits days for a person, in no worker and over restarts; the choice takes one branch, and the other is skipped."""

from datetime import timedelta

import pytest

from perdure import Client, Condition, Context, Definition, Run, Woken
from tests.conftest import Eventually
from tests.e2e.servers import PerdureProcess
from tests.stories.conftest import Working

pytestmark = pytest.mark.slow

letter = Definition("letter", output="archive")


@letter.step()
async def draft(ctx: Context[None], input: str) -> str:
    return f"Dear {input}"


choice = letter.wait(
    "choice",
    Condition("approve", choose=("send",)),
    Condition("reject", choose=("drop",)),
    Condition(after=timedelta(days=3), choose=("drop",)),
    after=draft,
    payload=str,
)


@letter.step(after=choice.branch("send"))
async def send(ctx: Context[None], draft: str, choice: Woken[str]) -> str:
    return f"{draft}, signed {choice.value}"


@letter.step(after=choice.branch("drop"))
async def drop(ctx: Context[None]) -> str:
    return "dropped"


@letter.step(after=["send", "drop"])
async def archive(ctx: Context[None], choice: Woken[str]) -> str:
    return choice.condition


@pytest.mark.parametrize("signal", ["approve", "reject"])
async def test_a_persons_choice_takes_its_branch(
    client: Client, server: PerdureProcess, working: Working, eventually: Eventually, signal: str
) -> None:
    taken, skipped = ("send", "drop") if signal == "approve" else ("drop", "send")
    async with working(letter):
        run = await client.start(letter, key=signal, input="Ada")
        await eventually(lambda: waiting(run))

    # Nobody works; the server comes and goes. The wait is a fact in the store.
    server.kill()
    server.start()
    assert await waiting(run)
    await run.signal(signal, "Grace", signal_id="click-1")

    async with working(letter):
        assert await run.result(timeout=timedelta(seconds=20)) == signal
    steps = (await run.get()).steps
    assert (steps[taken].state, steps[skipped].state) == ("COMPLETED", "SKIPPED")
    if taken == "send":
        assert steps["send"].output() == "Dear Ada, signed Grace"


async def waiting(run: Run) -> bool:
    return (await run.get()).steps["choice"].state == "WAITING"
