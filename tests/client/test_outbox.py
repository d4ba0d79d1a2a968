"""The helper builds what the relay reads."""

from datetime import UTC, datetime, timedelta

import bson
import pytest

from perdure import Client, Context, Definition, Payload, PayloadRejected
from perdure.aes_gcm import AesGcm, KeyRing
from perdure.outbox import run_of, start_document
from perdure.sync import Client as SyncClient
from perdure_server.kernel import values
from perdure_server.kernel.outbox import OutboxStart
from perdure_server.kernel.start import OnClosed, OnOpen
from perdure_server.main import Running
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


def shipping() -> Definition:
    definition = Definition("ship")

    @definition.step()
    async def ship(ctx: Context[None], input: dict[str, int]) -> str:
        return f"shipped {input['order']}"

    return definition


async def test_what_it_starts_can_be_awaited_and_is_started_once(client: Client) -> None:
    async with client.worker(shipping()):
        document = start_document(
            shipping(), key="k", input={"order": 1}, labels={"a": "b"}, retention=timedelta(hours=1), on_closed="new_round"
        )
        run = await run_of(client, document, shipping())
        assert run.created
        assert await run.result(timeout=timedelta(seconds=10)) == "shipped 1"
        again = await run_of(client, document)
        assert (again.created, again.ref.round) == (False, 1), "the relay's start, or a second call, meets it"
        other = await run_of(client, start_document("ship", key="k", input={"order": 2}, on_closed="new_round"))
        assert (other.created, other.ref.round) == (True, 2)
        workflow = await run.get()
        assert workflow.labels == {"a": "b"}


async def test_an_encoded_one_is_sent_as_it_is(real: Running) -> None:
    codec = AesGcm(KeyRing.new())
    async with Client(f"127.0.0.1:{real.port}", codec=codec) as client, client.worker(shipping()):
        document = start_document("ship", key="k", input={"order": 1}, codec=codec)
        assert "input_binary" in document
        assert await (await run_of(client, document)).result(timeout=timedelta(seconds=10)) == "shipped 1"
        assert (await client.start("ship", key="k", input={"order": 1})).created is False, "the same input, by its digest"


def test_only_its_own_documents_and_namespace_are_taken() -> None:
    with SyncClient("127.0.0.1:1") as client:
        with pytest.raises(ValueError, match="'team-a'"):
            run_of(client, start_document("ship", key="k", namespace="team-a"))
        with pytest.raises(ValueError, match="unchanged"):
            run_of(client, {"_id": "x", "workflow_type": "ship", "business_key": "k", "input": {}})
