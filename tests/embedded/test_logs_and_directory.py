"""Bounded logs, the record of the last run, ports, and the wire of the probes."""

import datetime as dt
import os
import re
import socket
from pathlib import Path

import bson
import pytest

from perdure_server.embedded import EmbeddedError, Service, limits
from perdure_server.embedded.bson_wire import WireError, decode, encode
from perdure_server.embedded.directory import free_port, is_free, owned
from perdure_server.embedded.logs import BoundedLog


def test_a_log_that_is_written_to_stays_bounded(tmp_path: Path) -> None:
    log = BoundedLog(tmp_path / "store.log", largest=1_000)
    writer = log.open()
    for number in range(200):
        os.write(writer, f"line {number} {'x' * 40}\n".encode())
        log.trim()
    os.close(writer)
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= 2 * 1_100
    assert "line 199" in log.tail()
    assert "\0" not in log.path.read_text()


async def test_a_directory_may_be_named_from_where_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with owned(Path("data")) as directory:
        assert directory.of("store") == tmp_path / "data" / "store"  # its owner looks for it from another folder


async def test_what_was_chosen_is_remembered(tmp_path: Path) -> None:
    async with owned(tmp_path / "data") as directory:
        assert directory.recall(Service.STORE) == (None, 0)
        directory.remember(Service.STORE, "mongod", 20_001)
        directory.remember(Service.REDIS, "valkey-server", 20_002)
    async with owned(tmp_path / "data") as directory:
        assert directory.recall(Service.STORE) == ("mongod", 20_001)
        assert directory.recall(Service.REDIS) == ("valkey-server", 20_002)
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700


async def test_a_damaged_record_is_told_by_its_path(tmp_path: Path) -> None:
    async with owned(tmp_path) as directory:
        (tmp_path / "services.json").write_text("{")
        with pytest.raises(EmbeddedError, match=re.escape(str(tmp_path / "services.json"))):
            directory.recall(Service.STORE)


def test_a_taken_port_is_not_offered() -> None:
    port = free_port()
    assert limits.PORT_LOWEST <= port <= limits.PORT_HIGHEST
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        assert not is_free(port)
        assert free_port(port) != port


def test_bson_is_read_whatever_is_in_it() -> None:
    everything = {
        "double": 1.5,
        "text": "ä",
        "document": {"a": {"b": 1}},
        "list": [1, "x", {"y": True}],
        "binary": b"\0\1",
        "id": bson.ObjectId(),
        "no": False,
        "time": dt.datetime(2026, 1, 2, tzinfo=dt.UTC),
        "nothing": None,
        "regex": bson.Regex("a", "i"),
        "code": bson.Code("f()"),
        "small": 7,
        "stamp": bson.Timestamp(1, 2),
        "large": bson.Int64(2**40),
        "decimal": bson.Decimal128("1.1"),
        "least": bson.MinKey(),
        "most": bson.MaxKey(),
        "last": "end",
    }
    read = decode(bson.encode(everything))
    assert list(read) == list(everything)
    told = {name: value for name, value in read.items() if value is not None}
    assert told == {name: everything[name] for name in ("double", "text", "document", "list", "no", "small", "large", "last")}


def test_bson_is_written_as_the_driver_reads_it() -> None:
    document = {"replSetInitiate": {"_id": "perdure", "members": [{"_id": 0, "host": "127.0.0.1:1"}]}, "force": True, "$db": "admin"}
    assert bson.decode(encode(document)) == document


@pytest.mark.parametrize("data", [b"", b"\5\0\0", b"\x10\0\0\0\x77a\0\1\0\0\0\0\0\0\0\0"])
def test_what_is_no_bson_is_refused(data: bytes) -> None:
    with pytest.raises(WireError):
        decode(data)
