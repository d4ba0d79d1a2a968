"""Resources of permits and their stripes."""

import asyncio

from msgspec.structs import replace

from perdure_server.kernel.resources import Holder, PutRequest, Rate, Resource, Stripe, Waiting, new_stripe
from perdure_server.ports.resources import StripeKey, key_of
from perdure_server.ports.store import Store
from tests.store.instances import NOW

LLM = Resource("default", "llm", 100, Rate(1_000_000, 86_400_000, 1_000_000), "tenant", description="calls", revision=NOW, update_time=NOW)
LLM = replace(LLM, requests=(PutRequest("r", "ab" * 32, created=True, deletes=NOW),))


def holder(number: int, units: int = 1) -> Holder:
    return Holder(f"{number:028x}", f"{number:024x}", 7, units, NOW, "note", f"$key.{number}", 1, "ask", 3)


def stripe(key: str = "", number: int = 0, write_id: str = "one", **fields: object) -> Stripe:
    return replace(new_stripe(LLM, key, number, NOW), write_id=write_id, **fields)


class ResourcesContract:
    """Whoever writes first decides; a repeat is harmless."""

    async def test_a_resource_changes_by_its_revision(self, store: Store) -> None:
        resources = store.resources
        assert await resources.get("default", "llm") is None
        assert await resources.put(None, LLM)
        assert await resources.put(None, LLM), "the same again"
        assert await resources.get("default", "llm") == LLM
        assert not await resources.put(None, replace(LLM, revision=NOW + 1))
        bare = Resource("default", "llm", revision=NOW + 2)
        assert await resources.put(LLM, bare)
        assert await resources.get("default", "llm") == bare
        assert not await resources.put(LLM, replace(LLM, revision=NOW + 3))
        assert not await resources.delete(LLM)
        assert await resources.delete(bare)
        assert not await resources.delete(bare)
        assert await resources.get("default", "llm") is None

    async def test_resources_are_listed_by_name(self, store: Store) -> None:
        for name, namespace in (("b", "default"), ("a", "default"), ("c", "other"), ("d", "default")):
            assert await store.resources.put(None, replace(LLM, name=name, namespace=namespace))
        assert [found.name for found in await store.resources.list("default", "", 10)] == ["a", "b", "d"]
        assert [found.name for found in await store.resources.list("default", "a", 1)] == ["b"]

    async def test_a_stripe_is_found_as_it_was_stored(self, store: Store) -> None:
        resources = store.resources
        full = stripe("acme", level=10**15, holders=(holder(1, 3), holder(2)), waiting=(Waiting("server-1", NOW, 2, 5, NOW),))
        assert await resources.stripe(key_of(full)) is None
        assert await resources.commit(None, full)
        assert await resources.stripe(StripeKey("default", "llm", "acme", 0)) == full
        empty = replace(stripe("acme"), write_id="two", rate=None, level=0, level_time=0, capacity=None)
        assert await resources.commit(full, empty)
        assert await resources.stripe(key_of(full)) == empty

    async def test_one_of_many_writers_wins(self, store: Store) -> None:
        resources = store.resources
        first = stripe()
        made = await asyncio.gather(*(resources.commit(None, replace(first, write_id=f"made {number}")) for number in range(5)))
        assert sum(made) == 1
        base = await resources.stripe(key_of(first))
        assert base is not None
        changed = [replace(base, write_id=f"next {number}", holders=(holder(number),)) for number in range(5)]
        won = await asyncio.gather(*(resources.commit(base, each) for each in changed))
        assert sum(won) == 1
        assert await resources.stripe(key_of(first)) == changed[won.index(True)]

    async def test_a_repeated_write_is_recognised(self, store: Store) -> None:
        resources = store.resources
        first, second = stripe(), stripe(write_id="two", holders=(holder(1),))
        assert await resources.commit(None, first)
        assert await resources.commit(None, first)
        assert await resources.commit(first, second)
        assert await resources.commit(first, second)
        assert not await resources.commit(first, stripe(write_id="three"))

    async def test_only_an_unchanged_stripe_is_removed(self, store: Store) -> None:
        first, second = stripe(), stripe(write_id="two")
        assert await store.resources.commit(None, first)
        assert await store.resources.commit(first, second)
        assert not await store.resources.remove(first)
        assert await store.resources.remove(second)
        assert not await store.resources.remove(second)
        assert await store.resources.stripe(key_of(first)) is None

    async def test_stripes_of_a_resource_and_of_a_key(self, store: Store) -> None:
        for key, number in (("acme", 0), ("acme", 1), ("zen", 0)):
            assert await store.resources.commit(None, stripe(key, number))
        assert await store.resources.commit(None, replace(stripe(), resource="other"))
        found = await store.resources.stripes("default", "llm", None, 10, linearizable=True)
        assert sorted((each.key, each.number) for each in found) == [("acme", 0), ("acme", 1), ("zen", 0)]
        assert {each.number for each in await store.resources.stripes("default", "llm", "acme", 10)} == {0, 1}

    async def test_held_and_waited_stripes_are_found(self, store: Store) -> None:
        held = [stripe(f"key {number}", holders=(holder(number),)) for number in range(3)]
        waited = stripe("wanted", waiting=(Waiting("server-1", NOW, 2, 5, NOW),))
        for each in (*held, waited, stripe("idle")):
            assert await store.resources.commit(None, each)
        found = await store.resources.held(b"", 2)
        rest = await store.resources.held(found[-1][0], 2)
        assert sorted(each.key for _, each in (*found, *rest)) == ["key 0", "key 1", "key 2"]
        assert [each.key for each in await store.resources.waited(10)] == ["wanted"]
        assert await store.resources.commit(waited, replace(waited, waiting=(), write_id="two"))
        assert await store.resources.commit(held[0], replace(held[0], holders=(), write_id="two"))
        assert await store.resources.waited(10) == []
        assert len(await store.resources.held(b"", 10)) == 2
