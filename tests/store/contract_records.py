"""Payloads, definitions, and the store as a whole."""

import asyncio

import pytest
from msgspec.structs import replace

from perdure_server.kernel.definition import Definition, StepDefinition, StepKind
from perdure_server.kernel.values import Condition, Deletion, Paused, Payload, PayloadRef, RetryPolicy, Wait
from perdure_server.ports.store import ActiveDefinition, Store
from tests.store.instances import NOW

RUN = "a" * 24
OTHER_RUN = "b" * 24


def plan(fingerprint: str = "f" * 64, attempts: int = 3) -> Definition:
    """A definition with a wait and some policies."""
    wait = StepDefinition("publish", StepKind.WAIT, ("read",), wait=Wait((Condition("go", signal="go"), Condition("late", after=5_000))))
    read = StepDefinition("read", retry=RetryPolicy(max_attempts=attempts, coefficient=1.5, non_retryable_types=("a.B",)), contract="c1")
    return Definition("default", "ingest", (read, wait), version="2", fingerprint=fingerprint)


def unregistered(found: Definition | None) -> Definition:
    """As it was put: without when that was."""
    assert found is not None
    return replace(found, registered=None)


class RecordsContract:
    """What is put once and looked up often."""

    async def test_payloads_come_back_as_they_were_put(self, store: Store) -> None:
        payloads = [
            Payload(json='{"é": 1}', content_type="application/json"),
            Payload(binary=b"\x00\xff" * 50_000, encoding="gzip", digest="d", metadata={"a.$b\x00": b"\x00", "": b""}),
            Payload(json='{"é": 1}', content_type="application/json"),
        ]
        stored = await store.payloads.put(RUN, payloads, NOW)
        assert [payload.ref is not None and payload.ref.size for payload in stored] == [9, 100_000, 9]
        assert [(payload.json, payload.binary) for payload in stored] == [(None, None)] * 3
        assert [(p.content_type, p.encoding, p.digest, p.metadata) for p in stored] == [
            (p.content_type, p.encoding, p.digest, p.metadata) for p in payloads
        ]
        ids = [payload.ref.payload_id for payload in stored if payload.ref is not None]
        assert ids[0] == ids[2] != ids[1]
        assert await store.payloads.get(RUN, [*ids, "missing"]) == dict(zip(ids, payloads, strict=True))
        assert await store.payloads.get(OTHER_RUN, ids) == {}
        assert await store.payloads.get(RUN, []) == {}

    async def test_payloads_put_again_are_the_same(self, store: Store) -> None:
        payloads = [Payload(json=str(number)) for number in range(20)]
        results = await asyncio.gather(*(store.payloads.put(RUN, payloads, NOW + number) for number in range(5)))
        assert all(result == results[0] for result in results)

    async def test_many_megabytes_of_payloads(self, store: Store) -> None:
        payloads = [Payload(binary=bytes([number]) * 2_000_000) for number in range(12)]
        stored = await store.payloads.put(RUN, payloads, NOW)
        ids = [payload.ref.payload_id for payload in stored if payload.ref is not None]
        assert await store.payloads.get(RUN, ids) == dict(zip(ids, payloads, strict=True))

    async def test_a_ref_is_not_put_again(self, store: Store) -> None:
        with pytest.raises(ValueError, match="ref"):
            await store.payloads.put(RUN, [Payload(ref=PayloadRef("id", 1))], NOW)

    async def test_payloads_are_removed_by_name_by_absence_and_by_age(self, store: Store) -> None:
        async def put(run_id: str, text: str, now: int) -> str:
            (stored,) = await store.payloads.put(run_id, [Payload(json=text)], now, b"owner")
            assert stored.ref is not None
            return stored.ref.payload_id

        one, two, late = await put(RUN, "1", NOW), await put(RUN, "2", NOW), await put(RUN, "3", NOW + 10)
        theirs = await put(OTHER_RUN, "1", NOW)
        await store.payloads.remove(RUN, [one, late], NOW + 5)
        assert set(await store.payloads.get(RUN, [one, two, late])) == {two, late}
        await store.payloads.retain(RUN, [late], NOW + 5)
        assert set(await store.payloads.get(RUN, [one, two, late])) == {late}
        await store.payloads.retain(RUN, [], NOW + 5)
        assert set(await store.payloads.get(RUN, [late])) == {late}
        await store.payloads.remove(RUN, [late])
        assert not await store.payloads.get(RUN, [late])
        assert set(await store.payloads.get(OTHER_RUN, [theirs])) == {theirs}

    async def test_old_payloads_are_told_page_by_page_with_their_owner(self, store: Store) -> None:
        runs = [f"{number:024x}" for number in range(1, 6)]
        for run_id in runs:
            await store.payloads.put(run_id, [Payload(json="1")], NOW, b"owner-of-" + run_id.encode())
        await store.payloads.put(runs[0], [Payload(json="1")], NOW + 10, b"owner-of-" + runs[0].encode())
        await store.payloads.put("6" * 24, [Payload(json="1")], NOW)
        found: dict[tuple[bytes, str], int] = {}
        after, pages = "", 0
        while pages == 0 or after:
            page = await store.payloads.old(after, NOW, 2)
            found |= {key: len(ids) for key, ids in page.by_run.items()}
            after, pages = page.after, pages + 1
        assert found == {(b"owner-of-" + run_id.encode(), run_id): 1 for run_id in runs[1:]}
        assert pages == 4

    async def test_definition_is_found(self, store: Store) -> None:
        assert await store.definitions.get("default", "ingest", "f" * 64) is None
        assert unregistered(await store.definitions.put(plan())) == plan()
        assert unregistered(await store.definitions.get("default", "ingest", "f" * 64)) == plan()
        assert await store.definitions.get("other", "ingest", "f" * 64) is None

    async def test_policies_raise_the_policy_revision(self, store: Store) -> None:
        await store.definitions.put(plan())
        assert (await store.definitions.put(plan())).policy_revision == 1
        changed = await store.definitions.put(plan(attempts=9))
        assert unregistered(changed) == replace(plan(attempts=9), policy_revision=2)
        assert await store.definitions.put(plan(attempts=9)) == changed
        assert await store.definitions.get("default", "ingest", "f" * 64) == changed

    async def test_the_time_of_the_first_registration_stays(self, store: Store) -> None:
        before, _ = await store.time()
        first = await store.definitions.put(plan())
        after, _ = await store.time()
        assert first.registered is not None
        assert before - 2_000 <= first.registered <= after + 2_000
        await store.definitions.put(plan("e" * 64))
        changed = await store.definitions.put(plan(attempts=9))
        again = await store.definitions.change(plan(attempts=8), changed.policy_revision)
        paused = await store.definitions.pause("default", "ingest", "f" * 64, Paused(NOW))
        versions = await store.definitions.versions("default", "ingest")
        assert again is not None
        assert paused is not None
        assert {found.registered for found in (changed, again, paused, versions[1])} == {first.registered}
        assert await store.definitions.get("default", "ingest", "f" * 64) == paused

    async def test_a_pause_is_kept_beside_the_plan(self, store: Store) -> None:
        await store.definitions.put(plan())
        since = Paused(NOW, "ann", "an incident")
        paused = await store.definitions.pause("default", "ingest", "f" * 64, since)
        assert paused is not None
        assert (paused.paused, paused.policy_revision) == (since, 1)
        assert await store.definitions.pause("default", "ingest", "f" * 64, Paused(NOW + 5, "bob")) == paused, "as it was"
        assert await store.definitions.get("default", "ingest", "f" * 64) == paused
        assert list(await store.definitions.versions("default", "ingest")) == [paused]
        assert list(await store.definitions.paused()) == [paused]
        assert await store.definitions.put(plan()) == paused, "the plan is the same"
        changed = await store.definitions.put(plan(attempts=9))
        assert (changed.paused, changed.policy_revision) == (since, 2)
        assert await store.definitions.get("default", "ingest", "f" * 64) == changed
        resumed = await store.definitions.pause("default", "ingest", "f" * 64, None)
        assert resumed is not None
        assert (resumed.paused, resumed.policy_revision) == (None, 2)
        assert list(await store.definitions.paused()) == []
        assert await store.definitions.pause("default", "ingest", "f" * 64, None) == resumed
        assert await store.definitions.pause("default", "ingest", "0" * 64, since) is None
        assert (await store.definitions.put(plan())).policy_revision == 3

    async def test_a_deletion_is_a_mark_beside_the_plan_until_the_document_goes(self, store: Store) -> None:
        known = await store.definitions.put(plan())
        await store.definitions.put(plan("e" * 64))
        deletion = Deletion(NOW, "r1")
        assert await store.definitions.mark(known, deletion)
        assert not await store.definitions.mark(known, Deletion(NOW, "r2")), "it is deleted"
        marked = replace(known, deleted=deletion)
        assert await store.definitions.get("default", "ingest", "f" * 64) == marked
        assert marked in await store.definitions.versions("default", "ingest")
        assert list(await store.definitions.marked()) == [marked]
        assert await store.definitions.change(plan(attempts=9), over=1) is None
        other = replace(known, deleted=Deletion(NOW, "r2"))
        for wrong in (known, other):
            assert not await store.definitions.unmark(wrong)
            assert not await store.definitions.delete(wrong)
        assert not await store.definitions.mark(marked, Deletion(NOW, "r2"))
        assert await store.definitions.unmark(marked)
        assert not await store.definitions.delete(marked), "it is deleted no more"
        assert await store.definitions.get("default", "ingest", "f" * 64) == known
        assert await store.definitions.mark(known, deletion)
        assert await store.definitions.delete(marked)
        assert not await store.definitions.delete(marked)
        assert await store.definitions.get("default", "ingest", "f" * 64) is None
        assert [found.fingerprint[0] for found in await store.definitions.versions("default", "ingest")] == ["e"]
        assert unregistered(await store.definitions.put(plan())) == plan(), "it begins again"

    async def test_what_is_put_again_is_deleted_no_more(self, store: Store) -> None:
        known = await store.definitions.put(plan())
        await store.definitions.mark(known, Deletion(NOW, "r"))
        assert await store.definitions.put(plan()) == known
        assert await store.definitions.get("default", "ingest", "f" * 64) == known
        await store.definitions.mark(known, Deletion(NOW, "r"))
        changed = await store.definitions.put(plan(attempts=9))
        assert (changed.policy_revision, changed.deleted) == (2, None)
        assert await store.definitions.get("default", "ingest", "f" * 64) == changed
        assert not await store.definitions.delete(replace(known, deleted=Deletion(NOW, "r")))

    async def test_only_what_was_read_is_deleted(self, store: Store) -> None:
        known = await store.definitions.put(plan())
        await store.definitions.put(plan(attempts=9))
        assert not await store.definitions.mark(known, Deletion(NOW, "r")), "other policies"
        again = await store.definitions.get("default", "ingest", "f" * 64)
        assert again is not None
        paused = await store.definitions.pause("default", "ingest", "f" * 64, Paused(NOW))
        assert paused is not None
        assert not await store.definitions.mark(again, Deletion(NOW, "r")), "paused"
        assert not await store.definitions.mark(plan("0" * 64), Deletion(NOW, "r")), "gone"
        assert await store.definitions.mark(paused, Deletion(NOW, "r"))

    async def test_c02_definitions_registered_at_once_are_one(self, store: Store) -> None:
        results = await asyncio.gather(*(store.definitions.put(plan()) for _ in range(20)))
        assert unregistered(results[0]) == plan()
        assert all(result == results[0] for result in results)
        assert list(await store.definitions.versions("default", "ingest")) == [results[0]]

    async def test_versions_are_newest_first(self, store: Store) -> None:
        for letter in "abc":
            await store.definitions.put(plan(letter * 64))
        found = await store.definitions.versions("default", "ingest")
        assert {definition.fingerprint[0] for definition in found} == set("abc")
        assert list(await store.definitions.versions("default", "unknown")) == []

    async def test_activation(self, store: Store) -> None:
        assert await store.definitions.active("default", "ingest") is None
        first = await store.definitions.activate("default", "ingest", "a", only_if_none=True)
        assert first == ActiveDefinition("default", "ingest", "a", 1)
        assert await store.definitions.activate("default", "ingest", "b", only_if_none=True) == first
        second = await store.definitions.activate("default", "ingest", "b", only_if_none=False)
        assert second == ActiveDefinition("default", "ingest", "b", 2)
        assert await store.definitions.activate("default", "ingest", "b", only_if_none=False) == second
        assert await store.definitions.active("default", "ingest") == second
        await store.definitions.activate("default", "fit", "c", only_if_none=True)
        await store.definitions.activate("other", "fit", "c", only_if_none=True)
        assert [active.workflow_type for active in await store.definitions.list("default")] == ["fit", "ingest"]

    async def test_c02_first_activations_at_once_agree(self, store: Store) -> None:
        calls = [store.definitions.activate("default", "ingest", f"f{number}", only_if_none=True) for number in range(20)]
        results = await asyncio.gather(*calls)
        assert all(result == results[0] for result in results)

    async def test_time_and_description(self, store: Store) -> None:
        now, round_trip = await store.time()
        later, _ = await store.time()
        assert NOW - 10 * 366 * 86_400_000 < now <= later
        assert 0 <= round_trip < 10_000
        description = store.description()
        assert {"kind", "version", "durability", "group_commit"} <= description.keys()
        assert not any("127.0.0.1" in text or "mongodb:" in text for text in description.values())

    async def test_policies_change_over_those_that_were_read(self, store: Store) -> None:
        first = await store.definitions.put(plan())
        second = await store.definitions.change(plan(attempts=9), first.policy_revision)
        assert unregistered(second) == replace(plan(attempts=9), policy_revision=2)
        assert await store.definitions.change(plan(attempts=7), first.policy_revision) is None
        assert await store.definitions.get("default", "ingest", "f" * 64) == second
