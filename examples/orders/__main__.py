"""`python -m examples.orders`: a worker, and one order that is placed and followed. `--change` starts a new round of it instead."""

import argparse
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

from pymongo import MongoClient

from examples.orders.orders import Order, Orders
from examples.orders.plan import order_definition
from examples.orders.stock import Stock
from perdure import NotFound, WorkflowNotCompleted
from perdure.sync import Client, Run


def main(orders: Orders, stock: Stock, order: Order, *, change: bool) -> None:
    definition = order_definition(orders, stock)
    with Client() as client, client.worker(definition):
        if change:
            # The customer has changed the order: the round that runs is fenced at once, and a new one begins.
            run = client.start(
                definition, key=order.number, input=order, on_open="supersede", on_closed="new_round", request_id=uuid.uuid4().hex
            )
        else:
            print("placed" if orders.place(order) else "goes on", flush=True)
            run = relayed(client, order)
        for event in run.watch():
            print(event, flush=True)
        try:
            print(f"shipped to {run.result(str)}")
        except WorkflowNotCompleted as error:
            print(error)
    found = orders.get(order.number)
    print(f"order {order.number} is {found['state']}, for {found['address'] or 'nobody'}, fence {found['fence']}")
    print(f"{stock.pieces('lamp')} lamps left, {stock.charged()} cents taken")


def relayed(client: Client, order: Order) -> Run:
    """The workflow, when Perdure has taken the start from the outbox."""
    run = client.run("order", order.number)
    while True:
        try:
            run.get()
        except NotFound:
            time.sleep(0.1)
        else:
            return run


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("number", nargs="?", default="17")
    parser.add_argument("--mongo-url", required=True, help="`perdure dev` tells it")
    parser.add_argument("--outbox", default="perdure", help="Perdure's database")
    parser.add_argument("--shop", default="shop", help="the shop's own database")
    parser.add_argument("--sqlite", type=Path, default=Path(tempfile.gettempdir()) / "perdure-orders.sqlite")
    parser.add_argument("--address", default="12 Harbour Street", help="empty: shipping fails")
    parser.add_argument("--pause", type=float, default=3.0, help="seconds that shipping takes")
    parser.add_argument("--change", action="store_true", help="start a new round")
    given = parser.parse_args()
    mongo: MongoClient[dict[str, Any]] = MongoClient(given.mongo_url)
    placed = Order(given.number, "lamp", 2, 4900, given.address, given.pause)
    main(Orders(mongo, given.shop, given.outbox), Stock(given.sqlite), placed, change=given.change)
