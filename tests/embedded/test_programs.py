"""Which program is chosen, and how it is run."""

import sys
from pathlib import Path

import pytest

from perdure_server.embedded import EmbeddedOptions, ProgramNotFoundError, RedisKind, StoreKind, programs
from perdure_server.embedded.programs import child_environment, choose_redis, choose_store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    return tmp_path / "bin"


def install(path: Path, *names: str) -> str:
    for name in names:
        (path / name).touch(mode=0o755)
    return str(path)


def test_mongod_before_secantusd_rs_before_the_wheel(path: Path) -> None:
    assert choose_store(str(path)).kind is StoreKind.SECANTUS_WHEEL
    assert choose_store(install(path, "secantusd-rs")).kind is StoreKind.SECANTUS_RS
    assert choose_store(install(path, "mongod")).kind is StoreKind.MONGOD


def test_the_kind_that_has_the_data_stays_though_a_better_one_came(path: Path) -> None:
    program = choose_store(install(path, "mongod"), known=StoreKind.SECANTUS_WHEEL)
    assert program.kind is StoreKind.SECANTUS_WHEEL
    assert "mongod is there too" in program.why


def test_data_of_a_program_that_is_gone_is_told(path: Path) -> None:
    program = choose_store(str(path), known=StoreKind.MONGOD)
    assert program.kind is StoreKind.SECANTUS_WHEEL
    assert "the data of mongod stays" in program.why


def test_a_wanted_kind_is_taken_or_refused(path: Path) -> None:
    assert choose_store(install(path, "mongod", "secantusd-rs"), StoreKind.SECANTUS_RS).kind is StoreKind.SECANTUS_RS
    with pytest.raises(ProgramNotFoundError, match="mongod was asked for"):
        choose_store(str(path / "nowhere"), StoreKind.MONGOD)


def test_no_store_at_all_says_what_to_do(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(path / "python"))
    monkeypatch.setattr(programs, "_module_is_installed", lambda _name: False)
    with pytest.raises(ProgramNotFoundError, match="put mongod"):
        choose_store(str(path))
    assert choose_redis(str(path)) is None


def test_redis_before_valkey_before_the_wheel(path: Path) -> None:
    wheel = choose_redis(str(path))
    assert wheel is not None
    assert wheel.kind is RedisKind.VALKEY_WHEEL
    valkey = choose_redis(install(path, "valkey-server"))
    assert valkey is not None
    assert valkey.kind is RedisKind.VALKEY
    redis = choose_redis(install(path, "redis-server"))
    assert redis is not None
    assert redis.kind is RedisKind.REDIS


def test_every_store_is_on_loopback_with_its_own_port_and_durable(path: Path, tmp_path: Path) -> None:
    search = install(path, "mongod", "secantusd-rs")
    for kind in StoreKind:
        program = choose_store(search, kind)
        line = program.arguments(tmp_path, 20_001)
        assert Path(line[0]).is_absolute()
        assert "127.0.0.1" in line
        assert "20001" in line
        assert ("--sync-on-commit" in line) == (kind is not StoreKind.MONGOD)
        assert (program.timer_slack > 0) == (kind is not StoreKind.MONGOD)  # mongod is idle by itself


def test_only_the_rust_store_is_told_to_keep_no_oplog(path: Path) -> None:
    search = install(path, "mongod", "secantusd-rs")
    told = {kind: dict(choose_store(search, kind).environment) for kind in StoreKind}
    assert told == {StoreKind.MONGOD: {}, StoreKind.SECANTUS_RS: {"SECANTUS_DISABLE_OPLOG": "1"}, StoreKind.SECANTUS_WHEEL: {}}


def test_redis_keeps_nothing_and_evicts_nothing(path: Path, tmp_path: Path) -> None:
    program = choose_redis(install(path, "redis-server"))
    assert program is not None
    line = " ".join(program.arguments(tmp_path, 20_001))
    assert "--bind 127.0.0.1 --port 20001" in line
    assert "--save  --appendonly no" in line
    assert "--maxmemory-policy noeviction" in line


def test_a_shell_cannot_turn_durability_off() -> None:
    kept = child_environment({"SECANTUS_TEST_FAST_STORAGE": "1", "PATH": "/bin", "HOME": "/root"})
    assert kept == {"PATH": "/bin", "HOME": "/root"}


def test_options_need_no_more_than_a_place_and_an_environment(tmp_path: Path) -> None:
    assert EmbeddedOptions(tmp_path, {}).store_kind is None
