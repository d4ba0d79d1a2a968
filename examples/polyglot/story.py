"""The story: a relay through four languages, one worker killed on the way, and a step more without the others."""

import asyncio
import json
import secrets
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from opentelemetry import trace

from examples.documents.processes import ROOT, Process, python
from examples.polyglot.relay import Baton
from perdure import Client, Run
from perdure.definition_file import load_definition
from tools.clients.execution import command_environment, missing_tool
from tools.clients.languages import LANGUAGES

HERE: Final = Path(__file__).parent
STEPS: Final[Mapping[str, str]] = {"fetch": "python", "count": "go", "shout": "typescript", "weigh": "java", "report": "python"}
"""Which language runs which step."""
NUMBER: Final = 2**53 + 1
PATIENCE: Final = timedelta(seconds=60)
LEASE_SECONDS: Final = 5

Say = Callable[[str], None]


@dataclass
class Runner:
    """The worker of one step."""

    step: str
    language: str
    """Who really runs it: its own language, or Python where that is not here."""
    process: Process
    lives: int = 3
    """How often it may end before it has begun anything, as on a machine that is too busy for its first contact with the server."""

    def watch(self) -> None:
        """What a supervisor does. Raises ProcessError if it has ended by itself once too often."""
        if not self.process.is_running and self.lives > 1 and not self.process.has_printed('"began"'):
            self.lives -= 1
            self.process.start()
        self.process.check()

    def began(self, key: str) -> list[dict[str, Any]]:
        """What it has told of its claims of this workflow."""
        lines = self.process.log.read_text(errors="replace").splitlines() if self.process.log.exists() else []
        told = [json.loads(line) for line in lines if line.startswith("{")]
        return [facts for facts in told if facts.get("event") == "began" and facts["key"] == key]


@dataclass
class Told:
    """What came out of one workflow."""

    baton: Baton
    claims: Mapping[str, int]
    """How many claims each step needed."""
    trace_ids: frozenset[str]
    """That the workers saw."""
    trace_id: str
    """The caller's."""


@dataclass
class Story:
    """All of it; nothing here is judged."""

    runners: list[Runner] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)
    """Language to what it lacks."""
    killed: str = ""
    """The step whose worker was."""
    first: Told | None = None
    second: Told | None = None
    restarted: list[str] = field(default_factory=list)
    """Steps whose worker is another process in the second workflow than it was at the end of the first."""


def lack(language: str) -> str:
    """Why a language cannot take part; empty: it can."""
    missing = missing_tool(LANGUAGES[language])
    if missing:
        return missing
    if not worker(language).exists():
        return f"there is no {worker(language).relative_to(ROOT)}"
    ready = subprocess.run([worker(language), "--ready"], cwd=ROOT, env=command_environment(), capture_output=True, text=True, check=False)
    return "" if ready.returncode == 0 else (ready.stdout + ready.stderr).strip() or "its worker is not ready"


def worker(language: str) -> Path:
    """The executable of a language's worker."""
    return ROOT / "clients" / language / "polyglot" / "run"


async def play(address: str, directory: Path, say: Say, *, otlp_endpoint: str = "", absent: Mapping[str, str] | None = None) -> Story:
    """Runs the story on a server. `absent`: languages that Python stands in for, and why; None: those that are not here."""
    story = Story(absent=dict({language: text for language in STEPS.values() if (text := lack(language))} if absent is None else absent))
    for language, text in story.absent.items():
        say(f"{language} is left out: {text}")
    settings = [f"PERDURE_ADDRESS={address}", f"PATH={command_environment()['PATH']}"]
    settings += [f"OTEL_EXPORTER_OTLP_ENDPOINT={otlp_endpoint}"] if otlp_endpoint else []

    def runner(step: str, language: str, file: Path) -> Runner:
        actual = "python" if language in story.absent else language
        return Runner(step, actual, Process(step, ["env", *settings, str(worker(actual)), step, str(file)], directory))

    async with Client(address) as client:
        await client.definitions.register(load_definition(HERE / "relay.yaml"), activate=True)
        story.runners = [runner(step, language, HERE / "relay.yaml") for step, language in STEPS.items()]
        with _running(story.runners):
            story.first = await _first(client, story, say)
            await _second(client, story, runner("sign", "python", HERE / "relay_signed.yaml"), say)
    return story


async def _first(client: Client, story: Story, say: Say) -> Told:
    victim = next((one for one in story.runners[1:4] if one.language != "python"), story.runners[1])
    story.killed = victim.step
    key = f"relay-{secrets.token_hex(4)}"
    with _traced() as trace_id:
        run = await client.start("relay", key=key, input=Baton(NUMBER, victim.step))
    say(f"started {key}; {', '.join(f'{one.step} in {one.language}' for one in story.runners)}")
    await _until(lambda: victim.began(key), story, f"{victim.step} begins")
    victim.process.kill()
    say(f"killed -9: the {victim.language} worker, in the middle of {victim.step}")
    victim.process.start()
    told = await _told(run, story, trace_id)
    say(f"ended: {' -> '.join(told.baton.path)}, number {told.baton.number}")
    return told


async def _second(client: Client, story: Story, signer: Runner, say: Say) -> None:
    signed = await client.definitions.register(load_definition(HERE / "relay_signed.yaml"), activate=True)
    say(f"the Python team adds `sign`: fingerprint {signed.fingerprint[:12]}; nobody else deploys")
    pids = {one.step: one.process.pid for one in story.runners}
    story.runners.append(signer)
    with _running([signer]):
        with _traced() as trace_id:
            run = await client.start("relay", key=f"relay-{secrets.token_hex(4)}", input=Baton(NUMBER))
        story.second = await _told(run, story, trace_id)
    story.restarted = [one.step for one in story.runners if pids.get(one.step, one.process.pid) != one.process.pid]
    say(f"ended: {' -> '.join(story.second.baton.path)}, number {story.second.baton.number}")


async def _told(run: Run, story: Story, trace_id: str) -> Told:
    value = asyncio.ensure_future(run.result(timeout=PATIENCE, as_type=Baton))
    await _until(value.done, story, "the workflow ends")
    workflow = await run.get()
    seen = {facts["trace_id"] for one in story.runners for facts in one.began(run.ref.business_key)}
    return Told(value.result(), {name: step.claim_no for name, step in workflow.steps.items()}, frozenset(seen), trace_id)


async def _until(happened: Callable[[], object], story: Story, what: str) -> None:
    """Looks until it has happened. Raises ProcessError if a worker ends by itself, TimeoutError that says what did not happen."""
    deadline = time.monotonic() + PATIENCE.total_seconds()
    while not happened():
        for one in story.runners:
            one.watch()
        if time.monotonic() > deadline:
            ends = "\n".join(f"--- {one.step}:\n{one.process.last_lines()}" for one in story.runners)
            raise TimeoutError(f"not within {PATIENCE}: {what}\n{ends}")
        await asyncio.sleep(0.05)


@contextmanager
def _running(runners: list[Runner]) -> Iterator[None]:
    try:
        for one in runners:
            one.process.start()
        yield
    finally:
        for one in runners:
            one.process.stop()


@contextmanager
def _traced() -> Iterator[str]:
    """A caller's span around a block: its trace id."""
    sampled = trace.TraceFlags(trace.TraceFlags.SAMPLED)
    context = trace.SpanContext(secrets.randbits(128) or 1, secrets.randbits(64) or 1, is_remote=True, trace_flags=sampled)
    with trace.use_span(trace.NonRecordingSpan(context)):
        yield f"{context.trace_id:032x}"


@asynccontextmanager
async def server(directory: Path) -> AsyncIterator[str]:
    """`perdure dev` with a short lease, so that a killed worker is missed after seconds: its address."""
    command = python("perdure", "dev", "--port", "0", "--data-dir", str(directory / "data"), "--lease", str(LEASE_SECONDS))
    dev = Process("server", command, directory)
    dev.start()
    try:
        deadline = time.monotonic() + PATIENCE.total_seconds()
        while not dev.has_printed("Ctrl-C stops") and time.monotonic() < deadline:
            dev.check()
            await asyncio.sleep(0.05)
        words_told = dev.log.read_text().partition("Perdure serves on ")[2].split()
        yield words_told[0]
    finally:
        dev.stop(10.0)
