"""The pipeline: collect words by a long program, sort them, pack them, check what came out. Copy the shape, change the programs."""

import asyncio
import hashlib
import sys
from dataclasses import dataclass
from datetime import timedelta as td
from pathlib import Path

from examples.pipeline.detached import Begun, run_detached
from examples.pipeline.programs import run
from perdure import Context, Definition, Retry

# Any program will do. This one writes the words of Python's own sources, one file after the other, and says which.
COLLECT = """
import pathlib, re, sys, sysconfig, time
files, pause = int(sys.argv[1]), float(sys.argv[2])
for path in sorted(pathlib.Path(sysconfig.get_path("stdlib")).glob("*.py"))[:files]:
    print(path.name, file=sys.stderr, flush=True)
    print(*re.findall("[a-z]{3,}", path.read_text("utf-8").lower()), sep="\\n")
    time.sleep(pause)
"""


@dataclass(frozen=True)
class Job:
    """The input: where the files go, and how much work it is."""

    directory: str
    files: int = 40
    pause_seconds: float = 0.2
    """Between two files, so that there is time to kill something."""


@dataclass(frozen=True)
class Report:
    path: str
    words: int
    sha256: str


pipeline = Definition("pipeline", version="1")


# Longer than the program's own limit, so that the program's end is what people read.
@pipeline.step(attempt_timeout=td(hours=2), retry=Retry(max_attempts=2))
def collect(ctx: Context[Begun], input: Job) -> str:
    directory = Path(input.directory) / f"collect-{ctx.idempotency_key[:12]}"  # the same in every attempt
    command = [sys.executable, "-c", COLLECT, str(input.files), str(input.pause_seconds)]
    return str(run_detached(ctx, command, directory=directory, limit=td(hours=1)))


@pipeline.step()
async def sort(ctx: Context[None], input: Job, collect: str) -> str:
    made = Path(input.directory) / "words.txt"
    part = part_of(made, ctx)
    await run(ctx, ["sort", "-u"], stdin=Path(collect), stdout=part, limit=td(minutes=5), environment={"LC_ALL": "C"})
    return str(part.replace(made))


@pipeline.step()
async def pack(ctx: Context[None], sort: str) -> str:
    made = Path(f"{sort}.gz")
    part = part_of(made, ctx)
    await run(ctx, ["gzip", "-9", "-n", "-c", sort], stdout=part, limit=td(minutes=5))
    return str(part.replace(made))


@pipeline.step()
async def check(ctx: Context[None], sort: str, pack: str) -> Report:
    await run(ctx, ["gzip", "-t", "-v", pack], limit=td(minutes=1))
    return await asyncio.to_thread(report, Path(sort), Path(pack))


def part_of(made: Path, ctx: Context[None]) -> Path:
    """Where this claim writes: a program that outlived a kill -9 of its worker spoils nothing that a later claim made."""
    return made.with_name(f"{made.name}.{ctx.claim_no}.part")


def report(words: Path, packed: Path) -> Report:
    return Report(str(packed), len(words.read_bytes().splitlines()), hashlib.sha256(packed.read_bytes()).hexdigest())
