"""The business that the agent works for: what it may look up, and the one thing that is done in the end."""

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from examples.agent.model import ToolCall, ToolSchema

ORDERS = {17: {"number": 17, "customer": "ada@example.org", "cents": 4900, "parcel": "P-88"}}
PARCELS = {"P-88": {"parcel": "P-88", "place": "Bremen", "since": "Monday", "state": "waiting for a van"}}


@dataclass(frozen=True)
class Draft:
    """What the model must come to; checked before anybody sees it."""

    to: Annotated[str, Meta(pattern=r"^[^@\s]+@[^@\s]+$")]
    text: Annotated[str, Meta(min_length=20, max_length=2000)]
    refund_cents: Annotated[int, Meta(ge=0, le=5000)]


@dataclass(frozen=True)
class FindOrder:
    number: int


@dataclass(frozen=True)
class TrackParcel:
    parcel: Annotated[str, Meta(max_length=40)]


@dataclass(frozen=True)
class Tool:
    description: str
    arguments: type
    use: Callable[[Any], object]


# All that the agent may do while it thinks: it reads. What changes the world is the step `act`, after a person's yes.
ALLOWED: Mapping[str, Tool] = {
    "find_order": Tool("An order by its number.", FindOrder, lambda asked: ORDERS.get(asked.number, "no such order")),
    "track_parcel": Tool("Where a parcel is.", TrackParcel, lambda asked: PARCELS.get(asked.parcel, "no such parcel")),
}


def schemas() -> list[ToolSchema]:
    """What the model is told."""
    found = []
    for name, tool in ALLOWED.items():
        # Not `msgspec.json.schema`, which puts the object behind a $ref that small models' servers do not follow.
        _, components = msgspec.json.schema_components([tool.arguments])
        found.append(ToolSchema(name, tool.description, components[tool.arguments.__name__]))
    return found


def use(call: ToolCall) -> str:
    """The tool's answer, or why there is none. Never an exception: the model has to go on with it."""
    tool = ALLOWED.get(call.name)
    if tool is None:
        return f"refused: {call.name} is not allowed; allowed are {', '.join(ALLOWED)}"
    try:
        arguments: object = msgspec.json.decode(call.arguments, type=tool.arguments)
    except msgspec.MsgspecError as error:
        return f"refused: {error}"
    return msgspec.json.encode(tool.use(arguments)).decode()


class Outbox:
    """Letters with refunds. One per key, however often it is asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._execute("CREATE TABLE IF NOT EXISTS letters (key TEXT PRIMARY KEY, receiver TEXT, text TEXT, refund_cents INTEGER)")

    def send(self, key: str, draft: Draft) -> None:
        """Sends it, unless it was sent under this key."""
        self._execute("INSERT OR IGNORE INTO letters VALUES (?, ?, ?, ?)", key, draft.to, draft.text, draft.refund_cents)

    def sent(self) -> list[tuple[str, int]]:
        """Receiver and refund of each."""
        return [(to, cents) for to, cents in self._execute("SELECT receiver, refund_cents FROM letters")]

    def _execute(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self._path, timeout=10)) as database, database:
            return database.execute(statement, values).fetchall()
