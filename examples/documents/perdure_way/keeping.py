"""KEEP=1: leaves everything running, with lines to try."""

import asyncio
import json
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from examples.documents.config import LOOK_SECONDS
from examples.documents.corpus import Document
from examples.documents.narration import Narrator
from examples.documents.perdure_way.cluster import Cluster
from examples.documents.perdure_way.plan import DOCUMENT, PUBLISH, Job
from examples.documents.processes import ROOT

MINE = "mine"


async def keep_running(story: Narrator, cluster: Cluster, documents: Sequence[Document], model: str) -> None:
    """Prints what can be tried, and starts again what is killed, until Ctrl-C, which is no failure."""
    story.chapter("Kept running (KEEP=1); Ctrl-C ends it")
    for line in lines_to_try(cluster.address, documents, model):
        story.line(f"    {line}")
    story.invite(cluster.pids)
    task = asyncio.current_task()
    try:
        while True:
            await cluster.restart_what_is_dead()
            await asyncio.sleep(LOOK_SECONDS)
    except asyncio.CancelledError:
        if task is not None:
            task.uncancel()


def lines_to_try(address: str, documents: Sequence[Document], model: str) -> list[str]:
    """Lines for a shell in the directory where the demo was started, in an order in which each of them works."""
    perdure = shlex.quote(os.path.relpath(Path(sys.executable).with_name("perdure")))
    largest = max(documents, key=lambda document: document.size_bytes)
    readme = ROOT / "README.md"
    mine = Document(1 + max(document.number for document in documents), MINE, str(readme), "markup", readme.stat().st_size)
    job = shlex.quote(json.dumps(asdict(Job(mine, model))))
    return [
        f"export PERDURE_ADDRESS={address}",
        f"{perdure} list {DOCUMENT} --limit 5",
        f"{perdure} show {DOCUMENT} {largest.key}",
        f"{perdure} start {DOCUMENT} {MINE} --input {job} && {perdure} signal {DOCUMENT} {MINE} {PUBLISH}",
        f"{perdure} watch {DOCUMENT} {MINE}",
        f"{perdure} result {DOCUMENT} {MINE}",
    ]
