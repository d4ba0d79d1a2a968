"""What the replies of write commands mean."""

from collections.abc import Mapping
from typing import Any

from perdure_server.ports.errors import StoreError, StoreUnavailable
from perdure_server.store.driver import DUPLICATE_KEY, CommandRefusedError, is_unavailable


def confirmed(reply: Mapping[str, Any]) -> int:
    """How many documents a write command matched, inserted or removed.

    Raises StoreUnavailable if the majority did not confirm it, or if the server could not do it now, and StoreError if it refused.
    """
    if "writeConcernError" in reply:
        raise StoreUnavailable(f"the majority did not confirm in time (code {reply['writeConcernError'].get('code')})")
    for error in reply.get("writeErrors", ()):
        if is_unavailable(error["code"]):
            raise StoreUnavailable(f"the store could not do it now (code {error['code']})")
        raise CommandRefusedError(error["code"])
    return int(reply["n"])


def is_duplicate(error: StoreError) -> bool:
    """Whether the write was refused because the `_id` is taken."""
    return isinstance(error, CommandRefusedError) and error.code == DUPLICATE_KEY


def value_of(reply: Mapping[str, Any]) -> dict[str, Any] | None:
    """The document that findAndModify answered, or None. Raises StoreUnavailable if the majority did not confirm it."""
    if "writeConcernError" in reply:
        raise StoreUnavailable(f"the majority did not confirm in time (code {reply['writeConcernError'].get('code')})")
    found: dict[str, Any] | None = reply["value"]
    return found
