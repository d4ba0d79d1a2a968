"""A value of another type than the definition says is refused by the client, before it is stored and fails in a worker."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from perdure import Client, Context, Definition, ErrorReason, Every, InvalidRequest, Payload, Run, ScheduledStart, Start, StartSignal, Woken
from perdure.known_types import KnownTypes
from perdure.outbox import start_document
from perdure.payloads import encode
from perdure.sync import Client as SyncClient


@dataclass
class Order:
    number: int
    note: str = ""


@dataclass
class Choice:
    allow: bool


def ordering() -> Definition:
    definition = Definition("ordering")

    @definition.step()
    async def check(ctx: Context[None], input: Order) -> str:
        return input.note

    definition.wait("choice", after=check, signal="choose", payload=Choice)
    definition.wait("word", after=check, signal="say")

    @definition.step()
    async def ship(ctx: Context[None], choice: Woken[Choice], word: Woken[int]) -> int:
        return word.value or 0

    return definition


WRONG = {"number": "seven"}


def fields(caught: "pytest.ExceptionInfo[InvalidRequest]") -> list[str]:
    assert caught.value.reason == ErrorReason.PAYLOAD_INVALID
    return [violation.field for violation in caught.value.violations]


async def test_a_start_of_a_wrong_type_is_refused_with_its_field(client: Client) -> None:
    await client.definitions.register(ordering(), activate=True)
    with pytest.raises(InvalidRequest) as caught:
        await client.start(ordering(), key="k", input=WRONG)
    assert fields(caught) == ["input"]
    assert "step check" in str(caught.value)
    assert "$.number" in str(caught.value)
    with pytest.raises(InvalidRequest) as caught:
        await client.start(ordering(), key="k")
    assert "no value" in str(caught.value)
    with pytest.raises(InvalidRequest) as caught:
        await client.start(ordering(), key="k", input=Order(7), signals=[StartSignal("other", 1), StartSignal("choose", "yes")])
    assert fields(caught) == ["signals[1].payload"]
    assert [found async for found in client.list()] == [], "nothing was stored"
    assert (await client.start(ordering(), key="k", input=Order(7), signals=[StartSignal("choose", Choice(True))])).created


async def test_by_its_name_nobody_knows_the_types(client: Client) -> None:
    await client.definitions.register(ordering(), activate=True)
    assert (await client.start("ordering", key="k", input=WRONG)).created
    await client.run("ordering", "k").signal("choose", "yes")


async def test_of_many_starts_a_wrong_one_touches_no_other(client: Client) -> None:
    await client.definitions.register(ordering(), activate=True)
    starts = [Start(workflow=ordering(), key=str(number), input=WRONG if number % 2 else Order(number)) for number in range(4)]
    told = await client.start_many(starts)
    assert [isinstance(found, Run) for found in told] == [True, False, True, False]
    assert [found.key for found in told if isinstance(found, Run)] == ["0", "2"]
    assert all(isinstance(found, InvalidRequest) for found in told[1::2])
    assert len(await client.start_many(starts[1:2])) == 1, "and where none is right, nobody is asked"


async def test_a_signal_of_a_wrong_type_is_refused(client: Client) -> None:
    await client.definitions.register(ordering(), activate=True)
    started = await client.start(ordering(), key="k", input=Order(1))
    for run in (started, client.run(ordering(), "k"), started.expecting(None)):
        with pytest.raises(InvalidRequest) as caught:
            await run.signal("choose", {"allow": "maybe"})
        assert fields(caught) == ["payload"]
    with pytest.raises(InvalidRequest, match="step ship"):
        await started.signal("say", "a word")
    assert not (await started.get()).message.pending_signals
    await started.signal("choose", {"allow": True})
    await started.signal("say", 5)
    await started.signal("say")  # without a value: what the annotation calls None
    await started.signal("anything", object.__name__)


async def test_schedules_and_outboxes_look_too(client: Client) -> None:
    await client.definitions.register(ordering(), activate=True)
    with pytest.raises(InvalidRequest) as caught:
        await client.schedules.put("s", Every(timedelta(hours=1)), ScheduledStart(workflow=ordering(), input=WRONG))
    assert fields(caught) == ["start.input"]
    with pytest.raises(InvalidRequest) as caught:
        start_document(ordering(), key="k", input=WRONG)
    assert fields(caught) == ["input"]
    assert start_document("ordering", key="k", input=WRONG)["input_json"] == '{"number":"seven"}'


def test_the_sync_client_looks_too() -> None:
    with SyncClient("127.0.0.1:1") as client, pytest.raises(InvalidRequest) as caught:
        client.run(ordering(), "k").signal("choose", 5)
    assert fields(caught) == ["payload"]


def _twice() -> Definition:
    definition = Definition("twice")
    definition.wait("first", signal="go", payload=int)
    definition.wait("second", signal="go", payload=str, after="first")
    return definition


def _unannotated() -> Definition:
    definition = Definition("loose")

    @definition.step()
    def work(ctx, input):  # type: ignore[no-untyped-def]  # what this is about  # noqa: ANN001, ANN202 -- the same
        return input

    return definition


def _unresolvable() -> Definition:
    definition = Definition("elsewhere")

    @definition.step()
    async def work(ctx: Context[None], input: "Missing") -> None:  # type: ignore[name-defined]  # noqa: F821 -- what this is about
        return None

    return definition


@pytest.mark.parametrize(
    ("make", "signal", "value"),
    [(_twice, "go", 5), (_twice, "go", "word"), (_unannotated, "", WRONG), (_unannotated, "", None), (_unresolvable, "", WRONG)],
)
def test_what_somebody_may_take_passes(make: Callable[[], Definition], signal: str, value: Any) -> None:
    known = KnownTypes(make())
    if signal:
        known.check_signal(signal, encode(value))
    else:
        known.check_input(encode(value))


def test_what_nobody_takes_does_not_pass() -> None:
    with pytest.raises(InvalidRequest):
        KnownTypes(_twice()).check_signal("go", encode([1]))


def test_an_encoded_value_passes_since_nobody_can_look_into_it() -> None:
    sealed = Payload(binary=b"x", encoding="aes-gcm").to_message()
    known = KnownTypes(ordering())
    known.check_input(sealed)
    known.check_signal("choose", sealed)
