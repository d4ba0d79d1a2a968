"""The shop's orders, in MongoDB: the state by fence, and a start that rides in the shop's own transaction."""

from dataclasses import asdict, dataclass
from typing import Any

from pymongo import MongoClient

from examples.orders.fence import superseded
from perdure.outbox import start_document


@dataclass(frozen=True)
class Order:
    """The workflow's input."""

    number: str
    article: str
    pieces: int
    cents: int
    address: str
    pause_seconds: float = 0.0
    """How long shipping takes, so that there is time to kill something."""


class Orders:
    """One document per order. `outbox` is the database that Perdure relays starts from; by default its own."""

    def __init__(self, client: MongoClient[dict[str, Any]], shop: str, outbox: str) -> None:
        self._client = client
        self._orders = client[shop].orders
        self._outbox = client[outbox].perdure_outbox

    def place(self, order: Order) -> bool:
        """Store the order and the wish to start its workflow, both or neither; False if it is there already.

        A crash right after the commit loses nothing: Perdure finds the wish, within a second or so.
        """
        if self._orders.find_one({"_id": order.number}):
            return False
        command = start_document("order", key=order.number, input=order)
        with self._client.start_session() as session, session.start_transaction():
            self._orders.insert_one({"_id": order.number, "state": "placed", "fence": 0, **asdict(order)}, session=session)
            self._outbox.insert_one(command, session=session)
        return True

    def set_state(self, number: str, state: str, address: str, fence: int) -> None:
        """Raises Failure if a newer round has written."""
        done = self._orders.update_one(
            {"_id": number, "fence": {"$lte": fence}}, {"$set": {"state": state, "address": address, "fence": fence}}
        )
        if not done.matched_count:
            raise superseded(number, fence)

    def get(self, number: str) -> dict[str, Any]:
        """The document as it is. Raises KeyError."""
        found = self._orders.find_one({"_id": number})
        if found is None:
            raise KeyError(number)
        return found
