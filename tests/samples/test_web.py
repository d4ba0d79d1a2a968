"""examples/web: the same pages on Flask and on FastAPI, asked over real HTTP."""

import re

import pytest

from tests.samples.browser import Message, read, request
from tests.samples.conftest import RunSample

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


@pytest.mark.parametrize("kind", ["flask", "fastapi"])
async def test_start_show_watch_and_approve(kind: str, sample: RunSample) -> None:
    key = f"{kind}-1"
    pages = sample(f"examples.web.{kind}_app", "--port", 0)
    worker = sample("examples.web.worker")
    await worker.begin()
    port = int(re.findall(r"http://127\.0\.0\.1:(\d+)", await pages.says("http://"))[0])
    url = f"http://127.0.0.1:{port}/exports/{key}"
    assert (await request(url))[0] == 404
    asked = {"rows": 12, "pause_seconds": 0.05}
    await started(url, asked)
    assert await request(url, asked) == (200, {"created": False})
    status, answer = await request(url, {**asked, "rows": 13})
    assert (status, answer["reason"]) == (409, "START_INPUT_MISMATCH")

    seen = await read(port, f"/exports/{key}/events", until=6)
    while not waits(seen[-1]):  # a reader that reconnects again and again
        seen += await read(port, f"/exports/{key}/events", seen[-1].id, until=1)
    assert (await request(url))[1]["waits_for"] == ["approve"]
    assert (await request(f"{url}/approve", {"by": "ada"}))[1] == {"duplicate": False}
    assert (await request(f"{url}/approve", {"by": "ada"}))[0] in {200, 409}, "a second click is no second yes"
    seen += await read(port, f"/exports/{key}/events", seen[-1].id)

    assert seen[-1].data == {"state": "COMPLETED", "output": "12 rows, published by ada"}
    assert [message.data["value"]["done"] for message in seen if message.event == "progress"] == list(range(1, 13))
    assert (await request(url))[1]["state"] == "COMPLETED"


async def started(url: str, asked: object) -> None:
    """Until the worker has said hello, the type has no definition, and the answer is 404."""
    status, answer = await request(url, asked)
    while status == 404:
        status, answer = await request(url, asked)
    assert (status, answer) == (201, {"created": True})


def waits(message: Message) -> bool:
    return "approve" in message.data.get("waits_for", ())
