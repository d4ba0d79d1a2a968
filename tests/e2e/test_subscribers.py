"""The story of the news that goes to its subscribers, killed at the five-hundredth: server and worker at once, by SIGKILL."""

import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from perdure import Client, WorkflowState
from tests.e2e.conftest import MakeServer
from tests.e2e.notice_worker import news
from tests.e2e.stream_worker import lapse
from tests.processes import ServerProcess

SUBSCRIBERS = 10_000
KILLED_AT = 500
IN_FLIGHT = 200


class NoticeWorker(ServerProcess):
    """The worker, as a process of its own."""

    def __init__(self, directory: Path, address: str, journal: Path) -> None:
        program = str(Path(__file__).with_name("notice_worker.py"))
        super().__init__(lambda _: [sys.executable, program, address, str(journal)], "works", directory)


def lines(journal: Path) -> list[str]:
    """What went out so far."""
    return journal.read_text().splitlines() if journal.exists() else []


@pytest.mark.slow
@pytest.mark.chaos
@pytest.mark.timeout(900)
async def test_every_subscriber_gets_the_news_though_all_is_killed_at_the_five_hundredth(new_server: MakeServer, tmp_path: Path) -> None:
    server = new_server()
    journal = tmp_path / "sent"
    worker = NoticeWorker(tmp_path, server.address, journal)
    try:
        worker.start()
        async with Client(server.address) as client:
            await client.start(news, key="today", input=list(range(SUBSCRIBERS)))
        while len(lines(journal)) < KILLED_AT:
            await lapse(0.02)
        server.kill()
        worker.kill()
        before = lines(journal)
        assert KILLED_AT <= len(before) < SUBSCRIBERS, "killed in the middle"
        server.start()
        worker = NoticeWorker(tmp_path, server.address, journal)
        worker.start()
        async with Client(server.address) as client:
            run = client.run(news, "today")
            result = await run.result(timeout=timedelta(seconds=800))
            children = [child async for child in run.children("notify", with_values=True)]
    finally:
        worker.kill()
    assert result == {"total": SUBSCRIBERS, "completed": SUBSCRIBERS}
    assert [child.input(int) for child in children] == list(range(SUBSCRIBERS)), "one workflow per subscriber, in order"
    assert {child.state for child in children} == {WorkflowState.COMPLETED}
    assert [child.output(str) for child in children] == [f"sent to {number}" for number in range(SUBSCRIBERS)]
    sent = Counter(int(line.split()[0]) for line in lines(journal))
    assert set(sent) == set(range(SUBSCRIBERS))
    again = {number for number, times in sent.items() if times > 1}
    assert len(again) <= IN_FLIGHT, "only what was under way is done again"
    assert max(sent.values()) <= 2
    assert again <= {int(line.split()[0]) for line in before}, "and of that only what had begun"
    assert not server.complaints
