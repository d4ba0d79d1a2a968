"""The log: one line a record, without tokens and credentials."""

import io
import json
import logging
from collections.abc import Iterator

import pytest

from perdure_server.kernel.tokens import Address, encode_token
from perdure_server.telemetry.logs import configure, redact

TOKEN = encode_token(Address(b"w" * 16, "ab" * 12, "transcribe", "cd" * 14))


@pytest.fixture(autouse=True)
def root_logger() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    levels = {name: logging.getLogger(name).level for name in ("asyncio", "grpc", "motor", "opentelemetry", "pymongo", "redis")}
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, before in levels.items():
        logging.getLogger(name).setLevel(before)


def test_json_lines_carry_the_facts() -> None:
    stream = io.StringIO()
    configure("info", "json", stream)
    try:
        raise ValueError("boom")
    except ValueError:
        logging.getLogger("x").exception("failed: %s", "why", extra={"incident_id": "17"})
    logging.getLogger("x").debug("not told")
    found = json.loads(stream.getvalue())
    assert (found["level"], found["logger"], found["message"], found["incident_id"]) == ("error", "x", "failed: why", "17")
    assert "ValueError: (message left out: it may quote values)" in found["error"]
    assert "test_json_lines_carry_the_facts" in found["error"], "but the place is told"
    assert found["time"].endswith("Z")


@pytest.mark.parametrize("form", ["text", "json"])
def test_tokens_and_credentials_are_cut_out(form: str) -> None:
    stream = io.StringIO()
    configure("info", "json" if form == "json" else "text", stream)
    logging.getLogger("x").info("claim %s at %s", TOKEN, "mongodb://user:secret@host/db")
    assert TOKEN not in stream.getvalue()
    assert "secret" not in stream.getvalue()
    assert "<token>" in stream.getvalue()
    assert "://...@host/db" in stream.getvalue()


def test_ordinary_text_stays() -> None:
    assert redact("run 0af7651916cd43dd8448eb211c80319c of note") == "run 0af7651916cd43dd8448eb211c80319c of note"


def test_libraries_are_quiet() -> None:
    stream = io.StringIO()
    configure("debug", "text", stream)
    logging.getLogger("pymongo.topology").debug("chatter")
    assert not stream.getvalue()


def test_text_lines_carry_the_facts_behind_the_message() -> None:
    stream = io.StringIO()
    configure("info", "text", stream)
    logging.getLogger("x").info("lost", extra={"workflow": "default/note/k", "step": "a", "claim_no": 2, "trace_id": "0af7"})
    assert stream.getvalue().endswith(" INFO x: lost workflow=default/note/k step=a claim_no=2 trace_id=0af7\n")


def test_a_traceback_follows_the_facts_and_tells_its_causes() -> None:
    stream = io.StringIO()
    configure("info", "text", stream)
    try:
        try:
            int("marker-19")
        except ValueError as error:
            raise RuntimeError("the document cannot be read") from error
    except RuntimeError:
        logging.getLogger("x").exception("failed", extra={"step": "a"})
    first, *rest = stream.getvalue().splitlines()
    assert first.endswith("failed step=a")
    assert rest[0] == "Traceback (most recent call last):"
    assert rest[-1] == "RuntimeError: the document cannot be read"
    assert "marker-19" not in stream.getvalue().replace('int("marker-19")', "")
    assert "The above exception was the direct cause of the following exception:" in rest
