"""Starts that ride in your own MongoDB transaction: builds the document that Perdure relays (docs/outbox.md in the repository).

    command = start_document("ship_order", key="4711", input={"order": "4711"})
    await database.perdure_outbox.insert_one(command, session=session)

Works with pymongo and motor; needs neither of them here. After the commit, `run_of` gives the handle to wait with.
"""

import uuid
from collections.abc import Awaitable, Mapping
from dataclasses import fields
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, overload

from perdure import payloads
from perdure.codec import Codec
from perdure.known_types import KnownTypes
from perdure.sealing import seal_input
from perdure.starting import Start

if TYPE_CHECKING:
    from perdure.client import Client
    from perdure.definition import Definition
    from perdure.run import Run
    from perdure.starting import OnClosed, OnOpen
    from perdure.sync.client import Client as SyncClient
    from perdure.sync.run import Run as SyncRun

FORMAT = 1
_MILLISECOND = timedelta(milliseconds=1)


def start_document(
    workflow: "Definition | str",
    *,
    key: str,
    input: object = None,
    namespace: str = "default",
    request_id: str = "",
    labels: Mapping[str, str] | None = None,
    on_open: "OnOpen | None" = None,
    on_closed: "OnClosed | None" = None,
    start_at: datetime | None = None,
    priority: int | None = None,
    queue: str = "",
    fairness_key: str = "",
    fairness_weight: float | None = None,
    workflow_timeout: timedelta | None = None,
    retention: timedelta | None = None,
    definition_fingerprint: str = "",
    codec: Codec | None = None,
) -> dict[str, Any]:
    """The document to insert; its `_id` is the request id, so inserting it twice is refused by MongoDB.

    Args:
        workflow: Its definition, or the name of its type.
        key: The caller's own name of the business object.
        input: What it is about; encoded as `Client.start` does.
        namespace: Where.
        request_id: At most 128 bytes. Empty: a new one.
        labels: To find it by.
        on_open: What if the key has an open round. None: `use_existing`.
        on_closed: What if the key's last round has ended. None: `use_existing`.
        start_at: The first step waits until then; it must know its time zone.
        priority: 0 to 9, higher sooner. None: 5.
        queue: Queue of all steps.
        fairness_key: Work of one key shares a queue fairly with that of others.
        fairness_weight: Share of this fairness key.
        workflow_timeout: Instead of the definition's.
        retention: Instead of the definition's.
        definition_fingerprint: Which registered definition; empty: the active one.
        codec: What the input goes through, `client.config.codec` for example; None: it is stored plain.

    Raises:
        ValueError: `start_at` has no time zone, or the input has metadata.
        PayloadRejected: The input cannot travel as JSON.
        InvalidRequest: It is of another type than the definition says; by the name of the type nobody checks it here.
    """
    if start_at is not None and start_at.tzinfo is None:
        raise ValueError("`start_at` needs a time zone, such as datetime.now(UTC) + ...")
    given: dict[str, Any] = {
        "labels": dict(labels or {}),
        "on_open": on_open.upper() if on_open is not None else "",
        "on_closed": on_closed.upper() if on_closed is not None else "",
        "queue": queue,
        "fairness_key": fairness_key,
        "definition_fingerprint": definition_fingerprint,
    }
    chosen: dict[str, Any] = {
        "priority": priority,
        "fairness_weight": fairness_weight,
        "start_at": start_at,
        "workflow_timeout_ms": workflow_timeout // _MILLISECOND if workflow_timeout is not None else None,
        "retention_ms": retention // _MILLISECOND if retention is not None else None,
    }
    return {
        "_id": request_id or uuid.uuid4().hex,
        "format": FORMAT,
        "namespace": namespace,
        "workflow_type": workflow if isinstance(workflow, str) else workflow.workflow_type,
        "business_key": key,
        **_input(input, codec, workflow),
        **{name: value for name, value in given.items() if value},
        **{name: value for name, value in chosen.items() if value is not None},
    }


@overload
def run_of(client: "Client", document: Mapping[str, Any], workflow: "Definition | None" = None) -> "Awaitable[Run]": ...
@overload
def run_of(client: "SyncClient", document: Mapping[str, Any], workflow: "Definition | None" = None) -> "SyncRun": ...
def run_of(client: Any, document: Mapping[str, Any], workflow: "Definition | None" = None) -> Any:
    """The handle on what a document of `start_document` starts: await it, unless the client is the synchronous one.

    Call it after the commit, never before or inside: it asks for the very start that the relay asks for, under the same request id. So
    whoever is first begins the workflow, the other meets it, and if this program dies the relay does it alone.

    Args:
        client: Of the document's namespace.
        document: What was inserted.
        workflow: Its definition, so that the result is decoded as it says; None: by the document.

    Raises:
        ValueError: The client is of another namespace, or the document is none of `start_document`.
        PerdureError: What `client.start` raises.
    """
    start = _start_of(document, workflow)
    if document["namespace"] != client.config.namespace:
        raise ValueError(f"the document is of the namespace {document['namespace']!r}, the client of {client.config.namespace!r}")
    return client.start(**{field.name: getattr(start, field.name) for field in fields(start)})


def _start_of(document: Mapping[str, Any], workflow: "Definition | None") -> Start:
    if document.get("format") != FORMAT or "input" in document or not isinstance(document.get("_id"), str):
        raise ValueError("not a document of `start_document`, unchanged")
    same = ("labels", "queue", "fairness_key", "definition_fingerprint", "priority", "fairness_weight", "start_at")
    spans = {"workflow_timeout": "workflow_timeout_ms", "retention": "retention_ms"}
    options: dict[str, Any] = {name: document[name] for name in same if name in document}
    options |= {name: document[name].lower() for name in ("on_open", "on_closed") if name in document}
    options |= {name: document[field] * _MILLISECOND for name, field in spans.items() if field in document}
    return Start(
        workflow=workflow or document["workflow_type"],
        key=document["business_key"],
        input=_payload_of(document),
        request_id=document["_id"],
        **options,
    )


def _payload_of(document: Mapping[str, Any]) -> payloads.Payload | None:
    attributes = {name: document[name] for name in ("content_type", "encoding", "digest") if name in document}
    if "input_json" in document:
        return payloads.Payload(json=document["input_json"], **attributes)
    return payloads.Payload(binary=bytes(document["input_binary"]), **attributes) if "input_binary" in document else None


def _input(value: object, codec: Codec | None, workflow: "Definition | str") -> dict[str, Any]:
    payload = payloads.encode(value)
    KnownTypes(workflow).check_input(payload)
    if payload is None:
        return {}
    if codec is not None:
        seal_input(payload, codec)
    if payload.metadata:
        raise ValueError("an outbox's document has no place for a payload's metadata")
    kind = payload.WhichOneof("data")
    found: dict[str, Any] = {"content_type": payload.content_type, "encoding": payload.encoding, "digest": payload.digest}
    attributes = {name: text for name, text in found.items() if text}
    if kind == "json":
        return {"input_json": payload.json, **attributes}
    return {"input_binary": payload.binary, **attributes} if kind == "binary" else {}
