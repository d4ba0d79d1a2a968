"""Starts that ride in your own MongoDB transaction: builds the document that Perdure relays (docs/outbox.md in the repository).

    command = start_document("ship_order", key="4711", input={"order": "4711"})
    await database.perdure_outbox.insert_one(command, session=session)

Works with pymongo and motor; needs neither of them here.
"""

import uuid
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from perdure import payloads
from perdure.codec import Codec
from perdure.sealing import seal_input

if TYPE_CHECKING:
    from perdure.definition import Definition
    from perdure.starting import OnClosed, OnOpen

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
        **_input(input, codec),
        **{name: value for name, value in given.items() if value},
        **{name: value for name, value in chosen.items() if value is not None},
    }


def _input(value: object, codec: Codec | None) -> dict[str, Any]:
    payload = payloads.encode(value)
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
