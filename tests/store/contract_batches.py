"""Batches."""

from msgspec.structs import replace

from perdure_server.ports.batches import Batch, BatchKey, BatchRefusal, BatchState
from perdure_server.ports.store import Store
from tests.store.instances import NOW


def batch(number: int = 0, **changes: object) -> Batch:
    return replace(Batch("default", f"b{number}", BatchState.RUNNING, NOW + number // 4, "cancel", b"\x00plan", b"told"), **changes)


class BatchesContract:
    """One deed on many workflows."""

    async def test_a_batch_comes_back_and_is_added_once(self, store: Store) -> None:
        made = batch(
            1, actor="kim", refusals=(BatchRefusal("t", "k", 2, "WORKFLOW_CLOSED", "It has ended."),), in_hand=("aa", "bb"), place=(3, "cc")
        )
        assert await store.batches.add(made) is True
        assert await store.batches.add(replace(made, actor="sam")) is False
        assert await store.batches.add(replace(made, namespace="elsewhere")) is True
        assert await store.batches.get("default", "b1") == made
        assert await store.batches.get("default", "b2") is None

    async def test_a_batch_is_changed_over_its_revision_only(self, store: Store) -> None:
        made = batch(1, owner="me", owned_until=NOW, in_hand=("aa",))
        await store.batches.add(made)
        changed = replace(made, owner="", in_hand=(), succeeded=7, revision=2)
        assert await store.batches.change(changed) is True
        assert await store.batches.get("default", "b1") == changed
        assert await store.batches.change(replace(changed, succeeded=8)) is False
        assert await store.batches.get("default", "b1") == changed

    async def test_running_batches_of_all_namespaces(self, store: Store) -> None:
        made = [batch(9, namespace="elsewhere"), batch(1), batch(2, state=BatchState.STOPPED)]
        for one in made:
            await store.batches.add(one)
        assert list(await store.batches.running(10)) == [made[1], made[0]]
        assert list(await store.batches.running(1)) == [made[1]]

    async def test_batches_in_pages_and_by_state(self, store: Store) -> None:
        made = [batch(number, state=BatchState.COMPLETED if number % 2 else BatchState.RUNNING) for number in range(9)]
        for one in (*made, batch(1, namespace="elsewhere")):
            await store.batches.add(one)
        seen: list[Batch] = []
        after = None
        while page := await store.batches.list("default", (), 4, after):
            seen += page
            after = BatchKey(page[-1].start_time, page[-1].batch_id)
        assert seen == sorted(made, key=lambda one: (one.start_time, one.batch_id), reverse=True)
        completed = await store.batches.list("default", (BatchState.COMPLETED,), 10, None)
        assert {one.batch_id for one in completed} == {"b1", "b3", "b5", "b7"}

    async def test_batches_that_ended_are_forgotten(self, store: Store) -> None:
        await store.batches.add(batch(1))
        await store.batches.add(batch(2, state=BatchState.COMPLETED, end_time=NOW))
        await store.batches.add(batch(3, state=BatchState.COMPLETED, end_time=NOW + 1))
        assert await store.batches.forget(NOW, 10) == 1
        assert {one.batch_id for one in await store.batches.list("default", (), 10, None)} == {"b1", "b3"}
