"""`perdure doctor`: through a server, and directly at a store and a Redis; each finding has its remedy."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from perdure import Client, Context, Definition
from perdure.cli import doctor
from perdure_server.embedded import EmbeddedOptions, EmbeddedServices, embedded_services
from tests.cli.conftest import Command
from tests.processes import environment

letter = Definition("letter")


@letter.step()
async def write(ctx: Context[None], input: str) -> str:
    return input


DOORS: tuple[tuple[str, str, bool], ...] = (
    ("127.0.0.1:1", "", False),
    ("[::1]:1", "token", False),
    ("perdure.example:7463", "", False),
    ("perdure.example:7463", "token", False),
    ("perdure.example:7463", "token", True),
)


def findings(out: str) -> dict[str, str]:
    return {found["name"]: found["severity"] for found in map(json.loads, out.splitlines())}


async def test_a_server_is_looked_at_through_its_own_eyes(perdure: Command, client: Client) -> None:
    told = await perdure("doctor", "--json")
    found = findings(told.out)
    assert told.code == 0, "warnings are no errors"
    assert found["store.write_concern"] == "WARNING", "this store is memory"
    for name in ("server.reachable", "server.version", "clock", "credentials", "store.reachable", "coordination.reachable", "work.parked"):
        assert found[name] == "OK", name
    shown = (await perdure("doctor")).out
    assert "do: use MongoDB" in shown
    assert "server.reachable" not in shown
    assert "server.reachable" in (await perdure("doctor", "--all")).out


async def test_work_that_nobody_can_do_is_found(perdure: Command, client: Client) -> None:
    await client.definitions.register(letter, activate=True)
    found = findings((await perdure("doctor", "--json")).out)
    assert found["work.definitions"] == "WARNING"
    async with client.worker(letter):
        assert findings((await perdure("doctor", "--json")).out)["work.definitions"] == "OK"


async def test_what_the_connection_is_worth_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PERDURE_TLS", raising=False)
    found = [doctor.doors(Client(where, token=token, tls=tls)).severity for where, token, tls in DOORS]
    assert found == ["OK", "OK", "WARNING", "ERROR", "OK"]


async def test_a_server_that_is_away_is_one_clear_finding(perdure: Command) -> None:
    told = await perdure("doctor", "--address", "127.0.0.1:9", "--json")
    assert (told.code, findings(told.out)) == (3, {"server.reachable": "ERROR"})


@pytest.fixture
async def services(tmp_path: Path) -> AsyncIterator[EmbeddedServices]:
    async with embedded_services(EmbeddedOptions(tmp_path / "data", environment())) as running:
        yield running


@pytest.mark.slow
async def test_a_store_and_a_redis_are_looked_at_without_a_server(perdure: Command, services: EmbeddedServices) -> None:
    redis = services.redis
    assert redis is not None
    told = await perdure("doctor", "--mongo-url", services.store.url, "--redis-url", redis.url, "--json")
    found = findings(told.out)
    assert told.code == 0, told.out
    assert found["store.usable"] == "OK"
    assert found["store.indexes"] == "WARNING", "no server has made them yet"
    assert (found["redis.reachable"], found["redis.eviction"], found["redis.version"]) == ("OK", "OK", "OK")


AWAY = (
    pytest.param("--mongo-url", "mongodb://me:s3cret@127.0.0.1:9/", "store.reachable", marks=pytest.mark.slow),  # the driver looks for 5 s
    pytest.param("--redis-url", "redis://:s3cret@127.0.0.1:9", "redis.reachable"),
    pytest.param("--redis-url", "http://:s3cret@127.0.0.1:9", "redis.url"),
)


@pytest.mark.parametrize(("flag", "url", "finding"), AWAY)
async def test_what_cannot_be_reached_directly_is_an_error_without_its_password(
    perdure: Command, flag: str, url: str, finding: str
) -> None:
    told = await perdure("doctor", flag, url, "--json")
    assert (told.code, findings(told.out)) == (1, {finding: "ERROR"})
    assert "s3cret" not in told.out + told.err
