"""clients/ruby: a language without a library, by the generated stubs, PollClaims and Complete alone."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from perdure import Client, WorkflowFailed
from tests.conftest import Eventually
from tests.e2e.servers import PerdureProcess
from tests.processes import ServerProcess, missing_server
from tools.clients.execution import ROOT, Place, missing_tool, perform
from tools.clients.languages import LANGUAGES

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

RUBY = LANGUAGES["ruby"]


@pytest.fixture
def worker(server: PerdureProcess, tmp_path: Path) -> Iterator[ServerProcess]:
    """The sample, on the session's server."""
    if lack := missing_tool(RUBY):
        missing_server(f"ruby {lack}")
    perform(RUBY, "build", lambda _line: None, Place())
    ruby = shutil.which("ruby") or "ruby"
    command = [ruby, str(ROOT / "clients/ruby/worker.rb")]
    made = ServerProcess(lambda _port: command, "^serves letter/greet", tmp_path, settings={"PERDURE_ADDRESS": server.address})
    made.start()
    yield made
    made.kill()


async def test_ruby_serves_a_step(worker: ServerProcess, client: Client, server: PerdureProcess, eventually: Eventually) -> None:
    async def registered() -> bool:
        return bool([one async for one in client.definitions.list("letter", active_only=True)])

    await eventually(registered, what="its first poll registers what it brings")
    run = await client.start("letter", key="ada", input="Adaé")
    assert await run.result() == "Dear Adaé"
    wrong = await client.start("letter", key="nobody", input=7)
    with pytest.raises(WorkflowFailed) as caught:
        await wrong.result()
    assert caught.value.failure.type == "letter.input"
    assert "not Integer" in caught.value.failure.message
    worker.stop()
    assert not server.complaints
