"""Who calls, as far as the call itself says. Names that are proved come with the doors."""

from typing import Final

from msgspec import Struct

from perdure_server.rpc import limits
from perdure_server.rpc.transport import Context

ACTOR_KEY: Final = "perdure-actor"


class Caller(Struct, frozen=True):
    """`actor` is the name in the call's metadata ("" = none), `peer` the address that it came from."""

    actor: str
    peer: str


def caller_of(context: Context) -> Caller:
    """The caller of this call."""
    for key, value in context.invocation_metadata() or ():
        if key == ACTOR_KEY:
            text = value if isinstance(value, str) else bytes(value).decode(errors="replace")
            return Caller(text[: limits.ACTOR], context.peer())
    return Caller("", context.peer())
