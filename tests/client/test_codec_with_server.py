"""The codec against a whole server, which never sees a value."""

import asyncio
import threading
from typing import Any, ClassVar

import pytest

from perdure import (
    AlreadyExists,
    Client,
    Context,
    Definition,
    Failure,
    Page,
    Payload,
    PayloadUndecodable,
    Retry,
    Snapshot,
    StartSignal,
    StepView,
    Wait,
    Woken,
    WorkflowFailed,
)
from perdure.aes_gcm import AesGcm, KeyRing
from perdure.sync import Client as SyncClient
from perdure.testing import completes, fails, start_server
from perdure_server.main import Running
from tests.client import process_steps
from tests.conftest import Eventually

MARK = "secret-of-Müller"
RING = KeyRing.new()


def order() -> Definition:
    definition = Definition("order", output="finish")

    @definition.step()
    async def begin(ctx: Context[dict[str, str]], input: dict[str, str]) -> dict[str, str] | Wait:
        found = ctx.woken(str)
        if found is None:
            return Wait.any(signal="go", checkpoint={"saved": input["name"]})
        assert ctx.checkpoint == {"saved": input["name"]}
        return {"name": input["name"], "signal": str(found.value)}

    definition.wait("more", signal="more", after=begin)

    @definition.step()
    async def finish(ctx: Context[None], begin: dict[str, str], more: Woken[str]) -> list[str]:
        ctx.frame(begin["name"])
        return [begin["name"], begin["signal"], str(more.value)]

    return definition


async def test_values_come_out_as_they_went_in_and_the_server_never_sees_them(real: Running) -> None:
    address = f"127.0.0.1:{real.port}"
    definition = order()
    async with Client(address, codec=AesGcm(RING)) as client, Client(address) as blind, client.worker(definition):
        run = await client.start(definition, key="k", input={"name": MARK}, signals=[StartSignal("go", MARK)])
        await run.signal("more", MARK)
        assert await run.result(list[str]) == [MARK] * 3
        assert (await run.get()).input(dict[str, str]) == {"name": MARK}
        seen = await blind.get("order", "k")
        assert MARK not in str(seen.message)
        assert MARK.encode() not in seen.message.SerializeToString()
        with pytest.raises(PayloadUndecodable, match="no codec named 'aes-gcm'"):
            seen.output(list[str])
        assert seen.input(Payload).encoding == "aes-gcm"


async def test_the_same_input_is_the_same_whatever_the_nonce_the_order_and_the_active_key(real: Running) -> None:
    address = f"127.0.0.1:{real.port}"
    rotated = KeyRing("k2", {**RING.keys, "k2": bytes(32)}, RING.digest_key)
    definition = order()
    async with Client(address, codec=AesGcm(RING)) as first, Client(address, codec=AesGcm(rotated)) as second:
        await first.definitions.register(definition, activate=True)
        assert (await first.start("order", key="k", input={"a": 1, "name": MARK})).created
        assert not (await first.start("order", key="k", input={"name": MARK, "a": 1})).created
        again = await second.start("order", key="k", input={"name": MARK, "a": 1})
        assert not again.created
        assert (await again.get()).input() == {"a": 1, "name": MARK}
        with pytest.raises(AlreadyExists):
            await second.start("order", key="k", input={"name": MARK, "a": 2})


async def test_keys_rotate_without_a_gap(real: Running) -> None:
    address = f"127.0.0.1:{real.port}"
    readers = KeyRing("k1", {**RING.keys, "k2": bytes(range(32))}, RING.digest_key)
    writers = KeyRing("k2", readers.keys, RING.digest_key)
    definition = order()
    async with (
        Client(address, codec=AesGcm(RING)) as old,
        Client(address, codec=AesGcm(readers)) as reader,
        Client(address, codec=AesGcm(writers)) as new,
        reader.worker(definition),
    ):
        begun_before = await old.start(definition, key="before", input={"name": MARK}, signals=[StartSignal("go", "1")])
        begun_after = await new.start(definition, key="after", input={"name": MARK}, signals=[StartSignal("go", "1")])
        await new.run(definition, "before").signal("more", "2")
        await new.run(definition, "after").signal("more", "2")
        assert await begun_before.result(list[str]) == [MARK, "1", "2"]
        assert await begun_after.result(list[str]) == [MARK, "1", "2"]


async def test_a_worker_without_the_key_fails_its_attempt_by_a_clear_type_and_not_in_a_hot_loop(
    real: Running, eventually: Eventually
) -> None:
    address = f"127.0.0.1:{real.port}"
    definition = Definition("note")

    @definition.step(retry=Retry(max_attempts=2))
    async def work(ctx: Context[None], input: str) -> str:
        return input

    other = AesGcm(KeyRing.new("k9"))
    async with Client(address, codec=AesGcm(RING)) as client, Client(address, codec=other) as lost, lost.worker(definition):
        run = await client.start(definition, key="k", input=MARK)

        async def failed() -> StepView | None:
            found = (await run.get()).steps["work"]
            return found if found.failure is not None else None

        step = await eventually(failed)
        assert step is not None
        assert step.failure is not None
        assert (step.failure.type, step.attempt) == ("perdure.codec.key_missing", 1)
        assert "input input: the value is encrypted (aes-gcm, key k1): key k1 is not in the key ring, which has k9" in step.failure.message
        assert step.next_time is not None


async def test_failures_keep_their_words_for_those_with_the_key(real: Running, caplog: pytest.LogCaptureFixture) -> None:
    address = f"127.0.0.1:{real.port}"
    definition = Definition("note")

    @definition.step(retry=Retry(max_attempts=1))
    async def work(ctx: Context[None], input: str) -> str:
        raise Failure("note.bad", f"about {input}", details={"who": input})

    async with Client(address, codec=AesGcm(RING)) as client, Client(address) as blind, client.worker(definition):
        run = await client.start(definition, key="k", input=MARK)
        with pytest.raises(WorkflowFailed) as caught:
            await run.result()
        assert caught.value.failure.message == f"about {MARK}"
        details: Any = caught.value.failure.details
        assert details["details"] == {"who": MARK}
        seen = await blind.get(definition, "k")
        assert seen.failure is not None
        assert (seen.failure.type, seen.failure.message) == ("note.bad", "encrypted (aes-gcm, key k1)")
        assert MARK not in str(seen.message)
    assert "raised Failure at" in caplog.text
    assert MARK not in caplog.text


async def test_pages_and_children_travel_sealed(real: Running) -> None:
    address = f"127.0.0.1:{real.port}"
    item = Definition("item")

    @item.step()
    async def work(ctx: Context[None], input: str) -> str:
        return input.upper()

    parent = Definition("parent", output="gather")

    @parent.pages(item)
    async def each(ctx: Context[None], input: list[str]) -> Page:
        begin = ctx.cursor or 0
        return Page(input[begin : begin + 2], cursor=begin + 2 if begin + 2 < len(input) else None)

    @parent.step()
    async def first(ctx: Context[None], input: list[str]) -> str:
        return input[0]

    parent.child("alone", item, input="first", after=each)

    @parent.step(after=each)
    async def gather(ctx: Context[None], alone: str) -> str:
        return alone

    items = [f"{MARK} {number}" for number in range(5)]
    async with Client(address, codec=AesGcm(RING)) as client, Client(address) as blind, client.worker(parent, item):
        run = await client.start(parent, key="k", input=items)
        assert await run.result(str) == items[0].upper()
        found = [child.output(str) async for child in run.children("each", with_values=True)]
        assert found == [text.upper() for text in items]
        async for child in blind.run(parent, "k").children(with_values=True):
            assert MARK.encode() not in child.message.SerializeToString()


async def test_scripts_and_trials_are_sealed_too() -> None:
    parent = Definition("scripted", output="second")
    parent.remote_step("first", needs="input")
    parent.remote_step("second", needs="first")
    async with start_server(codec=AesGcm(RING)) as server, server.client() as client, Client(server.address) as blind:
        await client.definitions.register(parent, activate=True)
        await server.script(parent, completes("first", MARK), fails("second", Failure("odd", MARK, non_retryable=True)))
        run = await client.start(parent, key="k", input=MARK)
        with pytest.raises(WorkflowFailed, match=MARK):
            await server.result(run)
        assert (await run.get()).steps["first"].output(str) == MARK
        assert MARK not in str((await blind.get(parent, "k")).message)
        trial = await client.definitions.test(parent, completes("first", MARK), completes("second", MARK), input=MARK)
        assert trial.workflow.output(str) == MARK


async def test_large_values_leave_the_loop_free(real: Running) -> None:
    definition = Definition("note")
    size = 1_900_000

    @definition.step()
    async def work(ctx: Context[str], input: str) -> str:
        await ctx.save(input[::-1])
        return input

    class Watched(AesGcm):
        """Notes on which threads it works on large values."""

        threads: ClassVar[set[str]] = set()

        def encode(self, plain: bytes, content_type: str) -> bytes:
            if len(plain) > size:
                self.threads.add(threading.current_thread().name)
            return super().encode(plain, content_type)

        def decode(self, encoded: bytes, content_type: str) -> bytes:
            if len(encoded) > size:
                self.threads.add(threading.current_thread().name)
            return super().decode(encoded, content_type)

    async with Client(f"127.0.0.1:{real.port}", codec=Watched(RING)) as client, client.worker(definition):
        run = await client.start(definition, key="k", input="x" * size)
        assert await run.result(str) == "x" * size
    assert Watched.threads
    assert not Watched.threads & {"MainThread", "perdure-session"}


async def test_the_synchronous_client_seals_and_unseals(real: Running) -> None:
    address = f"127.0.0.1:{real.port}"
    definition = Definition("note")

    @definition.step()
    def work(ctx: Context[str], input: str) -> str:
        ctx.frame(input)
        return ctx.save_blocking(input + "!")

    def program() -> None:
        with SyncClient(address, codec=AesGcm(RING)) as client, SyncClient(address) as blind, client.worker(definition):
            run = client.start(definition, key="k", input=MARK)
            assert run.result(str) == MARK + "!"
            assert MARK in repr([event.workflow.output() for event in run.watch() if isinstance(event, Snapshot)])
            assert MARK not in repr([event.workflow.message for event in blind.run(definition, "k").watch() if isinstance(event, Snapshot)])

    await asyncio.to_thread(program)


async def test_processes_get_plain_values_and_never_a_key(real: Running, eventually: Eventually) -> None:
    async with Client(f"127.0.0.1:{real.port}", codec=AesGcm(RING)) as client, client.worker(process_steps.definition, steps=["measure"]):
        stored = process_steps.definition
        run = await client.start(stored, key="k", input=5)

        async def measured() -> bool:
            return (await run.get()).steps["measure"].state == "COMPLETED"

        await eventually(measured)
        assert (await run.get()).steps["measure"].output(tuple[int, int])[1] == 10


class Failing(AesGcm):
    """Encodes nothing while it is broken, as one whose keys are elsewhere."""

    broken = False

    def encode(self, plain: bytes, content_type: str) -> bytes:
        if self.broken:
            raise OSError(MARK)
        return super().encode(plain, content_type)


async def test_a_codec_that_fails_fails_the_attempt_and_tells_no_value(real: Running) -> None:
    codec = Failing(RING)
    definition = Definition("order")

    @definition.step(retry=Retry(max_attempts=1))
    async def work(ctx: Context[None]) -> str:
        codec.broken = True
        return MARK

    async with Client(f"127.0.0.1:{real.port}", codec=codec) as client, client.worker(definition):
        run = await client.start(definition, key="one")
        with pytest.raises(WorkflowFailed) as failed:
            await run.result()
        assert failed.value.failure.type == "perdure.codec.failed"
        assert "OSError" in failed.value.failure.message
        assert MARK not in str(failed.value.failure)
