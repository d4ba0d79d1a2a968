"""A transcription service: a job is submitted once per key, and its text is there a little later."""

import asyncio

_READY_AFTER = 0.2
_jobs: dict[str, float] = {}


async def submit(url: str, *, dedup: str, callback: str) -> str:
    """Submit a recording; the same `dedup` key is the same job. A real service would call `callback` when done."""
    del url, callback
    _jobs.setdefault(dedup, asyncio.get_running_loop().time())
    return dedup


async def result(job: str | None) -> str | None:
    """The text, or None while the job runs."""
    submitted = _jobs.get(job or "", 0.0)
    ready_in = submitted + _READY_AFTER - asyncio.get_running_loop().time()
    if ready_in > 0:
        await asyncio.sleep(ready_in)
    return "a durable note survives the pod that began it"
