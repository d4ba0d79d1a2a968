"""What a request asks for, as a digest: by it a repeat of a `request_id` is told from another request under the same id."""

import hashlib
from collections.abc import Collection
from typing import Any, Final

from google.protobuf.message import Message

from perdure.v1.payload_pb2 import Payload

NOT_CONTENT: Final = ("namespace", "workflow", "request_id", "reason", "etag", "validate_only")
"""Who repeats a request may word these anew: they name the request or its target, say why, or say under which condition."""

_DIGITS: Final = 32


def content_of(message: Message, put: str = "", owned: Collection[str] = ()) -> str:
    """Hex digits; "" = the message asks for nothing beside its verb and its target.

    `put`: the field that holds what is put; its fields in `owned` are the server's, and do not count.
    """
    content: Any = type(message)()
    content.CopyFrom(message)
    for name in NOT_CONTENT:
        if name in message.DESCRIPTOR.fields_by_name and name != put:
            content.ClearField(name)
    for name in owned:
        getattr(content, put).ClearField(name)
    _by_digest(content)
    encoded = content.SerializeToString(deterministic=True)
    return hashlib.sha256(encoded).hexdigest()[:_DIGITS] if encoded else ""


def _by_digest(message: Message) -> None:
    """A value with a client's digest counts by it: a codec makes other bytes of it each time."""
    if isinstance(message, Payload):
        if message.digest:
            message.CopyFrom(Payload(digest=message.digest))
        return
    for field, value in message.ListFields():
        if field.message_type is None or field.message_type.GetOptions().map_entry:
            continue
        for inner in value if field.is_repeated else (value,):
            _by_digest(inner)
