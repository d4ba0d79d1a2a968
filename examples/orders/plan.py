"""The order as a workflow: reserve, charge, ship; what was done is undone when a later step fails, newest first."""

import time
from contextlib import suppress
from typing import Any

from examples.orders.orders import Order, Orders
from examples.orders.stock import Stock
from perdure import Context, Definition, Failure


def order_definition(orders: Orders, stock: Stock) -> Definition:
    """The definition, with what its steps write to."""
    order = Definition("order", version="1")

    @order.step()
    def reserve(ctx: Context[None], input: Order) -> None:
        stock.reserve(input.number, input.article, input.pieces, ctx.fence)

    @order.compensation(reserve)
    def release(ctx: Context[None], input: Order) -> None:
        # In doubt or not: nothing reserved is a state, and may be said twice.
        print(f"{input.number}: the reservation is undone", flush=True)
        stock.reserve(input.number, input.article, 0, ctx.fence)

    @order.step(after=reserve)
    def charge(ctx: Context[None], input: Order) -> None:
        stock.charge(ctx.idempotency_key, reference(ctx), input.cents)

    @order.compensation(charge)
    def refund(ctx: Context[None], input: Order) -> None:
        print(f"{input.number}: the charge is undone", flush=True)
        stock.refund(reference(ctx))

    @order.step(after=charge)
    def ship(ctx: Context[None], input: Order) -> str:
        if not input.address:
            raise Failure("order.no_address", "nobody can ship that", non_retryable=True)
        print(f"{input.number}: shipping to {input.address}, fence {ctx.fence}", flush=True)
        time.sleep(input.pause_seconds)  # a long pause of the process or the network would be here
        orders.set_state(input.number, "shipped", input.address, ctx.fence)
        return input.address

    @order.hook("failure_finalizer")
    def close(ctx: Context[None], input: Order) -> None:
        orders.set_state(input.number, "failed", input.address, ctx.fence)

    @order.hook("cancel_finalizer")
    def give_back(ctx: Context[None], input: Order) -> None:
        # Of a round that was cancelled, or superseded by a newer one: then the order is the newer round's, and only the money is ours.
        stock.refund(reference(ctx))
        with suppress(Failure):
            stock.reserve(input.number, input.article, 0, ctx.fence)
            orders.set_state(input.number, "cancelled", input.address, ctx.fence)

    return order


def reference(ctx: Context[Any]) -> str:
    """What the bank knows this round by."""
    return f"{ctx.business_key}/{ctx.round}"
