"""The audit trail."""

import secrets

from msgspec.structs import replace

from perdure_server.ports.audit import AuditKey, AuditQuery, AuditRecord
from perdure_server.ports.store import Store
from tests.store.instances import NOW

ALL = AuditQuery("default")


def record(number: int = 0, **changes: object) -> AuditRecord:
    made = AuditRecord(secrets.token_hex(12), "default", NOW + number, "TerminateWorkflow", facts={"a.$b": "c"})
    return replace(made, **changes)


class AuditContract:
    """Records, newest first."""

    async def test_a_record_comes_back_and_is_kept_once(self, store: Store) -> None:
        made = record(actor="kim", peer="ipv4:1", workflow_type="ingest", business_key="k", round=2, reason="why", request_id="r")
        made = replace(made, target="t", refusal="WORKFLOW_CLOSED", refusal_text="It has ended.")
        await store.audit.add(made)
        await store.audit.add(replace(made, actor="another"))
        assert list(await store.audit.find(ALL, 10, None)) == [made]

    async def test_pages_are_stable_with_equal_times(self, store: Store) -> None:
        made = [record(number // 4) for number in range(10)]
        for one in made:
            await store.audit.add(one)
        seen: list[AuditRecord] = []
        after = None
        while page := await store.audit.find(ALL, 3, after):
            seen += page
            after = AuditKey(page[-1].time, page[-1].record_id)
        assert seen == sorted(made, key=lambda one: (one.time, one.record_id), reverse=True)

    async def test_filters(self, store: Store) -> None:
        mine = record(1, actor="kim", workflow_type="ingest", business_key="k")
        theirs = record(2, actor="sam", method="PutResource", target="gpu")
        elsewhere = record(3, namespace="elsewhere", workflow_type="ingest", business_key="k")
        for one in (mine, theirs, elsewhere):
            await store.audit.add(one)

        async def found(query: AuditQuery) -> list[AuditRecord]:
            return list(await store.audit.find(query, 10, None))

        assert await found(ALL) == [theirs, mine]
        assert await found(AuditQuery("elsewhere")) == [elsewhere]
        assert await found(replace(ALL, workflow_type="ingest", business_key="k")) == [mine]
        assert await found(replace(ALL, actor="sam")) == [theirs]
        assert await found(replace(ALL, methods=("PutResource", "DeleteResource"))) == [theirs]
        assert await found(replace(ALL, from_time=NOW + 2)) == [theirs]
        assert await found(replace(ALL, to_time=NOW + 2)) == [mine]

    async def test_the_oldest_are_forgotten(self, store: Store) -> None:
        made = [record(number) for number in range(4)]
        for one in made:
            await store.audit.add(one)
        assert await store.audit.forget(NOW + 2, 2) == 2
        assert await store.audit.forget(NOW + 2, 2) == 1
        assert await store.audit.forget(NOW + 2, 2) == 0
        assert list(await store.audit.find(ALL, 10, None)) == [made[3]]
