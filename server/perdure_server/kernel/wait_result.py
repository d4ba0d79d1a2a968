"""The output of a wait step: which condition won, with the signals' payloads, in the JSON form of the wire's WaitResult."""

import base64
import json

from perdure_server.kernel.limits import DAY, HOUR, MINUTE, SECOND
from perdure_server.kernel.values import Payload, Wake
from perdure_server.kernel.workflow import OpenCondition

CONTENT_TYPE = "application/vnd.perdure.wait-result+json"


def wait_result(condition: OpenCondition, wakes: tuple[Wake, ...]) -> Payload:
    """WaitResult as canonical protobuf JSON. The inner payloads stay what the senders made them, encoded ones included."""
    body = {"condition": condition.name, "wakes": [_wake(wake) for wake in wakes]}
    return Payload(json=json.dumps(body, ensure_ascii=False, separators=(",", ":")), content_type=CONTENT_TYPE)


def _wake(wake: Wake) -> dict[str, object]:
    found: dict[str, object] = {"condition": wake.condition}
    if wake.signal_id:
        found["signalId"] = wake.signal_id
    if wake.payload is not None:
        found["payload"] = _payload(wake.payload)
    if wake.signal_name:
        found["signalName"] = wake.signal_name
    found["wakeTime"] = timestamp(wake.time)
    return found


def _payload(payload: Payload) -> dict[str, object]:
    found: dict[str, object] = {}
    if payload.json is not None:
        found["json"] = payload.json
    elif payload.ref is not None:
        found["ref"] = {"payloadId": payload.ref.payload_id, "sizeBytes": str(payload.ref.size)}
    else:
        found["binary"] = base64.b64encode(payload.binary or b"").decode()
    named = (("contentType", payload.content_type), ("encoding", payload.encoding), ("digest", payload.digest))
    found |= {name: value for name, value in named if value}
    if payload.metadata:
        found["metadata"] = {key: base64.b64encode(value).decode() for key, value in payload.metadata.items()}
    return found


def timestamp(time: int) -> str:
    """A time in ms (1970 to 9999) as protobuf JSON writes it: `2027-01-15T08:00:00Z`, with three digits if it is no whole second.

    The calendar is computed here because the kernel imports no module that knows a clock.
    """
    days, rest = divmod(time, DAY)
    year, month, day = _civil(days)
    fraction = f".{rest % SECOND:03}" if rest % SECOND else ""
    return f"{year:04}-{month:02}-{day:02}T{rest // HOUR:02}:{rest % HOUR // MINUTE:02}:{rest % MINUTE // SECOND:02}{fraction}Z"


def _civil(days: int) -> tuple[int, int, int]:
    # Eras of 400 years of 146,097 days; the year begins in March, so that the leap day is its last.
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (day_of_era - day_of_era // 1_460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted_month = (5 * day_of_year + 2) // 153
    month = shifted_month + 3 if shifted_month < 10 else shifted_month - 9
    return era * 400 + year_of_era + (month <= 2), month, day_of_year - (153 * shifted_month + 2) // 5 + 1
