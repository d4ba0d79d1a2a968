"""The output of a wait step: which condition won, with the signals' payloads, in the JSON form of the wire's WaitResult."""

import base64
import json

from perdure_server.kernel.values import Payload, Wake
from perdure_server.kernel.workflow import OpenCondition

CONTENT_TYPE = "application/vnd.perdure.wait-result+json"


def wait_result(condition: OpenCondition, wakes: tuple[Wake, ...]) -> Payload:
    """WaitResult as JSON. The inner payloads stay what the senders made them, encoded ones included."""
    body = {
        "condition": condition.name,
        "wakes": [
            {"condition": wake.condition}
            | ({"signalId": wake.signal_id} if wake.signal_id else {})
            | ({"payload": _payload(wake.payload)} if wake.payload is not None else {})
            for wake in wakes
        ],
    }
    return Payload(json=json.dumps(body, ensure_ascii=False, separators=(",", ":")), content_type=CONTENT_TYPE)


def _payload(payload: Payload) -> dict[str, object]:
    found: dict[str, object] = {}
    if payload.json is not None:
        found["json"] = payload.json
    elif payload.ref is not None:
        found["ref"] = {"payloadId": payload.ref.payload_id, "sizeBytes": str(payload.ref.size)}
    else:
        found["binary"] = base64.b64encode(payload.binary or b"").decode()
    for name, value in (("contentType", payload.content_type), ("encoding", payload.encoding), ("digest", payload.digest)):
        if value:
            found[name] = value
    if payload.metadata:
        found["metadata"] = {key: base64.b64encode(value).decode() for key, value in payload.metadata.items()}
    return found
