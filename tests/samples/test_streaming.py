"""examples/streaming: readers that lose their connection, their server, or their own process see each word once."""

from pathlib import Path

import pytest

from examples.streaming.model import TEXT
from tests.coordination.proxy import Proxy
from tests.e2e.conftest import MakeServer
from tests.samples.browser import Message, read, request
from tests.samples.conftest import RunSample

WHOLE = TEXT.replace("\n", " ").format(about="durable work") + " "
OVER = "\n--- the attempt is over; from the beginning:\n"
END = "\n--- COMPLETED\n"


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_a_reader_loses_its_server_then_its_own_process(new_server: MakeServer, sample: RunSample, tmp_path: Path) -> None:
    one, other = new_server(), new_server()
    reading = ("examples.streaming.watch", "s1", "--state", tmp_path / "state.json")
    async with Proxy(one.port) as proxy:
        author = sample("examples.streaming", "s1", "--pause", 0.12, address=other.address)
        await author.says("A text about")
        reader = sample(*reading, address=f"127.0.0.1:{proxy.port}")
        await reader.says("A text about")
        await author.says(OVER + "A text about")
        proxy.target = other.port
        one.kill()
        await reader.says("after the last")
        await reader.kill()
        first = reader.output
        assert first.count(OVER) <= 1, "a reader that began after the first attempt was over is told of the second alone"
        assert WHOLE.startswith(first.rpartition(OVER)[2])
        again = sample(*reading, address=f"127.0.0.1:{proxy.port}")
        await again.ends()
        await author.ends()
    assert again.output == WHOLE + END
    assert author.output.endswith(f"{OVER}{WHOLE}{END}")


def text_of(messages: list[Message]) -> str:
    """What a page shows that adds texts and empties itself on a reset."""
    shown = ""
    for message in messages:
        shown = "" if message.event == "reset" else shown + (message.data if message.event == "text" else "")
    return shown


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_a_browser_reconnects_with_the_last_event_id(sample: RunSample) -> None:
    author = sample("examples.streaming", "s2", "--pause", 0.03)
    await author.says("A text about")
    pages = sample("examples.streaming.sse", "--port", 0)
    port = int((await pages.says("curl -N")).split(":")[-1].split("/")[0])
    seen: list[Message] = []
    while not seen or seen[-1].event != "end":
        seen += await read(port, "/stories/s2", seen[-1].id if seen else "", until=20)
    assert text_of(seen) == WHOLE
    assert len({message.id for message in seen}) == len(seen)
    assert await request(f"http://127.0.0.1:{port}/stories/nobody") == (404, None)
