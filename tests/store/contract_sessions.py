"""Sessions: leases, holds and refusals."""

import asyncio

import pytest
from msgspec.structs import replace

from perdure_server.ports.store import Store, Subscription
from perdure_server.store import limits as adapter_limits
from tests.store.instances import NOW, session


class SessionsContract:
    """Small documents; whoever writes first decides."""

    async def test_opened_is_found(self, store: Store) -> None:
        pool = Subscription("cpu", "default", "ingest", {"read": "contract-1", "clean": "contract-2"}, 4)
        opened = session(pools=(pool,), client="python 0.1", created=NOW, connection_no=0)
        await store.sessions.open(opened)
        assert await store.sessions.get(opened.session_id) == opened
        assert await store.sessions.get("nobody") is None

    async def test_open_again_is_harmless(self, store: Store) -> None:
        opened = session()
        await store.sessions.open(opened)
        await store.sessions.open(opened)
        assert await store.sessions.get(opened.session_id) == opened

    async def test_reconnect_raises_the_number_once(self, store: Store) -> None:
        opened = session(connection_no=1)
        await store.sessions.open(opened)
        calls = [store.sessions.reconnect(opened, NOW + 40_000, "there", "10.0.0.7") for _ in range(5)]
        found = [result for result in await asyncio.gather(*calls) if result is not None]
        assert found == [replace(opened, connection_no=2, lease_until=NOW + 40_000, server_id="there", peer="10.0.0.7")]
        assert await store.sessions.reconnect(replace(found[0], secret="guessed"), NOW, "", "") is None
        assert await store.sessions.reconnect(replace(found[0], session_id="nobody"), NOW, "", "") is None

    async def test_draining_lasts_until_the_next_connection(self, store: Store) -> None:
        opened = session(labels={"pod": "a.b$c"}, capabilities=("cancel",), server_id="here", peer="10.0.0.6")
        await store.sessions.open(opened)
        await store.sessions.note_draining(opened.session_id)
        drains = await store.sessions.get(opened.session_id)
        assert drains == replace(opened, draining=True)
        again = await store.sessions.reconnect(drains, NOW, "there", "10.0.0.7")
        assert again == replace(opened, connection_no=2, server_id="there", peer="10.0.0.7")
        await store.sessions.note_draining("nobody")

    async def test_renewal_needs_the_connection_and_life(self, store: Store) -> None:
        opened = session(connection_no=3)
        await store.sessions.open(opened)
        assert await store.sessions.renew(opened.session_id, 3, NOW + 50_000, ["a"]) is True
        assert await store.sessions.renew(opened.session_id, 2, NOW + 60_000, []) is False
        assert await store.sessions.get(opened.session_id) == replace(opened, lease_until=NOW + 50_000, held=("a",))
        assert await store.sessions.mark_dead(opened.session_id, NOW + 50_000) is not None
        assert await store.sessions.renew(opened.session_id, 3, NOW + 70_000, []) is False

    async def test_late_renewal_never_shortens(self, store: Store) -> None:
        opened = session(connection_no=0)
        await store.sessions.open(opened)
        assert await store.sessions.renew(opened.session_id, 0, NOW + 1, [])
        stored = await store.sessions.get(opened.session_id)
        assert stored is not None
        assert stored.lease_until == opened.lease_until

    async def test_hold_and_refuse_exclude_each_other(self, store: Store) -> None:
        opened = session()
        await store.sessions.open(opened)
        assert await store.sessions.hold(opened.session_id, ["a", "b"]) == ["a", "b"]
        assert await store.sessions.refuse(opened.session_id, "a") is False
        assert await store.sessions.refuse(opened.session_id, "c") is True
        assert await store.sessions.refuse(opened.session_id, "c") is True
        assert await store.sessions.hold(opened.session_id, ["b", "c", "d"]) == ["b", "d"]
        assert await store.sessions.renew(opened.session_id, 1, NOW + 40_000, ["c", "d"])
        stored = await store.sessions.get(opened.session_id)
        assert stored is not None
        assert (set(stored.held), set(stored.refused)) == ({"d"}, {"c"})

    async def test_first_of_hold_and_refuse_wins(self, store: Store) -> None:
        opened = session()
        await store.sessions.open(opened)
        for number in range(10):
            nonce = f"$nonce.{number}"
            held, refused = await asyncio.gather(
                store.sessions.hold(opened.session_id, [nonce]), store.sessions.refuse(opened.session_id, nonce)
            )
            assert (list(held) == [nonce]) is not refused

    async def test_a_renewal_that_was_overtaken_drops_nothing(self, store: Store) -> None:
        opened = session()
        await store.sessions.open(opened)
        assert await store.sessions.renew(opened.session_id, 1, NOW + 50_000, ["a", "b"])
        assert await store.sessions.renew(opened.session_id, 1, NOW + 40_000, ["c"])
        stored = await store.sessions.get(opened.session_id)
        assert stored is not None
        assert (set(stored.held), stored.lease_until) == ({"a", "b", "c"}, NOW + 50_000)
        assert await store.sessions.renew(opened.session_id, 1, NOW + 60_000, ["b"])
        stored = await store.sessions.get(opened.session_id)
        assert stored is not None
        assert set(stored.held) == {"b"}

    async def test_a_dead_session_refuses_what_it_did_not_hold_and_an_absent_one_anything(self, store: Store) -> None:
        opened = session()
        await store.sessions.open(opened)
        assert await store.sessions.hold(opened.session_id, ["a"])
        assert await store.sessions.mark_dead(opened.session_id, opened.lease_until) is not None
        assert await store.sessions.refuse(opened.session_id, "a") is False, "acknowledged: it is lost and charged, never un-granted"
        assert await store.sessions.refuse(opened.session_id, "b") is True
        assert await store.sessions.refuse("nobody", "a") is True
        assert await store.sessions.hold(opened.session_id, ["b"]) == []
        assert await store.sessions.hold("nobody", ["b"]) == []

    async def test_death_names_the_judged_lease(self, store: Store) -> None:
        opened = session()
        await store.sessions.open(opened)
        assert await store.sessions.renew(opened.session_id, 1, NOW + 90_000, [])
        assert await store.sessions.mark_dead(opened.session_id, opened.lease_until) is None
        dead = await store.sessions.mark_dead(opened.session_id, NOW + 90_000)
        assert dead == replace(opened, lease_until=NOW + 90_000, alive=False)
        assert await store.sessions.mark_dead("nobody", NOW) is None

    async def test_an_end_names_the_connection_that_ends(self, store: Store) -> None:
        opened = session()
        await store.sessions.open(opened)
        later = await store.sessions.reconnect(opened, opened.lease_until, "s2", "")
        assert later is not None
        assert await store.sessions.end(opened.session_id, 1) is False, "a later connection goes on with it"
        assert [each.session_id for each in await store.sessions.list("default", 10)] == [opened.session_id]
        assert await store.sessions.end(opened.session_id, later.connection_no) is True
        assert await store.sessions.end(opened.session_id, later.connection_no) is True, "repeated after an unknown result"
        assert list(await store.sessions.list("default", 10)) == []
        assert await store.sessions.renew(opened.session_id, later.connection_no, NOW + 90_000, []) is False
        assert [each.session_id for each in await store.sessions.expired(0, NOW, 10)] == [opened.session_id], "to be buried"
        assert await store.sessions.end("nobody", 1) is False

    async def test_expired_are_oldest_first_with_the_dead(self, store: Store) -> None:
        old, older, young, dead = (session(lease_until=NOW + delay) for delay in (20, 10, 99, 50))
        for each in (old, older, young, dead):
            await store.sessions.open(each)
        assert await store.sessions.mark_dead(dead.session_id, NOW + 50)
        found = await store.sessions.expired(NOW + 20, NOW, 10)
        assert [each.session_id for each in found] == [older.session_id, old.session_id, dead.session_id]
        assert len(await store.sessions.expired(NOW + 20, NOW, 1)) == 1

    async def test_a_dead_session_that_was_found_empty_is_shown_again_later(self, store: Store) -> None:
        opened, alive = session(), session(lease_until=NOW + 99)
        for each in (opened, alive):
            await store.sessions.open(each)
            await store.sessions.note_empty(each.session_id, NOW)
        await store.sessions.note_empty("nobody", NOW)
        await store.sessions.mark_dead(opened.session_id, opened.lease_until)
        await store.sessions.note_empty(opened.session_id, NOW + 5)
        await store.sessions.note_empty(opened.session_id, NOW + 3)
        assert list(await store.sessions.expired(NOW, NOW + 4, 10)) == []
        [found] = await store.sessions.expired(NOW, NOW + 5, 10)
        assert found == replace(opened, alive=False, emptied=NOW + 5)
        assert await store.sessions.get(alive.session_id) == alive, "one that is alive is never noted so"

    async def test_only_the_dead_are_deleted(self, store: Store) -> None:
        opened = session()
        await store.sessions.open(opened)
        await store.sessions.delete(opened.session_id)
        assert await store.sessions.get(opened.session_id) is not None
        await store.sessions.mark_dead(opened.session_id, opened.lease_until)
        await store.sessions.delete(opened.session_id)
        assert await store.sessions.get(opened.session_id) is None
        assert list(await store.sessions.expired(NOW + 99_999, NOW + 99_999, 10)) == []

    async def test_more_than_one_command_reads_are_listed_whole(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(adapter_limits, "SESSIONS_AT_ONCE", 2)
        opened = [session(lease_until=NOW + number // 5) for number in range(11)]  # five have the same lease, as after a burst
        for each in opened:
            await store.sessions.open(each)
        found = await store.sessions.list("default", 100)
        assert sorted(each.session_id for each in found) == sorted(each.session_id for each in opened)
        assert len(await store.sessions.list("default", 7)) == 7

    async def test_list_is_of_the_namespace_and_alive(self, store: Store) -> None:
        here, there, dead = session(), session(namespace="other"), session()
        for each in (here, there, dead):
            await store.sessions.open(each)
        await store.sessions.mark_dead(dead.session_id, dead.lease_until)
        assert list(await store.sessions.list("default", 10)) == [here]
