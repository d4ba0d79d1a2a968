"""examples/agent: it does what it may, spends what it has once, and acts when a person has said yes."""

import json
import sqlite3
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from datetime import timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from examples.agent.ledger import Ledger
from examples.agent.model import Answer, Message, NotCharged, ToolCall
from examples.agent.openai_compatible import OpenAiCompatible
from examples.agent.plan import Decision, Task, agent_definition, draft_id
from examples.agent.scripted import SCRIPT, ScriptedModel
from examples.agent.shop import Draft, Outbox, schemas, use
from perdure import Client, Definition, Failure, Frame, Run, StepState, WorkflowFailed
from perdure.testing import TestServer, start_server
from tests.samples.conftest import RunSample

TASK = Task("My order 17 is not here yet. Where is it? Ada")


class CountingModel(ScriptedModel):
    """Counts how often it is asked, and may be out of order."""

    asked = 0
    broken = False

    def answer(self, *arguments: Any) -> Answer:
        if self.broken:
            raise NotCharged("429: later")
        self.asked += 1
        return super().answer(*arguments)


class Office:
    """An agent with all that belongs to it."""

    def __init__(self, directory: Path) -> None:
        self.model = CountingModel()
        self.ledger = Ledger(directory / "calls.sqlite")
        self.outbox = Outbox(directory / "letters.sqlite")
        self.agent: Definition = agent_definition(self.model, self.ledger, self.outbox)


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path)


@pytest.fixture
async def test_server() -> AsyncIterator[TestServer]:
    """A server whose time the test moves."""
    async with start_server() as made:
        yield made


async def decide(run: Run, *, approve: bool) -> None:
    draft: Draft = (await run.get()).steps["prepare"].output(Draft)
    await run.signal("confirm", Decision(approve, draft_id(draft), "eve"), signal_id="one")


async def test_it_uses_allowed_tools_drafts_anew_and_acts_after_a_yes(test_server: TestServer, office: Office) -> None:
    async with test_server.client() as client, client.worker(office.agent):
        run = await client.start(office.agent, key="a", input=TASK)
        await test_server.wait_idle()
        assert office.outbox.sent() == [], "nothing is done before a person has said yes"
        await decide(run, approve=True)
        assert await test_server.result(run) == "sent to ada@example.org, as eve said"
        told = [event.text async for event in run.watch() if isinstance(event, Frame) and event.kind == "LOG"]
    assert office.outbox.sent() == [("ada@example.org", 490)]
    assert office.model.asked == len(SCRIPT)
    assert [line for line in told if "refused" in line] == [
        'refund_now({"number": 17, "cents": 4900}): refused: refund_now is not allowed; allowed are find_order, track_parcel',
        "draft refused: Expected `int` <= 5000 - at `$.refund_cents`",
    ]


async def test_a_no_and_a_deadline_send_nothing(test_server: TestServer, office: Office) -> None:
    async with test_server.client() as client, client.worker(office.agent):
        refused, forgotten = [await client.start(office.agent, key=key, input=TASK) for key in ("b", "c")]
        await test_server.wait_idle()
        await decide(refused, approve=False)
        assert await test_server.result(refused) == "nothing was sent: eve said no"
        await test_server.advance(timedelta(days=2))
        assert await test_server.result(forgotten) == "nothing was sent: nobody decided in time"
    assert office.outbox.sent() == []


async def test_a_yes_to_another_draft_is_no_yes(test_server: TestServer, office: Office) -> None:
    async with test_server.client() as client, client.worker(office.agent):
        run = await client.start(office.agent, key="d", input=TASK)
        await run.signal("confirm", Decision(approve=True, draft="old", by="eve"))
        assert await test_server.result(run) == "nothing was sent: eve has read another draft, old"


async def test_a_replay_asks_the_model_nothing_again(test_server: TestServer, office: Office) -> None:
    async with test_server.client() as client, client.worker(office.agent):
        run = await client.start(office.agent, key="e", input=TASK)
        await test_server.wait_idle()
        await decide(run, approve=True)
        await test_server.result(run)
        asked, used = office.model.asked, office.ledger.used("e/1")
        await run.replay(reopen="prepare", reason="the person wants to see it again")
        await test_server.wait_idle()
        assert (await run.get()).steps["confirm"].state is StepState.WAITING
        draft: Draft = (await run.get()).steps["prepare"].output(Draft)
        await run.signal("confirm", Decision(approve=True, draft=draft_id(draft), by="eve"), signal_id="two")
        await test_server.result(run)
    assert (office.model.asked, office.ledger.used("e/1")) == (asked, used)
    assert len(office.outbox.sent()) == 2, "a replay of what was done does it again, since a person asked for it and said yes again"


async def test_the_budget_holds(test_server: TestServer, office: Office) -> None:
    async with test_server.client() as client, client.worker(office.agent):
        run = await client.start(office.agent, key="f", input=Task(TASK.letter, budget_tokens=1_500))
        with pytest.raises(WorkflowFailed, match=r"agent\.budget_exhausted"):
            await test_server.result(run)
        asked = office.model.asked
        assert 0 < asked < len(SCRIPT)
        assert office.ledger.used("f/1") <= 1_500
        await run.replay()
        with pytest.raises(WorkflowFailed, match=r"agent\.budget_exhausted"):
            await test_server.result(run)
    assert office.model.asked == asked


async def test_what_the_model_refuses_costs_nothing(test_server: TestServer, office: Office) -> None:
    office.model.broken = True
    async with test_server.client() as client, client.worker(office.agent):
        run = await client.start(office.agent, key="g", input=TASK)
        with pytest.raises(WorkflowFailed, match="429: later"):
            await test_server.result(run)
        assert office.ledger.used("g/1") == 0


def test_a_lost_answer_counts_and_a_known_one_is_given_again(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "calls.sqlite")

    def lose() -> Answer:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        ledger.once("t", b"question", 100, 250, lose)
    assert ledger.used("t") == 100
    answer = Answer(Message("assistant", "yes"), 30)
    assert ledger.once("t", b"question", 100, 250, lambda: answer) == answer
    assert ledger.once("t", b"question", 100, 250, lose) == answer
    assert ledger.used("t") == 130
    with pytest.raises(Failure, match=r"agent\.budget_exhausted"):
        ledger.once("t", b"another", 121, 250, lose)


def test_a_tool_takes_no_wrong_arguments() -> None:
    assert use(ToolCall("1", "find_order", '{"number": "17; DROP"}')) == "refused: Expected `int`, got `str` - at `$.number`"
    assert use(ToolCall("1", "find_order", '{"number": 18}')) == '"no such order"'


# ---- a real endpoint's protocol


class Endpoint(BaseHTTPRequestHandler):
    """Notes what it is asked, and gives its answers in order."""

    def __init__(self, asked: list[Any], answers: Iterator[tuple[int, Any]], *arguments: Any) -> None:
        self.asked, self.answers = asked, answers
        super().__init__(*arguments)

    def do_POST(self) -> None:
        self.asked.append((self.path, self.headers["Authorization"], json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
        status, answer = next(self.answers)
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *_: object) -> None:
        """Quiet."""


def test_a_real_model_is_one_class() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "find_order", "arguments": '{"number": 17}'}}
    said = {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [call]}}], "usage": {"total_tokens": 42}}
    asked: list[Any] = []
    answers = iter([(200, said), (429, {"error": "slow down"}), (500, {})])
    with HTTPServer(("127.0.0.1", 0), partial(Endpoint, asked, answers)) as endpoint:
        serving = threading.Thread(target=endpoint.serve_forever)
        serving.start()
        model = OpenAiCompatible(f"http://127.0.0.1:{endpoint.server_port}/v1/", "small", "key")
        conversation = [
            Message("user", "Where is it?"),
            Message("assistant", calls=(ToolCall("b", "x", "{}"),)),
            Message("tool", "no", call_id="b"),
        ]
        answer = model.answer(conversation, schemas(), 100)
        with pytest.raises(NotCharged, match=r"429: .*slow down"):
            model.answer(conversation, schemas(), 100)
        with pytest.raises(OSError, match="500"):
            model.answer(conversation, schemas(), 100)
        endpoint.shutdown()
        serving.join()
    assert answer == Answer(Message("assistant", "", (ToolCall("c", "find_order", '{"number": 17}'),)), 42)
    path, key, body = asked[0]
    assert (path, key, body["model"], body["max_tokens"]) == ("/v1/chat/completions", "Bearer key", "small", 100)
    assert body["messages"][1]["tool_calls"][0]["function"] == {"name": "x", "arguments": "{}"}
    assert body["messages"][2] == {"role": "tool", "content": "no", "tool_call_id": "b"}
    assert body["tools"][0]["function"]["parameters"]["properties"] == {"number": {"type": "integer"}}
    with pytest.raises(NotCharged, match="nobody answers"):
        model.answer(conversation, schemas(), 100)


# ---- the whole program, killed


def calls(directory: Path) -> list[tuple[str, int, int | None]]:
    with closing(sqlite3.connect(directory / "calls.sqlite")) as database:
        return database.execute("SELECT question, try, spent FROM calls ORDER BY rowid").fetchall()


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_kill_9_in_a_call_and_at_the_wait(sample: RunSample, client: Client, tmp_path: Path) -> None:
    command = ("examples.agent", "k", "--directory", tmp_path, "--pause", 1.5)
    first = sample(*command)
    await first.says("No model is installed: a scripted one stands in")
    await first.says("find_order")
    await first.says("[1.7]")  # the third call is on its way
    await first.kill()
    second = sample(*command)
    told = await second.says("Say yes or no")
    await second.kill()
    assert await sample("examples.agent.confirm", *told.split()[-3:]).ends() == []
    lines = await sample(*command).ends()
    assert "sent to ada@example.org" in lines[-2]
    made = calls(tmp_path)
    assert len({question for question, _, _ in made}) == len(SCRIPT)
    assert [spent for _, _, spent in made].count(None) == 1, "the call that was cut short counts, and is made again"
    assert len(made) == len(SCRIPT) + 1
    assert Outbox(tmp_path / "letters.sqlite").sent() == [("ada@example.org", 490)]
    assert (await client.get("agent", "k")).state == "COMPLETED"
