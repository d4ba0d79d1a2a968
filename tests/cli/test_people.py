"""What a person decides by command: pause and resume, resolve, replay, terminate, delete, and why something stands still."""

import json
from datetime import timedelta

from perdure import Client, Context, Definition, Failure, Retry, StepState, WorkflowState
from tests.cli.conftest import Command
from tests.conftest import Eventually

payout = Definition("payout")
bank = {"open": False}


@payout.step(retry=Retry(max_attempts=1), on_exhausted="hold")
async def pay(ctx: Context[None], input: int) -> str:
    if not bank["open"]:
        raise Failure("bank.closed", "come back tomorrow")
    return f"paid {input}"


@payout.step()
async def confirm(ctx: Context[None], pay: str) -> str:
    return f"{pay}, confirmed"


async def held(client: Client, key: str) -> bool:
    return (await client.get(payout, key)).steps["pay"].state is StepState.HELD


async def test_a_held_step_is_explained_and_resolved(perdure: Command, client: Client, eventually: Eventually) -> None:
    bank["open"] = False
    async with client.worker(payout):
        run = await client.start(payout, key="p-1", input=7)
        await eventually(lambda: held(client, "p-1"))
        told = await perdure("why", "payout", "p-1")
        assert told.code == 0
        assert "HELD" in told.out
        assert "bank.closed" in told.out
        assert "confirm" in told.out
        as_json = json.loads((await perdure("why", "payout", "p-1", "--step", "pay", "--json")).out)
        assert [step["step"] for step in as_json["steps"]] == ["pay"]
        refused = await perdure("resolve", "payout", "p-1", "pay", "retry", "--output", "1", "--reason", "x")
        assert (refused.code, "--output" in refused.err) == (2, True)
        done = await perdure("resolve", "payout", "p-1", "pay", "complete", "--output", '"in cash"', "--reason", "done by hand")
        assert (done.code, done.out) == (0, "payout/p-1: pay is resolved (complete)\n")
        assert await run.result(timeout=timedelta(seconds=10)) == "in cash, confirmed"


async def test_pause_resume_terminate_replay_and_delete(perdure: Command, client: Client) -> None:
    bank["open"] = True
    await client.definitions.register(payout, activate=True)
    run = await client.start(payout, key="p-2", input=7)
    assert (await perdure("pause", "payout", "p-2", "--reason", "freeze")).code == 0
    assert "paused" in (await perdure("why", "payout", "p-2")).out
    assert (await run.get()).phase == "PAUSED"
    assert json.loads((await perdure("resume", "payout", "p-2", "--json")).out) == {"paused": False}
    assert (await perdure("terminate", "payout", "p-2")).code == 2, "nobody can be asked: --yes"
    assert (await perdure("terminate", "payout", "p-2", "--yes", "--reason", "wrong customer")).code == 0
    ended = await run.get()
    assert ended.state is WorkflowState.TERMINATED
    assert (await perdure("pause", "payout", "p-2")).code == 4
    again = await perdure("replay", "payout", "p-2", "--fence", str(ended.fence), "--reason", "right after all")
    assert (again.code, "pay" in again.out) == (0, True)
    assert (await perdure("replay", "payout", "p-2", "--fence", str(ended.fence))).code == 4
    async with client.worker(payout):
        assert await run.result(timeout=timedelta(seconds=10)) == "paid 7, confirmed"
    assert (await perdure("delete", "payout", "p-2", "--yes")).code == 0
    assert (await perdure("show", "payout", "p-2")).code == 5
