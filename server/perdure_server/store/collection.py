"""One small collection: insert, conditional change, find, remove. What decides about workflows has a committer of its own."""

from collections.abc import Sequence
from typing import Any

from perdure_server.ports.errors import StoreError
from perdure_server.store import limits
from perdure_server.store.driver import MAJORITY, Connection
from perdure_server.store.replies import confirmed, is_duplicate

Document = dict[str, Any]


class Collection:
    """Commands on one collection. `linearizable` is the read concern that stands for it on this store."""

    def __init__(self, connection: Connection, name: str, linearizable: str) -> None:
        self._connection = connection
        self._name = name
        self._linearizable = linearizable

    async def insert(self, document: Document) -> bool:
        """False = the `_id` is taken. Raises StoreUnavailable."""
        try:
            confirmed(await self._connection.command({"insert": self._name, "documents": [document], "writeConcern": MAJORITY}))
        except StoreError as error:
            if is_duplicate(error):
                return False
            raise
        return True

    async def change(self, condition: Document, changes: Document, removed: Sequence[str] = ()) -> bool:
        """Set fields of the one document that fulfils the condition; False = none does. Raises StoreUnavailable."""
        operators: Document = {"$set": changes} if changes else {}
        if removed:
            operators["$unset"] = dict.fromkeys(removed, "")
        update = {"q": condition, "u": operators, "multi": False}
        return confirmed(await self._connection.command({"update": self._name, "updates": [update], "writeConcern": MAJORITY})) == 1

    async def remove(self, condition: Document, limit: int = 0) -> int:
        """Remove what fulfils the condition (`limit` 1: one of it); returns how many. Raises StoreUnavailable."""
        command = {"delete": self._name, "deletes": [{"q": condition, "limit": limit}], "writeConcern": MAJORITY}
        return confirmed(await self._connection.command(command))

    async def get(self, identity: object) -> Document | None:
        """One document, linearizable. Raises StoreUnavailable."""
        found = await self._read({"filter": {"_id": identity}, "limit": 1, "batchSize": 1, "readConcern": {"level": self._linearizable}})
        return found[0] if found else None

    async def find(self, condition: Document, limit: int, sort: Document | None = None, fields: Document | None = None) -> list[Document]:
        """At most `limit` documents. Raises StoreUnavailable."""
        command: Document = {"filter": condition, "limit": limit, "batchSize": limit, "readConcern": {"level": "local"}}
        if sort is not None:
            command["sort"] = sort
        if fields is not None:
            command["projection"] = fields
        return await self._read(command)

    async def _read(self, command: Document) -> list[Document]:
        reply = await self._connection.read({"find": self._name, **command, "singleBatch": True, "maxTimeMS": limits.READ_TIMEOUT_MS})
        found: list[Document] = reply["cursor"]["firstBatch"]
        return found
