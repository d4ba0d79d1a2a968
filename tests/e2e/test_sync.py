"""The synchronous client and worker on a real server: what Django, Flask, scripts and notebooks use."""

import signal
import subprocess
import sys
import threading
from contextlib import suppress
from datetime import timedelta

import pytest

from perdure import Context, Definition, NotFound, Wait, WorkflowState
from perdure.events import End, Frame
from perdure.sync import Client, Run
from tests.e2e.servers import PerdureProcess

pytestmark = pytest.mark.slow

letter = Definition("sync_letter")


@letter.step()
def draft(ctx: Context[int], input: str) -> str | Wait:
    """A plain function: it runs in a thread, checkpoints, waits and speaks."""
    ctx.frame("drafting ")
    if ctx.checkpoint is None:
        ctx.save_blocking(1)
        return Wait.any(signal="go")
    return f"Dear {input}"


@letter.step()
async def sign(ctx: Context[None], draft: str) -> str:
    return f"{draft}, yours"


def test_a_script_starts_watches_signals_and_gets_the_result(server: PerdureProcess) -> None:
    with Client(server.address) as client, client.worker(letter):
        run = client.start(letter, key="script", input="Ada")
        assert run.created
        assert not client.start(letter, key="script", input="Ada").created
        events = []
        for event in run.watch():
            events.append(event)
            if event.waits_for("go"):
                run.signal("go", signal_id="s1")
        assert run.result(timeout=timedelta(seconds=10)) == "Dear Ada, yours"
        assert isinstance(events[-1], End)
        assert [event.text for event in events if isinstance(event, Frame)] == ["drafting ", "drafting "]
        assert run.get().state is WorkflowState.COMPLETED
        assert [found.business_key for found in client.list(letter)] == ["script"]
        with pytest.raises(NotFound):
            client.get(letter, "nobody")


def test_threads_share_a_client(server: PerdureProcess) -> None:
    many = Definition("sync_many")

    @many.step()
    def twice(ctx: Context[None], input: int) -> int:
        return 2 * input

    results: dict[int, int] = {}
    with Client(server.address) as client, client.worker(many):

        def one(number: int) -> None:
            results[number] = client.start(many, key=str(number), input=number).result(timeout=timedelta(seconds=20))

        threads = [threading.Thread(target=one, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert results == {number: 2 * number for number in range(16)}


def start(client: Client) -> Run:
    """Its definition is known once the program has said hello."""
    for _ in range(1000):
        with suppress(NotFound):
            return client.start("scripted", key="k", input="said")
        threading.Event().wait(0.02)
    pytest.fail("the program has not said hello")


def test_sigterm_lets_a_script_finish_what_it_runs(server: PerdureProcess) -> None:
    command = [sys.executable, "-m", "tests.e2e.sync_program", server.address]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program, Client(server.address) as client:
        assert program.stdin is not None
        assert program.stdout is not None
        run = start(client)
        assert program.stdout.readline() == "begun\n"
        program.send_signal(signal.SIGTERM)
        program.stdin.write("after the signal\n")
        program.stdin.flush()
        assert run.result(timeout=timedelta(seconds=20)) == "said after the signal"
        assert program.wait(20) == 0
