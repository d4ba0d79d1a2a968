"""Schedules and namespaces: read whole, changed conditionally."""

import asyncio

from msgspec.structs import replace

from perdure_server.kernel.namespace import Measure, Namespace, NamespaceLimits, NamespaceSettings, Tally
from perdure_server.kernel.schedule import Cron, Fired, Firing, Interval, Overlap, Run, Schedule, ScheduledStart, ScheduleSettings
from perdure_server.kernel.values import Payload
from perdure_server.kernel.workflow import Tombstone, WorkflowKey, WorkflowState
from perdure_server.ports.store import Store
from tests.store.instances import NOW, started

KEY = WorkflowKey("default", "ingest", "nightly@2026")


def schedule(name: str = "nightly", **changes: object) -> Schedule:
    """One with everything in it."""
    content = Payload(binary=b"\x00\xff", encoding="gzip", metadata={"a.$b": b"\x00"})
    start = ScheduledStart("ingest", "x-{fire_time}", content, {"team.a$": "m"}, 0, "f", "gpu", 5_000, 0)
    triggers = (Cron("0 2 * * *", "Europe/Berlin"), Interval(60_000, 5))
    settings = ScheduleSettings(triggers, start, NOW, NOW + 1, 10, Overlap.BUFFER_ALL, 7, True, "why")
    made = Schedule(
        "default",
        name,
        settings,
        NOW,
        NOW,
        due=NOW + 5,
        waiting=(Firing(NOW + 1, NOW), Firing(NOW + 2, NOW, "r", Overlap.ALLOW)),
        starting=Firing(NOW, NOW, "", Overlap.SKIP),
        last=Run(KEY, "a" * 24, 1),
        recent=(Fired(NOW, NOW, Run(KEY, "a" * 24, 1)), Fired(NOW, NOW, None, "WORKFLOW_NOT_CLOSED", "open", {"a.$b": "c"})),
        by_hand=(Fired(NOW, NOW, request_id="r"),),
        fired_count=2**40,
        requests=("p",),
        first_request="p",
    )
    return replace(made, **changes)


def small(name: str, workflow_type: str = "note", **changes: object) -> Schedule:
    settings = ScheduleSettings((Interval(1_000),), ScheduledStart(workflow_type))
    return replace(Schedule("default", name, settings, NOW, NOW), **changes)


class SchedulesContract:
    """One document per schedule."""

    async def test_a_schedule_comes_back_as_it_was_put(self, store: Store) -> None:
        assert await store.schedules.get("default", "nightly") is None
        assert await store.schedules.put(None, schedule())
        assert await store.schedules.get("default", "nightly") == schedule()
        assert await store.schedules.get("other", "nightly") is None

    async def test_a_schedule_is_made_once(self, store: Store) -> None:
        made = await asyncio.gather(*(store.schedules.put(None, schedule(cursor=number)) for number in range(10)))
        assert sum(made) == 1

    async def test_a_change_needs_the_revision_that_it_was_made_from(self, store: Store) -> None:
        first = schedule()
        await store.schedules.put(None, first)
        bare = ScheduleSettings((Interval(1_000),), ScheduledStart("note"))
        second = Schedule("default", "nightly", bare, NOW + 1, NOW + 1, revision=2, version=2)
        assert await store.schedules.put(first, second)
        assert await store.schedules.get("default", "nightly") == second
        assert not await store.schedules.put(first, replace(first, revision=2, cursor=0))
        assert await store.schedules.get("default", "nightly") == second
        assert not await store.schedules.put(small("unknown"), small("unknown", revision=2))

    async def test_of_changes_at_once_one_is_stored(self, store: Store) -> None:
        first = small("s")
        await store.schedules.put(None, first)
        changes = [store.schedules.put(first, replace(first, revision=2, cursor=number)) for number in range(10)]
        assert sum(await asyncio.gather(*changes)) == 1

    async def test_only_this_revision_is_deleted(self, store: Store) -> None:
        await store.schedules.put(None, small("s"))
        assert not await store.schedules.delete(small("s", revision=2))
        assert await store.schedules.delete(small("s"))
        assert not await store.schedules.delete(small("s"))
        assert await store.schedules.get("default", "s") is None

    async def test_what_is_due_comes_oldest_first(self, store: Store) -> None:
        for name, due in (("c", NOW + 3), ("a", NOW), ("never", None), ("b", NOW + 1), ("later", NOW + 9)):
            await store.schedules.put(None, small(name, due=due))
        assert [found.schedule_id for found in await store.schedules.due(NOW + 3, 10)] == ["a", "b", "c"]
        assert [found.schedule_id for found in await store.schedules.due(NOW + 3, 2)] == ["a", "b"]
        assert list(await store.schedules.due(NOW - 1, 10)) == []

    async def test_schedules_are_listed_by_id(self, store: Store) -> None:
        for name in ("b", "a", "ä", "Z"):
            await store.schedules.put(None, small(name, "note" if name != "Z" else "fit"))
        await store.schedules.put(None, replace(small("other"), namespace="other"))
        assert [found.schedule_id for found in await store.schedules.list("default", "", "", 10)] == ["Z", "a", "b", "ä"]
        assert [found.schedule_id for found in await store.schedules.list("default", "", "a", 1)] == ["b"]
        assert [found.schedule_id for found in await store.schedules.list("default", "note", "", 10)] == ["a", "b", "ä"]


class NamespacesContract:
    """One document per namespace."""

    async def test_a_namespace_comes_back_as_it_was_put(self, store: Store) -> None:
        limits = NamespaceLimits(0, 0.5, 2**40, 3, 4)
        made = Namespace("team-a", NamespaceSettings("text", limits, 0, 5, {"a.$b": "c"}), NOW, requests=("r",), first_request="r")
        assert await store.namespaces.get("team-a") is None
        assert await store.namespaces.put(None, made)
        assert await store.namespaces.get("team-a") == made
        assert not await store.namespaces.put(None, made)

    async def test_a_change_of_a_namespace_needs_its_revision(self, store: Store) -> None:
        first = Namespace("a", NamespaceSettings("text", retention=5), NOW)
        second = Namespace("a", NamespaceSettings(), NOW + 1, revision=2)
        await store.namespaces.put(None, first)
        assert await store.namespaces.put(first, second)
        assert not await store.namespaces.put(first, replace(first, revision=2))
        assert await store.namespaces.get("a") == second

    async def test_namespaces_are_listed_by_name(self, store: Store) -> None:
        for name in ("b", "a", "c"):
            await store.namespaces.put(None, Namespace(name, NamespaceSettings(), NOW))
        assert [found.name for found in await store.namespaces.list("", 10)] == ["a", "b", "c"]
        assert [found.name for found in await store.namespaces.list("a", 1)] == ["b"]

    async def test_stored_bytes_are_documents_and_payloads_of_the_namespace_alone(self, store: Store) -> None:
        assert await store.namespaces.stored_bytes("default") == 0
        workflows = [started(start_time=NOW + number // 150) for number in range(450)]
        other = replace(started(), key=WorkflowKey("other", "ingest", "k"))
        await asyncio.gather(*(store.workflows.commit(None, workflow) for workflow in (*workflows, other)))
        documents = sum(store.workflows.document_bytes(workflow) for workflow in workflows)
        before = await store.namespaces.stored_bytes("default")
        assert documents <= before <= documents + 450 * 64, "the store has fields of its own"
        for number, owner in ((3, workflows[0]), (5, workflows[449]), (7, other)):
            await store.payloads.put(owner.run_id, [Payload(binary=b"x" * number * 100_000)], NOW, owner.workflow_id)
        assert await store.namespaces.stored_bytes("default") == before + 800_000
        await store.workflows.delete(workflows[449])
        assert before + 298_000 < await store.namespaces.stored_bytes("default") < before + 300_000

    async def test_archived_rounds_count_and_tombstones_do_not(self, store: Store) -> None:
        live = started()
        archived = replace(started(live.key.business_key), archived=True, state=WorkflowState.COMPLETED)
        for workflow in (live, archived):
            await store.workflows.commit(None, workflow)
        both = await store.namespaces.stored_bytes("default")
        assert both >= store.workflows.document_bytes(live) + store.workflows.document_bytes(archived)
        await store.workflows.commit(None, started(tombstone=Tombstone(NOW)))
        assert await store.namespaces.stored_bytes("default") == both

    async def test_a_tally_is_changed_conditionally(self, store: Store) -> None:
        first = Tally("a", 1, window=7, taken=3, watchers={"s.1": (2, 5_000)})
        second = replace(first, revision=2, taken=4, watchers={}, measure=Measure(2**40, NOW, NOW + 1))
        assert await store.namespaces.tally("a") is None
        assert await store.namespaces.put_tally(None, first)
        assert not await store.namespaces.put_tally(None, first)
        assert await store.namespaces.tally("a") == first
        assert await store.namespaces.put_tally(first, second)
        assert not await store.namespaces.put_tally(first, replace(first, revision=2))
        assert await store.namespaces.tally("a") == second
        assert await store.namespaces.tally("b") is None
