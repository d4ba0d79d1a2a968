"""Somebody else's service, which takes its time: it has jobs, answers questions about them, and may call back."""

import asyncio
from collections.abc import Awaitable, Callable

TAKES_SECONDS = 1.0
_jobs: dict[str, asyncio.Task[None]] = {}
_finished: set[str] = set()


def submit(key: str, done: Callable[[], Awaitable[object]] | None = None) -> str:
    """Begin a job, once per key; `done` is called at its end."""

    async def work() -> None:
        await asyncio.sleep(TAKES_SECONDS)
        _finished.add(key)
        if done is not None:
            await done()

    if key not in _jobs:
        _jobs[key] = asyncio.get_running_loop().create_task(work())
    return key


def is_finished(job: str) -> bool:
    return job in _finished
