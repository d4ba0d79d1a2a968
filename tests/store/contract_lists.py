"""Lists, counts and removal."""

import asyncio
from typing import Any

from msgspec.structs import replace

from perdure_server.kernel.values import Failure, Payload, Wake
from perdure_server.kernel.workflow import AttemptError, Step, StepState, Tombstone, WorkflowKey, WorkflowState
from perdure_server.ports.store import PageKey, Read, Store, WorkflowQuery
from tests.store.contract_workflows import kept
from tests.store.instances import NOW, following, started

EVERYTHING = WorkflowQuery("default")


class ListsContract:
    """What List and Count ask."""

    async def test_pages_are_stable_with_equal_times(self, store: Store) -> None:
        await kept(store, *(started(start_time=NOW + number // 4) for number in range(10)))
        for descending in (True, False):
            query = replace(EVERYTHING, descending=descending)
            seen: list[tuple[int, bytes]] = []
            after: PageKey | None = None
            for _ in range(4):
                page = await store.workflows.find(query, 3, after)
                seen += [(row.start_time, row.workflow_id) for row in page.rows]
                after = page.after
            assert after is None
            assert len(seen) == 10
            assert seen == sorted(set(seen), reverse=descending)

    async def test_filters(self, store: Store) -> None:
        running = started(labels={"team": "search", "a=b": "c%d"}, start_time=NOW)
        failed = started(labels={"team": "ads"}, state=WorkflowState.FAILED, start_time=NOW + 10)
        other_type = started(key=WorkflowKey("default", "fit", "k"), start_time=NOW + 20)
        elsewhere = started(key=WorkflowKey("elsewhere", "ingest", "k"))
        await kept(store, running, failed, other_type, elsewhere)

        async def found(query: WorkflowQuery) -> set[bytes]:
            rows = (await store.workflows.find(query, 10, None)).rows
            assert await store.workflows.count(query, 10) == len(rows)
            return {row.workflow_id for row in rows}

        one, two, three = running.workflow_id, failed.workflow_id, other_type.workflow_id
        assert await found(EVERYTHING) == {one, two, three}
        assert await found(replace(EVERYTHING, workflow_types=("ingest",))) == {one, two}
        assert await found(replace(EVERYTHING, workflow_types=("ingest", "fit"))) == {one, two, three}
        assert await found(replace(EVERYTHING, states=(WorkflowState.FAILED, WorkflowState.COMPLETED))) == {two}
        assert await found(replace(EVERYTHING, labels={"team": "search"})) == {one}
        assert await found(replace(EVERYTHING, labels={"team": "search", "a=b": "c%d"})) == {one}
        assert await found(replace(EVERYTHING, labels={"a": "b=c%d"})) == set()
        assert await found(replace(EVERYTHING, start_from=NOW + 10)) == {two, three}
        assert await found(replace(EVERYTHING, start_before=NOW + 10)) == {one}
        assert await found(WorkflowQuery("elsewhere")) == {elsewhere.workflow_id}
        assert await found(WorkflowQuery("nowhere")) == set()

    async def test_what_runs_or_ran_by_a_definition(self, store: Store) -> None:
        runs, ended = started(fingerprint="f" * 64), started(fingerprint="f" * 64, state=WorkflowState.FAILED)
        archived = started(fingerprint="f" * 64, archived=True)
        inert = started(fingerprint="f" * 64, archived=True, inert=True)
        removed = started(fingerprint="f" * 64, tombstone=Tombstone(NOW))
        await kept(store, runs, ended, archived, inert, removed, started(fingerprint="e" * 64))

        async def found(**fields: Any) -> set[bytes]:
            query = replace(EVERYTHING, workflow_types=("ingest",), fingerprint="f" * 64, **fields)
            rows = (await store.workflows.find(query, 10, None)).rows
            assert await store.workflows.count(query, 10) == len(rows)
            return {row.workflow_id for row in rows}

        assert await found() == {runs.workflow_id, ended.workflow_id}
        assert await found(include_archived=True) == {runs.workflow_id, ended.workflow_id, archived.workflow_id}
        everything = await found(include_archived=True, include_inert=True)
        assert everything == {runs.workflow_id, ended.workflow_id, archived.workflow_id, inert.workflow_id}
        assert await found(include_archived=True, include_inert=True, states=(WorkflowState.FAILED,)) == {ended.workflow_id}

    async def test_business_keys_are_found_in_all_types_or_some(self, store: Store) -> None:
        keys = [("ingest", "x"), ("ingest", "y"), ("fit", "x")]
        kept_here = [started(key=WorkflowKey("default", *key)) for key in keys]
        await kept(store, *kept_here, started(key=WorkflowKey("elsewhere", "ingest", "x")))

        async def found(query: WorkflowQuery) -> list[bytes]:
            rows = (await store.workflows.find(query, 10, None)).rows
            assert await store.workflows.count(query, 10) == len(rows)
            return sorted(row.workflow_id for row in rows)

        ids = [workflow.workflow_id for workflow in kept_here]
        assert await found(replace(EVERYTHING, business_keys=("x", "z"))) == sorted([ids[0], ids[2]])
        assert await found(replace(EVERYTHING, business_keys=("x", "y"), workflow_types=("ingest",))) == sorted(ids[:2])
        page = await store.workflows.find(replace(EVERYTHING, business_keys=("x", "y")), 2, None)
        rest = await store.workflows.find(replace(EVERYTHING, business_keys=("x", "y")), 2, page.after)
        assert {row.workflow_id for row in (*page.rows, *rest.rows)} == set(ids)
        assert sorted(await store.workflows.types("default")) == ["fit", "ingest"]

    async def test_outlines_have_steps_and_no_payloads(self, store: Store) -> None:
        secret = Payload(json='"secret"')
        broken = Failure("Broken", "it broke", secret)
        step = Step(StepState.BACKOFF, NOW, attempt=2, output=secret, checkpoint=secret, failure=broken, lost_claims=1)
        step = replace(step, errors=(AttemptError(1, 1, NOW, broken),), wakes=(Wake("go", "s1", secret, "go", NOW),))
        workflow = started(steps={"read": step, "clean": Step(StepState.READY, NOW)}, output=secret)
        large = started(steps={f"s{n}": replace(step, state=StepState.COMPLETED) for n in range(70)}, step_count=70)
        await kept(store, workflow, large)
        missing = started().workflow_id
        found = await store.workflows.outlines([workflow.workflow_id, missing], ["read", "clean", "never"])
        (row,) = found.values()
        bare = replace(step, output=None, checkpoint=None, errors=(), failure=replace(broken, details=None))
        assert row.steps == {"read": replace(bare, wakes=(Wake("go", "s1", None, "go", NOW),)), "clean": Step(StepState.READY, NOW)}
        assert (row.input, row.output, row.events, row.revision) == (None, None, (), workflow.revision)
        (packed,) = (await store.workflows.outlines([large.workflow_id], list(large.steps))).values()
        assert packed.steps == dict.fromkeys(large.steps, replace(row.steps["read"], state=StepState.COMPLETED))

    async def test_rows_carry_no_steps_and_no_payloads(self, store: Store) -> None:
        details = Payload(json='"secret"')
        workflow = started(labels={"a": "b"}, output=details, failure=Failure("Broken", "it broke", details))
        await kept(store, workflow)
        (row,) = (await store.workflows.find(EVERYTHING, 10, None)).rows
        assert (row.key, row.labels, row.state, row.revision) == (workflow.key, workflow.labels, workflow.state, 1)
        assert row.failure == Failure("Broken", "it broke")
        assert (row.steps, row.input, row.output, row.events) == ({}, None, None, ())

    async def test_count_stops(self, store: Store) -> None:
        await kept(store, *(started() for _ in range(5)))
        assert await store.workflows.count(EVERYTHING, 3) == 3
        assert await store.workflows.count(EVERYTHING, 100, Read.LINEARIZABLE) == 5
        assert await store.workflows.count(EVERYTHING, 100) == 5

    async def test_delete_takes_the_payloads_along(self, store: Store) -> None:
        workflow, other = started(), started()
        await kept(store, workflow, other)
        (mine,) = await store.payloads.put(workflow.run_id, [Payload(json="1")], NOW)
        (theirs,) = await store.payloads.put(other.run_id, [Payload(json="1")], NOW)
        assert mine.ref is not None
        assert theirs.ref is not None
        assert await store.workflows.delete(workflow) is True
        assert await store.workflows.load(workflow.workflow_id) is None
        assert await store.payloads.get(workflow.run_id, [mine.ref.payload_id]) == {}
        assert len(await store.payloads.get(other.run_id, [theirs.ref.payload_id])) == 1
        assert await store.workflows.delete(workflow) is False

    async def test_delete_spares_what_changed(self, store: Store) -> None:
        workflow = started()
        await kept(store, workflow)
        (stored,) = await store.payloads.put(workflow.run_id, [Payload(json="1")], NOW)
        assert stored.ref is not None
        changed = following(workflow, cancel_reason="still wanted")
        assert await store.workflows.commit(workflow, changed)
        assert await store.workflows.delete(workflow) is False
        assert await store.workflows.load(workflow.workflow_id) == changed
        assert len(await store.payloads.get(workflow.run_id, [stored.ref.payload_id])) == 1

    async def test_lists_while_writers_write(self, store: Store) -> None:
        workflows = [started() for _ in range(20)]
        await kept(store, *workflows)
        writes = (store.workflows.commit(workflow, following(workflow, cancel_reason="x")) for workflow in workflows)
        page, written = await asyncio.gather(store.workflows.find(EVERYTHING, 50, None), asyncio.gather(*writes))
        assert len(page.rows) == 20
        assert all(written)
