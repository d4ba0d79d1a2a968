"""A server inside a program whose root logger is at DEBUG: the libraries of store and Redis tell nothing of what a user keeps with us."""

import logging
from datetime import timedelta

import pytest

from perdure import Client, Context, Definition, Wait
from perdure_server.config import Config
from perdure_server.main import Parts
from tests.conftest import RunningServer
from tests.rpc.conftest import GRACE, serving

MARK = "marker-51c7"
WITHIN = timedelta(seconds=20)


def told(name: str) -> str:
    return f"{MARK}-{name}"


def story(secrets: list[str]) -> Definition:
    definition = Definition("story")

    @definition.step()
    async def first(ctx: Context[str], input: str) -> str | Wait:
        secrets.append(ctx.wake_token)
        ctx.frame(told("frame"))
        if ctx.checkpoint is None:
            await ctx.save(told("checkpoint"))
            return Wait.any(signal="go")
        return told("output")

    return definition


async def test_payloads_and_tokens_stay_untold(
    caplog: pytest.LogCaptureFixture, store_process: RunningServer, redis_process: RunningServer, database_name: str
) -> None:
    secrets: list[str] = []
    config = Config(
        port=0,
        drain_grace_ms=GRACE,
        mongo_url=store_process.url,
        database=database_name,
        redis_url=redis_process.url,
        redis_prefix=database_name,
    )
    with caplog.at_level(logging.DEBUG):
        async with serving(config, Parts()) as served, Client(f"127.0.0.1:{served.running.port}") as client:
            definition = story(secrets)
            async with client.worker(definition):
                run = await client.start(definition, key="k", input=told("input"), labels={"who": told("label")})
                await run.signal("go", told("signal"))
                assert await run.result(timeout=WITHIN) == told("output")
    text = "\n".join([caplog.text, *(str(record.__dict__) for record in caplog.records)])
    names = {record.name for record in caplog.records if record.levelno == logging.DEBUG}
    assert any(name.startswith("perdure_server") for name in names), "the root logger is at DEBUG"
    assert any(name.startswith("pymongo") for name in names), "and the driver tells what it may"
    assert MARK not in text
    assert len(secrets) == 2
    assert not [secret for secret in secrets if secret in text]
