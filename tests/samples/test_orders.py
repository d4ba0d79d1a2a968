"""examples/orders: a late worker of an older round is refused, what failed is undone, and no start is lost."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from examples.orders.orders import Order, Orders
from examples.orders.stock import Stock
from perdure import Failure
from tests.conftest import Eventually, RunningServer
from tests.e2e.conftest import MakeServer
from tests.samples.conftest import RunSample
from tests.samples.program import Program

LAMPS = 10
ORDER = Order("17", "lamp", 2, 4900, "12 Harbour Street")


@pytest.fixture
def stock(tmp_path: Path) -> Stock:
    return Stock(tmp_path / "shop.sqlite")


@pytest.fixture
def orders(store_process: RunningServer, database_name: str) -> Iterator[Orders]:
    mongo: MongoClient[dict[str, Any]] = MongoClient(store_process.url)
    yield Orders(mongo, f"{database_name}_shop", database_name)
    mongo.drop_database(f"{database_name}_shop")
    mongo.close()


def test_a_lower_fence_is_refused_by_sql(stock: Stock) -> None:
    stock.reserve("17", "lamp", 2, fence=5)
    stock.reserve("17", "lamp", 2, fence=5)
    stock.reserve("17", "lamp", 3, fence=6)
    with pytest.raises(Failure, match=r"order\.superseded"):
        stock.reserve("17", "lamp", 0, fence=5)
    assert stock.pieces("lamp") == LAMPS - 3
    with pytest.raises(Failure, match=r"stock\.empty"):
        stock.reserve("17", "lamp", 11, fence=7)
    stock.reserve("17", "lamp", 0, fence=6)
    assert stock.pieces("lamp") == LAMPS


def test_a_lower_fence_is_refused_by_mongodb(orders: Orders) -> None:
    assert orders.place(ORDER)
    assert not orders.place(ORDER)
    orders.set_state("17", "packed", "here", fence=5)
    orders.set_state("17", "shipped", "here", fence=5)
    with pytest.raises(Failure, match=r"order\.superseded"):
        orders.set_state("17", "packed", "there", fence=4)
    assert (orders.get("17")["state"], orders.get("17")["address"]) == ("shipped", "here")


class Shop:
    """The sample's program on a server that relays the shop's outbox."""

    def __init__(self, sample: RunSample, address: str, flags: tuple[object, ...]) -> None:
        self._sample, self._address, self._flags = sample, address, flags

    def __call__(self, *arguments: object) -> Program:
        return self._sample("examples.orders", *arguments, *self._flags, address=self._address)


@pytest.fixture
def shop(new_server: MakeServer, sample: RunSample, store_process: RunningServer, database_name: str, tmp_path: Path) -> Shop:
    flags = ("--mongo-url", store_process.url, "--outbox", database_name, "--shop", f"{database_name}_shop")
    return Shop(sample, new_server().address, (*flags, "--sqlite", tmp_path / "shop.sqlite"))


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_kill_9_while_it_ships_charges_once(shop: Shop, orders: Orders, stock: Stock) -> None:
    first = shop("17", "--pause", 1)
    await first.says("17: shipping to 12 Harbour Street")
    await first.kill()
    second = shop("17", "--pause", 1)
    assert await second.says("goes on")
    lines = await second.ends()
    assert "shipped to 12 Harbour Street" in lines
    assert orders.get("17")["state"] == "shipped"
    assert (stock.pieces("lamp"), stock.charged()) == (LAMPS - 2, 4900)


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_what_failed_is_undone(shop: Shop, orders: Orders, stock: Stock) -> None:
    lines = await shop("17", "--address", "").ends()
    assert [line for line in lines if "order.no_address" in line]
    # Said by the activities, not by the watch: it may begin when the first of them has ended.
    assert [line for line in lines if line.endswith("is undone")] == ["17: the charge is undone", "17: the reservation is undone"]
    assert orders.get("17")["state"] == "failed"
    assert (stock.pieces("lamp"), stock.charged()) == (LAMPS, 0)


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_a_late_worker_of_an_older_round_is_refused(shop: Shop, orders: Orders, stock: Stock, eventually: Eventually) -> None:
    late = shop("17", "--pause", 1)
    older = int((await late.says("17: shipping to 12 Harbour Street")).rpartition(" ")[2])
    late.send(signal.SIGSTOP)  # as a machine that hangs, or a very long pause of its collector
    change = shop("17", "--change", "--address", "elsewhere", "--pause", 0)
    assert "shipped to elsewhere" in await change.ends()
    written = orders.get("17")
    assert written["fence"] > older
    late.send(signal.SIGCONT)
    await late.says(f"a newer round than that of fence {older} has written")
    assert orders.get("17") == written
    # The older round's money is given back, by its cancel finalizer; the pieces are the newer round's.
    await eventually(lambda: stock.charged() == ORDER.cents, within=20)
    assert stock.pieces("lamp") == LAMPS - 2
    await late.kill()
