"""The README's samples are programs, and run."""

import asyncio
import re
import sys
from pathlib import Path

import pytest

from perdure import Client, Context, Definition
from perdure.testing import fake_context
from perdure.v1 import wait_pb2
from perdure_server.main import Running
from tests.processes import environment

README = Path(__file__).parents[2] / "clients" / "python" / "README.md"
SAMPLES = dict(re.findall(r"```python\n# sample: (\w+)\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL))


async def run(program: Path, address: str) -> str:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-W",
        "error",
        str(program),
        env=environment(PERDURE_ADDRESS=address),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(40):
        out, _ = await process.communicate()
    assert process.returncode == 0, out.decode()
    return out.decode()


async def test_the_first_program_runs_as_it_stands_and_again(real: Running, tmp_path: Path) -> None:
    program = tmp_path / "order.py"
    program.write_text(SAMPLES["quickstart"])
    for _ in range(2):  # the second run finds the same workflow, ended
        said = (await run(program, f"127.0.0.1:{real.port}")).splitlines()
        assert re.fullmatch(r"payment-\w{8}: shipped", said[-1])
        assert said[-2] == "COMPLETED"


async def test_the_errors_sample(client: Client) -> None:
    scope: dict[str, object] = {}
    exec(SAMPLES["errors"], scope)
    outcome = scope["outcome"]
    assert callable(outcome)
    assert await outcome(client, "nobody") == "never started"


async def test_the_testing_sample() -> None:
    scope: dict[str, object] = {}
    exec(SAMPLES["testing"], scope)
    test = scope["test_greet"]
    assert callable(test)
    await test()


async def test_a_fake_context_is_a_whole_one() -> None:
    definition = Definition("note")

    @definition.step()
    def work(ctx: Context[int], input: int) -> list[object]:
        woken = ctx.woken(int)
        ctx.alive()
        ctx.progress(1, 2)
        ctx.raise_if_cancelled()
        return [ctx.save_blocking(input), ctx.checkpoint, woken.value if woken else None, ctx.business_key, ctx.labels["tenant"]]

    wake = wait_pb2.Wake(condition="go", signal_id="s", signal_name="go")
    wake.payload.json = "5"
    ctx = fake_context(wakes=[wake], business_key="k", labels={"tenant": "acme"})
    assert await asyncio.to_thread(work, ctx, 3) == [3, 3, 5, "k", "acme"]
    assert (ctx.recorded.signs_of_life, ctx.recorded.frames) == (1, [{"done": 1, "total": 2}])
    ctx.recorded.cancel_reason = "WORKFLOW_CANCELLED"
    with pytest.raises(asyncio.CancelledError, match="WORKFLOW_CANCELLED"):
        await asyncio.to_thread(work, ctx, 3)
