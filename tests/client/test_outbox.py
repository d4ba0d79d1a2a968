"""The helper builds what the relay reads."""

from datetime import UTC, datetime, timedelta

import bson
import pytest

from perdure import Payload, PayloadRejected
from perdure.outbox import start_document
from perdure_server.kernel import values
from perdure_server.kernel.outbox import OutboxStart
from perdure_server.kernel.start import OnClosed, OnOpen
from perdure_server.store.outbox_documents import read_entry


def read(document: dict[str, object]) -> tuple[str, OutboxStart]:
    entry = read_entry(bson.encode(document))
    assert entry.start is not None, entry.faults
    return entry.request_id, entry.start


def test_a_small_one() -> None:
    request_id, start = read(start_document("note", key="k", request_id="r"))
    assert (request_id, start) == ("r", OutboxStart("note", "k"))
    assert read(start_document("note", key="k"))[0] != read(start_document("note", key="k"))[0]


def test_everything() -> None:
    made = start_document(
        "note",
        key="k",
        input={"a": 1},
        namespace="team-a",
        labels={"a": "b"},
        on_open="supersede",
        on_closed="new_round_if_failed",
        start_at=datetime(2027, 1, 1, tzinfo=UTC),
        priority=0,
        queue="gpu",
        fairness_key="f",
        fairness_weight=0.5,
        workflow_timeout=timedelta(seconds=1.5),
        retention=timedelta(0),
        definition_fingerprint="abc",
    )
    assert read(made)[1] == OutboxStart(
        workflow_type="note",
        business_key="k",
        namespace="team-a",
        input=values.Payload(json='{"a":1}'),
        labels={"a": "b"},
        priority=0,
        queue="gpu",
        fairness_key="f",
        fairness_weight=0.5,
        start_at=1_798_761_600_000,
        workflow_timeout=1_500,
        retention=0,
        on_open=OnOpen.SUPERSEDE,
        on_closed=OnClosed.NEW_ROUND_IF_FAILED,
        definition_fingerprint="abc",
    )


def test_bytes_and_encoded_payloads() -> None:
    assert read(start_document("note", key="k", input=b"\x00"))[1].input == values.Payload(binary=b"\x00")
    encoded = Payload(binary=b"x", encoding="gzip", content_type="a/b", digest="d")
    found = read(start_document("note", key="k", input=encoded))[1].input
    assert found == values.Payload(binary=b"x", encoding="gzip", content_type="a/b", digest="d")


def test_what_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="time zone"):
        start_document("note", key="k", start_at=datetime(2027, 1, 1))  # noqa: DTZ001 -- that is what is wrong
    with pytest.raises(PayloadRejected):
        start_document("note", key="k", input=object())
