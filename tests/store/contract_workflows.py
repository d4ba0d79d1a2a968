"""Commits, loads, and what the sweep asks."""

import asyncio

import pytest
from msgspec.structs import replace

from perdure_server.kernel.values import Paused
from perdure_server.kernel.workflow import Step, StepState, Workflow, WorkflowState
from perdure_server.ports.errors import DocumentTooLarge
from perdure_server.ports.store import Due, Read, Store
from tests.store.instances import NOW, claimed, completed, following, started


async def kept(store: Store, *workflows: Workflow) -> None:
    """Inserts them."""
    assert all(await asyncio.gather(*(store.workflows.commit(None, workflow) for workflow in workflows)))


class WorkflowsContract:
    """One document per workflow, every write conditional."""

    async def test_what_was_committed_is_loaded(self, store: Store) -> None:
        first = started()
        assert await store.workflows.commit(None, first)
        second = claimed(first)
        assert await store.workflows.commit(first, second)
        third = completed(second)
        assert await store.workflows.commit(second, third)
        assert await store.workflows.load(first.workflow_id) == third
        assert await store.workflows.load(first.workflow_id, Read.LINEARIZABLE) == third

    async def test_what_is_not_there_is_none(self, store: Store) -> None:
        assert await store.workflows.load(started().workflow_id) is None
        assert await store.workflows.load(started().workflow_id, Read.LINEARIZABLE) is None

    async def test_insert_needs_a_free_id(self, store: Store) -> None:
        first = started("one")
        await kept(store, first)
        assert await store.workflows.commit(None, started("one")) is False
        assert await store.workflows.load(first.workflow_id) == first

    async def test_change_needs_the_revision(self, store: Store) -> None:
        first = started()
        await kept(store, first)
        second = claimed(first)
        assert await store.workflows.commit(first, second) is True
        assert await store.workflows.commit(first, following(first, cancel_reason="late")) is False
        assert await store.workflows.load(first.workflow_id) == second

    async def test_change_needs_the_run(self, store: Store) -> None:
        first = started()
        await kept(store, first)
        other_run = replace(first, run_id="0" * 24)
        assert await store.workflows.commit(other_run, claimed(other_run)) is False
        assert await store.workflows.load(first.workflow_id) == first

    async def test_change_of_what_is_not_there_is_false(self, store: Store) -> None:
        first = started()
        assert await store.workflows.commit(first, claimed(first)) is False
        assert await store.workflows.load(first.workflow_id) is None

    async def test_c01_c02_one_of_many_inserts_of_one_id_wins(self, store: Store) -> None:
        offered = [started("one") for _ in range(50)]
        results = await asyncio.gather(*(store.workflows.commit(None, workflow) for workflow in offered))
        assert results.count(True) == 1
        assert await store.workflows.load(offered[0].workflow_id) == offered[results.index(True)]

    async def test_c39_one_of_many_changes_of_one_revision_wins(self, store: Store) -> None:
        first = started()
        await kept(store, first)
        offered = [following(first, cancel_reason=f"writer {number}") for number in range(50)]
        results = await asyncio.gather(*(store.workflows.commit(first, workflow) for workflow in offered))
        assert results.count(True) == 1
        assert await store.workflows.load(first.workflow_id) == offered[results.index(True)]

    async def test_every_caller_is_answered_for_its_own_write(self, store: Store) -> None:
        workflows = [started() for _ in range(30)]
        await kept(store, *workflows)
        stale = {workflow.workflow_id for workflow in workflows[::3]}
        await asyncio.gather(*(store.workflows.commit(workflow, claimed(workflow)) for workflow in workflows[::3]))
        fresh = [started() for _ in range(10)]
        writes = [(workflow, completed(claimed(workflow))) for workflow in workflows]
        results = await asyncio.gather(
            *(store.workflows.commit(old, replace(new, revision=2)) for old, new in writes),
            *(store.workflows.commit(None, workflow) for workflow in fresh),
            *(store.workflows.commit(None, workflow) for workflow in workflows[:5]),
        )
        assert results[:30] == [workflow.workflow_id not in stale for workflow in workflows]
        assert results[30:40] == [True] * 10
        assert results[40:] == [False] * 5

    async def test_fields_that_become_default_are_gone(self, store: Store) -> None:
        first = started(labels={"team": "search"}, ready=("default",), wake_time=NOW, cancel_reason="x", signal_ids=("a",))
        await kept(store, first)
        second = following(first, labels={}, ready=(), wake_time=None, cancel_reason="", signal_ids=(), input=None, events=())
        assert await store.workflows.commit(first, second)
        assert await store.workflows.load(first.workflow_id) == second

    async def test_steps_that_leave_are_gone(self, store: Store) -> None:
        first = started(steps={"read": Step(StepState.READY, NOW), "clean": Step(StepState.READY, NOW)})
        await kept(store, first)
        second = following(first, steps={"clean": first.steps["clean"]})
        assert await store.workflows.commit(first, second)
        assert await store.workflows.load(first.workflow_id) == second

    async def test_hundreds_of_steps(self, store: Store) -> None:
        steps = {f"step_{number}": Step(StepState.READY, NOW) for number in range(300)}
        current = started(steps=steps, step_count=300, remaining=300)
        await kept(store, current)
        for begin in range(0, 300, 100):
            ended = {f"step_{number}": Step(StepState.COMPLETED, NOW + 1) for number in range(begin, begin + 100)}
            changed = following(current, steps={**current.steps, **ended})
            assert await store.workflows.commit(current, changed)
            current = changed
        assert await store.workflows.load(current.workflow_id) == current
        revived = following(current, steps={**current.steps, "step_7": Step(StepState.READY, NOW + 9)})
        assert await store.workflows.commit(current, revived)
        assert await store.workflows.load(current.workflow_id) == revived

    async def test_loads_together_are_answered_each(self, store: Store) -> None:
        workflows = [started() for _ in range(20)]
        await kept(store, *workflows[:10])
        found = await asyncio.gather(*(store.workflows.load(workflow.workflow_id) for workflow in workflows for _ in range(3)))
        assert found == [workflow if number < 10 else None for number, workflow in enumerate(workflows) for _ in range(3)]

    async def test_c65_only_the_guilty_write_is_too_large(self, store: Store) -> None:
        small = [started() for _ in range(5)]
        large = started(cancel_reason="x" * 9_000_000)
        await kept(store, *small, large)
        grown = following(large, cancel_request_id="y" * 9_000_000)
        results = await asyncio.gather(
            store.workflows.commit(large, grown),
            store.workflows.commit(None, started(cancel_reason="z" * 17_000_000)),
            *(store.workflows.commit(workflow, claimed(workflow)) for workflow in small),
            return_exceptions=True,
        )
        assert [type(result) for result in results[:2]] == [DocumentTooLarge, DocumentTooLarge]
        assert results[2:] == [True] * 5
        assert await store.workflows.load(large.workflow_id) == large

    async def test_due_is_oldest_first_and_no_more_than_asked(self, store: Store) -> None:
        workflows = [started(wake_time=NOW + delay) for delay in (30, 10, 20, 99)]
        await kept(store, *workflows, started())
        expected = [Due(workflows[index].workflow_id, NOW + delay) for index, delay in ((1, 10), (2, 20), (0, 30))]
        assert list(await store.workflows.due(NOW + 30, 10)) == expected
        assert list(await store.workflows.due(NOW + 30, 2)) == expected[:2]
        assert list(await store.workflows.due(NOW, 10)) == []
        assert {type(row.wake_time) for row in await store.workflows.due(NOW + 30, 10)} == {int}, "no other adapter knows BSON's integers"

    async def test_due_forgets_what_lost_its_wake_time(self, store: Store) -> None:
        first = started(wake_time=NOW, state=WorkflowState.COMPLETED)
        await kept(store, first)
        assert await store.workflows.commit(first, following(first, wake_time=None))
        assert list(await store.workflows.due(NOW + 1, 10)) == []

    async def test_ready_by_queue(self, store: Store) -> None:
        first, second, third = started(ready=("a", "b")), started(ready=("c",)), started()
        await kept(store, first, second, third)
        found = await store.workflows.ready(["b", "c"], 10)
        assert {(step.workflow_id, step.queues, step.since) for step in found} == {
            (first.workflow_id, ("a", "b"), NOW),
            (second.workflow_id, ("c",), NOW),
        }
        assert len(await store.workflows.ready(["b", "c"], 1)) == 1
        assert list(await store.workflows.ready(["d"], 10)) == []
        assert await store.workflows.commit(first, claimed(first))
        assert list(await store.workflows.ready(["a", "b"], 10)) == []

    async def test_ready_tells_what_orders_the_steps(self, store: Store) -> None:
        steps = {"read": Step(StepState.READY, NOW + 3), "clean": Step(StepState.READY, NOW + 4)}
        queues = ("default/q/t/f/clean", "default/q/t/f/read")
        first = started(steps=steps, ready=queues, priority=9, fairness_key="acme", fairness_weight=2.5, update_time=NOW + 9)
        second = started(steps=steps, ready=queues)
        await kept(store, first, second)
        one, two = sorted(await store.workflows.ready([queues[1]], 10), key=lambda row: row.priority, reverse=True)
        assert (one.namespace, one.workflow_type, one.fingerprint) == (first.key.namespace, first.key.workflow_type, first.fingerprint)
        assert (one.priority, one.fairness_key, one.fairness_weight, one.since) == (9, "acme", 2.5, NOW + 9)
        assert (two.priority, two.fairness_key, two.fairness_weight) == (second.priority, "", 1.0)
        assert one.ready_times["read"] == two.ready_times["read"] == NOW + 3

    async def test_ready_tells_since_when_a_workflow_is_paused(self, store: Store) -> None:
        await kept(store, started(ready=("S//n/t",), paused=Paused(NOW - 5, "kim"), update_time=NOW))
        assert [row.paused for row in await store.workflows.ready(["S//n/t"], 10)] == [NOW - 5]

    async def test_ready_in_windows(self, store: Store) -> None:
        workflows = [started(ready=("a",)) for _ in range(7)]
        await kept(store, *workflows)
        found = [row.workflow_id for skip in (0, 3, 6, 9) for row in await store.workflows.ready(["a"], 3, skip)]
        assert sorted(found) == sorted(workflow.workflow_id for workflow in workflows)

    async def test_queues_with_something_ready_and_how_much(self, store: Store) -> None:
        assert list(await store.workflows.ready_queues()) == []
        await kept(store, started(ready=("n/a", "n/b")), started(ready=("n/a",)), started())
        assert sorted(await store.workflows.ready_queues()) == ["n/a", "n/b"]
        assert [await store.workflows.ready_count(queue, 10) for queue in ("n/a", "n/b", "n/c")] == [2, 1, 0]
        assert await store.workflows.ready_count("n/a", 1) == 1

    async def test_claimed_by_session(self, store: Store) -> None:
        first, second = started(sessions=("one", "two")), started(sessions=("two",))
        await kept(store, first, second, started())
        assert list(await store.workflows.claimed_by(["one"], 10)) == [first.workflow_id]
        assert set(await store.workflows.claimed_by(["one", "two"], 10)) == {first.workflow_id, second.workflow_id}
        assert list(await store.workflows.claimed_by(["three"], 10)) == []
        assert list(await store.workflows.claimed_by(["one"], 10, Read.LINEARIZABLE)) == [first.workflow_id]

    async def test_revisions(self, store: Store) -> None:
        first, second = started(), started()
        await kept(store, first)
        assert await store.workflows.commit(first, claimed(first))
        for read in Read:
            found = await store.workflows.revisions([first.workflow_id, second.workflow_id], read)
            assert found == {first.workflow_id: (first.run_id, 2)}

    async def test_expired_by_time(self, store: Store) -> None:
        early, late = started(expire_time=NOW), started(expire_time=NOW + 10)
        await kept(store, early, late, started())
        assert list(await store.workflows.expired(NOW + 5, 10)) == [early.workflow_id]
        assert list(await store.workflows.expired(NOW + 10, 10)) == [early.workflow_id, late.workflow_id]

    async def test_closed_store_has_everything_it_said(self, store: Store) -> None:
        workflows = [started() for _ in range(10)]
        await kept(store, *workflows)
        found = await store.workflows.revisions([workflow.workflow_id for workflow in workflows])
        assert len(found) == 10

    @pytest.mark.parametrize("state", list(WorkflowState))
    async def test_every_state_is_kept(self, store: Store, state: WorkflowState) -> None:
        workflow = started(state=state, steps={name.name.lower(): Step(name, NOW) for name in StepState})
        await kept(store, workflow)
        assert await store.workflows.load(workflow.workflow_id) == workflow
