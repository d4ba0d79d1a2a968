"""Archived rounds beside the key's document, and what is left of a removed key."""

from msgspec.structs import replace

from perdure_server.kernel.values import Payload
from perdure_server.kernel.workflow import Tombstone, Workflow, WorkflowState, round_id
from perdure_server.ports.store import Due, Read, ReadyStep, Store, WorkflowQuery
from tests.store.contract_workflows import kept
from tests.store.instances import NOW, following, started

CURRENT = WorkflowQuery("default")
ALL = WorkflowQuery("default", include_archived=True)


def archived(workflow: Workflow, **changes: object) -> Workflow:
    """The same round under an id of its own."""
    return following(workflow, **({"archived": True, "inert": True} | changes))


def buried(workflow: Workflow) -> Workflow:
    """What is left of it."""
    gone = {"steps": {}, "remaining": 0, "step_count": 0, "input": None, "events": (), "event_seq": 0, "ready": (), "wake_time": None}
    return following(workflow, tombstone=Tombstone(NOW), expire_time=NOW + 5, state=WorkflowState.COMPLETED, **gone)


class RoundsContract:
    """Several documents of one key."""

    async def test_an_archived_round_stands_beside_the_next(self, store: Store) -> None:
        old = started(ready=("q",), wake_time=NOW)
        await kept(store, old, archived(old, ready=(), wake_time=None))
        second = following(old, run_id="2" * 24, round=2, fence=9, past_runs=(old.run_id,))
        assert await store.workflows.commit(old, second)
        other = round_id(old.key.workflow_id, 1)
        inert = await store.workflows.load(other, Read.LINEARIZABLE)
        assert inert == archived(old, ready=(), wake_time=None)
        assert await store.workflows.load(old.workflow_id) == second
        assert await store.workflows.due(NOW, 10) == [Due(old.workflow_id, NOW)]
        active = following(inert, inert=False, ready=("q",), wake_time=NOW - 1)
        assert await store.workflows.commit(inert, active)
        assert await store.workflows.due(NOW, 10) == [Due(other, NOW - 1), Due(old.workflow_id, NOW)]
        ready = await store.workflows.ready(["q"], 10)
        assert {(step.workflow_id, step.queues) for step in ready} == {(other, ("q",)), (old.workflow_id, ("q",))}
        assert isinstance(ready[0], ReadyStep)

    async def test_lists_show_current_rounds_unless_asked_for_archived_ones(self, store: Store) -> None:
        running = started(labels={"a": "1"})
        active = archived(started(running.key.business_key, run_id="1" * 24), inert=False, state=WorkflowState.CANCELLED)
        inert = archived(started(round=2))
        await kept(store, running, active, inert)

        async def found(query: WorkflowQuery) -> set[bytes]:
            rows = (await store.workflows.find(query, 10, None)).rows
            assert await store.workflows.count(query, 10) == len(rows)
            return {row.workflow_id for row in rows}

        assert await found(CURRENT) == {running.workflow_id}
        assert await found(ALL) == {running.workflow_id, active.workflow_id}
        assert await found(replace(ALL, states=(WorkflowState.CANCELLED,))) == {active.workflow_id}
        assert await found(replace(CURRENT, states=(WorkflowState.CANCELLED,))) == set()
        assert await found(replace(ALL, workflow_types=("ingest",), states=(WorkflowState.RUNNING,))) == {running.workflow_id}

    async def test_a_tombstone_is_nobodys_workflow(self, store: Store) -> None:
        first = started(state=WorkflowState.COMPLETED, ready=("q",))
        gone = buried(first)
        await kept(store, first)
        assert await store.workflows.commit(first, gone)
        assert await store.workflows.load(first.workflow_id) is None
        assert await store.workflows.load(first.workflow_id, Read.LINEARIZABLE) is None
        assert await store.workflows.load(first.workflow_id, tombstones=True) == gone
        assert await store.workflows.load(first.workflow_id, Read.LINEARIZABLE, tombstones=True) == gone
        assert (await store.workflows.find(ALL, 10, None)).rows == ()
        assert await store.workflows.count(ALL, 10) == 0
        assert await store.workflows.commit(None, first) is False, "its key is not free for a first round"
        assert await store.workflows.expired(NOW + 5, 10) == [first.workflow_id]
        assert await store.workflows.ready(["q"], 10) == []

    async def test_a_round_begins_where_a_tombstone_was_whatever_its_state(self, store: Store) -> None:
        first = started()
        await kept(store, first)
        gone = buried(first)
        assert await store.workflows.commit(first, gone)
        for state in (WorkflowState.COMPLETED, WorkflowState.RUNNING):
            await store.workflows.delete(first)
            fields = {"tombstone": None, "expire_time": None, "state": state, "steps": first.steps, "step_count": 3}
            second = following(gone, run_id="2" * 24, round=2, **fields)
            assert await store.workflows.commit(gone, second)
            assert await store.workflows.load(first.workflow_id) == second
            assert [row.state for row in (await store.workflows.find(CURRENT, 10, None)).rows] == [state]
            gone = buried(second)
            assert await store.workflows.commit(second, gone)
        assert await store.workflows.delete(gone)
        assert await store.workflows.load(first.workflow_id, tombstones=True) is None

    async def test_payloads_of_a_run_are_deleted(self, store: Store) -> None:
        one, two = Payload(json='"one"'), Payload(binary=b"two")
        refs = await store.payloads.put("1" * 24, [one, two], NOW)
        other = await store.payloads.put("2" * 24, [one], NOW)
        ids = [value.ref.payload_id for value in (*refs, *other) if value.ref is not None]
        for _ in range(2):
            await store.payloads.delete("1" * 24)
            assert await store.payloads.get("1" * 24, ids) == {}
        assert len(await store.payloads.get("2" * 24, ids)) == 1
