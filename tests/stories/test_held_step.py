"""A step has no retries left: it is held and asks for a person, who decides; nothing else was lost meanwhile."""

from datetime import timedelta

import pytest

from perdure import Client, Context, Definition, Failure, NotAllowed, Resolution, Retry, Run, StepState, WorkflowFailed
from tests.conftest import Eventually
from tests.stories.conftest import Working

pytestmark = pytest.mark.slow

payout = Definition("payout")
bank = {"open": False}


@payout.step()
async def compute(ctx: Context[None], input: int) -> int:
    return input * 2


@payout.step(retry=Retry(max_attempts=2, initial_interval=timedelta(milliseconds=20)), on_exhausted="hold")
async def pay(ctx: Context[None], compute: int) -> str:
    if not bank["open"]:
        raise Failure("bank.closed", "come back tomorrow")
    return f"paid {compute}"


@payout.step()
async def confirm(ctx: Context[None], pay: str) -> str:
    return f"{pay}, confirmed"


async def held(run: Run) -> bool:
    return (await run.get()).steps["pay"].state is StepState.HELD


@pytest.mark.parametrize("decision", ["retry", "completed", "failed"])
async def test_a_person_resolves_the_held_step(client: Client, working: Working, eventually: Eventually, decision: str) -> None:
    bank["open"] = False
    async with working(payout):
        run = await client.start(payout, key=decision, input=21)
        await eventually(lambda: held(run))
        found = await run.get()
        assert (found.phase, found.steps["pay"].attempt) == ("NEEDS_ATTENTION", 2)
        bank["open"] = True
        if decision == "retry":
            await run.resolve(pay, Resolution.retry(), reason="the bank is open")
            assert await run.result(timeout=timedelta(seconds=20)) == "paid 42, confirmed"
        elif decision == "completed":
            await run.resolve(pay, Resolution.completed("paid in cash"), reason="done by hand")
            assert await run.result(timeout=timedelta(seconds=20)) == "paid in cash, confirmed"
        else:
            await run.resolve(pay, Resolution.failed(Failure("bank.refused", "no")), reason="give up")
            with pytest.raises(WorkflowFailed, match="no"):
                await run.result(timeout=timedelta(seconds=20))
        with pytest.raises(NotAllowed):
            await run.resolve(pay, Resolution.retry(), reason="too late")
    assert (await run.get()).steps["compute"].attempt == 1
