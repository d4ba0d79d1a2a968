"""`python -m examples.pipeline [KEY] [--files N] [--pause SECONDS]`: a worker, one pipeline, and what it says."""

import argparse
import asyncio
import tempfile
from pathlib import Path

from examples.pipeline.plan import Job, Report, pipeline
from perdure import Client


async def main(key: str, job: Job) -> None:
    async with Client() as client, client.worker(pipeline):
        run = await client.start(pipeline, key=key, input=job)
        print("begun" if run.created else "goes on", flush=True)
        async for event in run.watch():
            print(event, flush=True)
        report = await run.result(Report)
        print(f"{report.words} words in {report.path}, sha256 {report.sha256}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("key", nargs="?", default="words-1")
    parser.add_argument("--directory", help="where the files go [default: a folder of the key in the temporary directory]")
    parser.add_argument("--files", type=int, default=Job.files)
    parser.add_argument("--pause", type=float, default=Job.pause_seconds, help="seconds between two files of the first program")
    given = parser.parse_args()
    directory = given.directory or str(Path(tempfile.gettempdir()) / "perdure-pipeline" / given.key)
    asyncio.run(main(given.key, Job(directory, given.files, given.pause)))
