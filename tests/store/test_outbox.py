"""The contract of outboxes, in memory and on the MongoDB that is present; and what only a real one can show."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import bson
import pytest
from bson.datetime_ms import DatetimeMS
from bson.raw_bson import RawBSONDocument
from pymongo import AsyncMongoClient

from perdure_server.store.driver import Connection, Driver
from perdure_server.store.memory import MemoryStore
from perdure_server.store.outbox import MemoryOutbox, MongoOutbox
from perdure_server.store.outbox_documents import FIELDS, decode_anyhow
from tests.conftest import RunningServer
from tests.store.conftest import DATABASE
from tests.store.contract_outbox import BARE, Box, OutboxContract
from tests.store.instances import NOW

COLLECTION = "perdure_outbox"
SCHEMA = Path(__file__).parents[2] / "docs" / "outbox.schema.json"


class TestMemoryOutbox(OutboxContract):
    @pytest.fixture
    def box(self) -> Box:
        outbox = MemoryOutbox(MemoryStore(lambda: NOW)._around)

        async def insert(raw: bytes) -> None:
            outbox.documents[bson.encode({"_id": decode_anyhow(raw)["_id"]})] = raw

        async def documents() -> list[dict[str, Any]]:
            return [bson.decode(raw) for raw in outbox.documents.values()]

        return Box(outbox, insert, documents)

    async def test_c22_a_date_beyond_all_years_is_refused(self, box: Box) -> None:
        await box.add(start_at=DatetimeMS(2**62))
        assert [name for name, _ in (await box.one()).faults] == ["start_at"]

    async def test_c27_a_document_with_broken_text_is_named_and_stops_no_other(self, box: Box) -> None:
        await box.add(_id="good")
        raw = bson.encode({"_id": "bad", **BARE, "queue": "AB"})
        await box.insert(raw.replace(b"AB\x00", b"\xff\xfe\x00"))
        found = {entry.request_id: entry for entry in await box.outbox.pending(NOW, 10)}
        assert found["good"].start is not None
        assert found["bad"].start is None
        await box.outbox.refuse(found["bad"], "INVALID_ARGUMENT", "text", NOW)
        assert [entry.request_id for entry in await box.outbox.pending(NOW, 10)] == ["good"]


class _OnMongo(OutboxContract):
    driver: Driver

    @pytest.fixture
    async def box(self, store_process: RunningServer) -> AsyncIterator[Box]:
        client: AsyncMongoClient[Any] = AsyncMongoClient(store_process.url)
        collection = client[DATABASE][COLLECTION]
        connection = Connection(store_process.url, DATABASE, self.driver)
        outbox = MongoOutbox(connection, COLLECTION, is_ours=True)

        async def insert(raw: bytes) -> None:
            await collection.insert_one(RawBSONDocument(raw))

        async def documents() -> list[dict[str, Any]]:
            return [document async for document in collection.find()]

        await outbox.open()
        try:
            yield Box(outbox, insert, documents)
            await collection.delete_many({})
        finally:
            await outbox.close()
            await connection.close()
            await client.close()


class TestOutboxByMotor(_OnMongo):
    driver = "motor"


class TestOutboxByPyMongo(_OnMongo):
    driver = "pymongo"

    async def test_what_a_transaction_writes_is_seen_once_it_has_committed(self, box: Box, store_process: RunningServer) -> None:
        client: AsyncMongoClient[Any] = AsyncMongoClient(store_process.url)
        async with client, client.start_session() as session:
            for ends, seen in ((session.abort_transaction, 0), (session.commit_transaction, 1)):
                await session.start_transaction()
                try:
                    await client[DATABASE][COLLECTION].insert_one({"_id": 1, **BARE}, session=session)
                    assert len(await box.outbox.pending(NOW, 10)) == 0
                finally:
                    await ends()
                assert len(await box.outbox.pending(NOW, 10)) == seen


def test_the_schema_names_the_same_fields() -> None:
    schema = json.loads(SCHEMA.read_text())["$jsonSchema"]
    assert schema["properties"].keys() == FIELDS.keys()
    assert schema["additionalProperties"] is False
    document = (SCHEMA.parent / "outbox.md").read_text()
    assert [name for name in FIELDS if f"`{name}`" not in document] == []
