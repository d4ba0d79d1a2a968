"""`client.poll`: steps are taken, done and settled without a worker."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta

import pytest

from perdure import (
    ClaimLost,
    Client,
    Context,
    Definition,
    Failure,
    NotFound,
    PayloadRejected,
    Retry,
    StepState,
    Wait,
    Woken,
    WorkflowFailed,
)
from perdure.sync import Client as SyncClient
from perdure_server.main import Running

SOON = timedelta(seconds=5)
NOW = timedelta(0)


@dataclass
class Order:
    number: int


shop = Definition("shop")
BIG = "x" * 1_200_000


@shop.step(retry=Retry(max_attempts=2, initial_interval=timedelta(milliseconds=10)))
async def pack(ctx: Context[int], input: Order) -> str:
    raise AssertionError("nobody calls it")


shop.wait("paid", after=pack, signal="pay", payload=str)


@shop.step()
async def send(ctx: Context[None], pack: str, paid: Woken[str]) -> int:
    raise AssertionError("nobody calls it")


async def test_a_workflow_is_done_by_polls_alone(client: Client) -> None:
    await client.definitions.register(shop, activate=True)
    run = await client.start(shop, key="k", input=Order(7))
    [claim] = await client.poll(shop, wait=SOON, lease=timedelta(seconds=60))
    assert (claim.step.name, claim.facts.business_key, claim.facts.attempt) == ("pack", "k", 1)
    assert claim.lease == timedelta(seconds=60)
    assert await claim.inputs() == {"input": Order(7)}
    assert (await claim.checkpoint(), await claim.save(3), await claim.checkpoint()) == (None, False, 3)
    assert await claim.renew(timedelta(seconds=90)) is False
    await claim.complete("parcel 1")
    assert await client.poll(shop, wait=NOW) == [], "it waits for the signal"
    await run.signal("pay", BIG)
    [claim] = await client.poll(shop, wait=SOON)
    inputs = await claim.inputs()
    assert (claim.step.name, inputs["pack"], inputs["paid"].value) == ("send", "parcel 1", BIG), "what was too large is fetched"
    await claim.complete(5)
    assert await run.result() == 5
    with pytest.raises(ClaimLost):
        await claim.renew()


async def test_a_claim_fails_waits_and_goes_back(client: Client) -> None:
    await client.definitions.register(shop, activate=True)
    run = await client.start(shop, key="k", input=Order(7))
    [claim] = await client.poll(shop, wait=SOON, steps=["pack"], worker_id="ann")
    assert (await run.get()).steps["pack"].worker_id == "ann"
    await claim.release()
    [claim] = await client.poll(shop, wait=SOON, max_claims=10)
    assert claim.facts.attempt == 1, "given back uncharged"
    await claim.complete(Wait.any(signal="go", checkpoint=9))
    assert (await run.get()).steps["pack"].state is StepState.WAITING
    await run.signal("go")
    [claim] = await client.poll(shop, wait=SOON)
    assert await claim.checkpoint() == 9
    await claim.fail(Failure("pack.torn", "the box is torn"))
    [claim] = await client.poll(shop, wait=SOON)
    assert claim.facts.attempt == 2
    await claim.fail(Failure("pack.torn", "again", non_retryable=True))
    with pytest.raises(WorkflowFailed) as caught:
        await run.result()
    assert caught.value.failure.type == "pack.torn"


async def test_a_cancel_is_told_by_a_renewal(client: Client) -> None:
    await client.definitions.register(shop, activate=True)
    run = await client.start(shop, key="k", input=Order(7))
    [claim] = await client.poll(shop, wait=SOON)
    await run.cancel("no need")
    assert await claim.renew() is True
    assert await claim.save(1) is True
    await claim.cancelled()
    assert (await run.get()).state == "CANCELLED"


async def test_an_input_of_another_type_is_told_to_who_asks(client: Client) -> None:
    await client.definitions.register(shop, activate=True)
    await client.start("shop", key="k", input="no order")
    [claim] = await client.poll(shop, wait=SOON)
    with pytest.raises(PayloadRejected, match="input"):
        await claim.inputs()


async def test_what_cannot_be_served_is_refused(client: Client) -> None:
    with pytest.raises(NotFound):
        await client.poll(shop, wait=NOW)
    with pytest.raises(ValueError, match="names no step"):
        await client.poll(shop, steps=["sned"])


async def test_the_sync_client_polls_too(real: Running) -> None:
    def work() -> object:
        with SyncClient(f"127.0.0.1:{real.port}") as client:
            client.definitions.register(shop, activate=True)
            run = client.start(shop, key="k", input=Order(7), signals=[])
            [claim] = client.poll(shop, wait=SOON)
            given = claim.inputs()
            claim.complete("parcel")
            run.signal("pay", "cash")
            [claim] = client.poll(shop, wait=SOON)
            claim.complete(len(claim.inputs()))
            return given, run.result(int)

    assert await asyncio.to_thread(work) == ({"input": Order(7)}, 2)
