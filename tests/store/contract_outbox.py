"""An outbox: documents as any language writes them, and what is written back."""

import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import bson
import pytest
from bson import Binary, Decimal128, Int64, ObjectId, Regex
from bson.datetime_ms import DatetimeMS

from perdure_server.kernel.start import OnClosed, OnOpen
from perdure_server.kernel.values import Payload
from perdure_server.ports.outbox import Outbox, OutboxEntry
from tests.store.instances import NOW

BARE = {"workflow_type": "note", "business_key": "k"}


@dataclass(frozen=True)
class Box:
    """An outbox, and what a team does to its collection."""

    outbox: Outbox
    insert: Callable[[bytes], Awaitable[None]]
    documents: Callable[[], Awaitable[list[dict[str, Any]]]]

    async def add(self, **document: Any) -> None:
        await self.insert(bson.encode({"_id": "id", **BARE, **document}))

    async def one(self) -> OutboxEntry:
        found = await self.outbox.pending(NOW, 10)
        assert len(found) == 1
        return found[0]


class OutboxContract:
    """The same in memory and on MongoDB."""

    async def test_a_document_written_by_hand_as_raw_bson(self, box: Box) -> None:
        # {_id: 7 (int32), workflow_type: "note", business_key: "k", input: {n: 9007199254740993 (int64)}}, byte by byte.
        inner = b"\x12n\x00" + (2**53 + 1).to_bytes(8, "little")
        inner = (len(inner) + 5).to_bytes(4, "little") + inner + b"\x00"
        fields = b"\x10_id\x00\x07\x00\x00\x00"
        fields += b"\x02workflow_type\x00\x05\x00\x00\x00note\x00" + b"\x02business_key\x00\x02\x00\x00\x00k\x00"
        fields += b"\x03input\x00" + inner
        await box.insert((len(fields) + 5).to_bytes(4, "little") + fields + b"\x00")
        entry = await box.one()
        assert entry.request_id == "7"
        assert entry.start is not None
        assert (entry.start.workflow_type, entry.start.business_key, entry.start.namespace) == ("note", "k", "default")
        assert entry.start.input == Payload(json='{"n":9007199254740993}')

    async def test_every_field(self, box: Box) -> None:
        await box.add(
            format=1.0,
            namespace="team-a",
            input_json='{"a": 1.10}',
            content_type="application/json",
            digest="d",
            labels={"a/b": "c"},
            priority=9.0,
            queue="gpu",
            fairness_key="f",
            fairness_weight=2,
            start_at=datetime(2027, 1, 1, tzinfo=UTC),
            workflow_timeout_ms=Int64(5_000),
            retention_ms=0,
            on_open="SUPERSEDE",
            on_closed="NEW_ROUND",
            definition_fingerprint="abc",
            extra={"mine": ObjectId()},
        )
        start = (await box.one()).start
        assert start is not None
        assert start.input == Payload(json='{"a": 1.10}', content_type="application/json", digest="d")
        assert (start.namespace, start.labels, start.priority, start.queue) == ("team-a", {"a/b": "c"}, 9, "gpu")
        assert (start.fairness_key, start.fairness_weight, start.start_at) == ("f", 2.0, 1_798_761_600_000)
        assert (start.workflow_timeout, start.retention, start.definition_fingerprint) == (5_000, 0, "abc")
        assert (start.on_open, start.on_closed) == (OnOpen.SUPERSEDE, OnClosed.NEW_ROUND)

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            ({"é": [1, Int64(2**62), 1.5, "x", True, None, {}]}, '{"é":[1,4611686018427387904,1.5,"x",true,null,{}]}'),
            ("text", '"text"'),
            (None, "null"),
            ([], "[]"),
        ],
    )
    async def test_input_becomes_json(self, box: Box, value: object, text: str) -> None:
        await box.add(input=value)
        start = (await box.one()).start
        assert start is not None
        assert start.input == Payload(json=text)

    async def test_no_input_and_opaque_input(self, box: Box) -> None:
        await box.add()
        await box.insert(bson.encode({"_id": "2", **BARE, "input_binary": b"\x00\xff", "encoding": "gzip"}))
        found = {entry.request_id: entry.start for entry in await box.outbox.pending(NOW, 10)}
        assert [start.input if start else "" for start in (found["id"], found["2"])] == [None, Payload(binary=b"\x00\xff", encoding="gzip")]

    @pytest.mark.parametrize(
        ("document", "field"),
        [
            ({"busines_key": "k"}, "busines_key"),
            ({"workflow_type": 7}, "workflow_type"),
            ({"workflow_type": "no such name"}, "workflow_type"),
            ({"business_key": ""}, "business_key"),
            ({"format": 2}, "format"),
            ({"priority": 10}, "priority"),
            ({"priority": 1.5}, "priority"),
            ({"priority": True}, "priority"),
            ({"input": {"when": DatetimeMS(0)}}, "input.when"),
            ({"input": [ObjectId()]}, "input.0"),
            ({"input": Decimal128("1")}, "input"),
            ({"input": float("nan")}, "input"),
            ({"input": Regex("x")}, "input"),
            ({"input": 1, "input_json": "1"}, "input_json"),
            ({"input_json": "NaN"}, "input"),
            ({"input_json": "1", "encoding": "gzip"}, "encoding"),
            ({"labels": {"a": 1}}, "labels"),
            ({"labels": {" ": "x"}}, "labels"),
            ({"start_at": 5}, "start_at"),
            ({"start_at": DatetimeMS(-1)}, "start_at"),
            ({"workflow_timeout_ms": 0}, "workflow_timeout_ms"),
            ({"on_closed": "new_round"}, "on_closed"),
            ({"fairness_weight": 0}, "fairness_weight"),
        ],
    )
    async def test_what_is_wrong_is_named(self, box: Box, document: dict[str, Any], field: str) -> None:
        await box.add(**document)
        entry = await box.one()
        assert entry.start is None
        assert [name for name, _ in entry.faults] == [field]

    async def test_missing_fields_are_named(self, box: Box) -> None:
        await box.insert(bson.encode({"_id": 1}))
        assert [name for name, _ in (await box.one()).faults] == ["workflow_type", "business_key"]

    @pytest.mark.parametrize(
        ("identity", "request_id"),
        [
            (ObjectId("0123456789abcdef01234567"), "0123456789abcdef01234567"),
            ("a text", "a text"),
            (Int64(2**40), str(2**40)),
            (Binary(uuid.UUID(int=5).bytes, 4), str(uuid.UUID(int=5))),
        ],
    )
    async def test_the_id_is_the_request_id(self, box: Box, identity: object, request_id: str) -> None:
        await box.add(_id=identity)
        assert (await box.one()).request_id == request_id

    @pytest.mark.parametrize("identity", ["", "x" * 129, 1.5, {"a": 1}, True])
    async def test_other_ids_are_digested(self, box: Box, identity: object) -> None:
        await box.add(_id=identity)
        entry = await box.one()
        assert entry.request_id.startswith("sha256-")
        assert len(entry.request_id) < 128
        await box.outbox.remove(entry)
        assert await box.documents() == []

    async def test_removed_postponed_refused(self, box: Box) -> None:
        for name in ("a", "b", "c", "d"):
            await box.add(_id=name)
        a, b, c, d = sorted(await box.outbox.pending(NOW, 10), key=lambda entry: entry.request_id)
        await box.outbox.remove(a)
        await box.outbox.remove(a)
        await box.outbox.postpone(b, "OVERLOADED", "text", (NOW, NOW + 5))
        await box.outbox.refuse(c, "INVALID_ARGUMENT", "text", NOW)
        assert [entry.request_id for entry in await box.outbox.pending(NOW + 4, 10)] == ["d"]
        later = sorted(await box.outbox.pending(NOW + 5, 10), key=lambda entry: entry.request_id)
        assert [(entry.request_id, entry.tries) for entry in later] == [("b", 1), ("d", 0)]
        stored = {document["_id"]: document for document in await box.documents()}
        assert stored["d"] == {"_id": "d", **BARE}
        notes = {name: stored[name]["perdure"] for name in ("b", "c")}
        assert (notes["b"]["state"], notes["b"]["reason"], notes["b"]["message"]) == ("RETRYING", "OVERLOADED", "text")
        assert (notes["c"]["state"], notes["c"]["tries"]) == ("REFUSED", 1)
        assert d.start is not None

    async def test_a_note_on_what_is_gone_brings_nothing_back(self, box: Box) -> None:
        await box.add()
        entry = await box.one()
        await box.outbox.remove(entry)
        await box.outbox.refuse(entry, "INVALID_ARGUMENT", "text", NOW)
        assert await box.documents() == []

    async def test_no_more_than_asked(self, box: Box) -> None:
        for number in range(5):
            await box.add(_id=number)
        assert len(await box.outbox.pending(NOW, 3)) == 3
