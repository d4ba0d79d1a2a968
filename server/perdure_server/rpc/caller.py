"""Who calls: the name that the doors have proved, else what the call says of itself."""

from typing import Final

from msgspec import Struct

from perdure_server.rpc import limits
from perdure_server.rpc.doors.identity import caller_name
from perdure_server.rpc.transport import Context

ACTOR_KEY: Final = "perdure-actor"


class Caller(Struct, frozen=True):
    """`actor` is the proved name; without doors that in the call's metadata ("" = none). `peer` is the address that it came from.

    `claimed` is the name in the metadata beside a proved one: a console that acts for a person.
    """

    actor: str
    peer: str
    claimed: str = ""


def caller_of(context: Context) -> Caller:
    """The caller of this call."""
    said = ""
    for key, value in context.invocation_metadata() or ():
        if key == ACTOR_KEY:
            text = value if isinstance(value, str) else bytes(value).decode(errors="replace")
            said = text[: limits.ACTOR]
            break
    proved = caller_name()
    return Caller(said, context.peer()) if proved is None else Caller(proved, context.peer(), said)
