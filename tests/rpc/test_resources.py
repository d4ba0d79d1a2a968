"""PutResource, ListResources, DeleteResource, and what a throttled step says of itself."""

import asyncio

import grpc
import pytest

from perdure.v1 import admin_service_pb2 as admin
from perdure.v1 import resource_pb2, worker_service_pb2, workflow_pb2
from perdure.v1 import workflow_service_pb2 as wire
from perdure.v1.claim_pb2 import Pool
from tests.rpc.conftest import Served, definition, ref, refused
from tests.rpc.worker import connected


async def put(served: Served, name: str = "llm", mask: tuple[str, ...] = (), **fields: object) -> admin.PutResourceResponse:
    etag = fields.pop("etag", "")
    request = admin.PutResourceRequest(validate_only=bool(fields.pop("validate_only", False)), request_id=str(fields.pop("request_id", "")))
    request.resource.MergeFrom(resource_pb2.Resource(resource=name, etag=str(etag), **fields))  # type: ignore[arg-type]  # its fields
    request.update_mask.paths.extend(mask)
    return await served.admin.PutResource(request)


async def listed(served: Served, **fields: object) -> admin.ListResourcesResponse:
    return await served.admin.ListResources(admin.ListResourcesRequest(**fields))  # type: ignore[arg-type]  # its fields


async def limited(served: Served, *permits: str) -> None:
    made = definition("a")
    for name in permits:
        made.steps[0].policy.permits.add(resource=name)
    await served.admin.RegisterDefinition(admin.RegisterDefinitionRequest(definition=made, activate=True))


def rate(units: int, milliseconds: int) -> resource_pb2.Rate:
    made = resource_pb2.Rate(units=units)
    made.period.FromMilliseconds(milliseconds)
    return made


class TestPut:
    async def test_made_changed_and_listed(self, served: Served) -> None:
        first = await put(served, capacity=5, description="calls", key=resource_pb2.ResourceKey(label="tenant"))
        assert (first.created, first.resource.capacity, first.resource.namespace) == (True, 5, "default")
        again = await put(served, capacity=5, description="calls", key=resource_pb2.ResourceKey(label="tenant"))
        assert (again.created, again.resource.etag) == (False, first.resource.etag), "the same again changes nothing"
        changed = await put(served, mask=("rate",), rate=rate(10, 1_000))
        assert (changed.resource.capacity, changed.resource.rate.units, changed.resource.rate.burst) == (5, 10, 10)
        assert changed.resource.etag != first.resource.etag
        bare = await put(served, capacity=0)
        assert (bare.resource.HasField("rate"), bare.resource.HasField("capacity"), bare.resource.capacity) == (False, True, 0)
        await put(served, "gpu", capacity=1)
        assert [item.resource for item in (await listed(served)).resources] == ["gpu", "llm"]
        page = await listed(served, page_size=1)
        rest = await listed(served, page_size=1, page_token=page.next_page_token)
        assert ([item.resource for item in (*page.resources, *rest.resources)], rest.next_page_token) == (["gpu", "llm"], "")
        assert [item.resource for item in (await listed(served, resource="llm")).resources] == ["llm"]
        assert not (await listed(served, resource="none")).resources

    async def test_an_etag_must_be_current(self, served: Served) -> None:
        first = await put(served, capacity=5)
        await put(served, capacity=6, etag=first.resource.etag)
        for etag in (first.resource.etag, "r1"):
            found = await refused(put(served, capacity=7, etag=etag))
            assert (found.code, found.reason) == (grpc.StatusCode.ABORTED, "REVISION_CONFLICT")

    async def test_only_checked(self, served: Served) -> None:
        found = await put(served, capacity=5, validate_only=True)
        assert found.created
        assert not (await listed(served)).resources

    async def test_all_faults_arrive_at_once(self, served: Served) -> None:
        bad = resource_pb2.Rate(units=0, burst=-1)
        found = await refused(put(served, "?", capacity=-1, rate=bad, key=resource_pb2.ResourceKey(), description="x" * 5_000))
        names = {"resource", "capacity", "rate.units", "rate.burst", "rate.period", "key", "description"}
        assert set(found.fields) == {f"resource.{name}" for name in names}
        found = await refused(put(served, mask=("usage",), capacity=1))
        assert found.reason == "UPDATE_MASK_INVALID"


class TestRepeats:
    async def test_a_repeated_put_changes_nothing_though_it_was_changed_meanwhile(self, served: Served) -> None:
        first = await put(served, capacity=5, request_id="r1")
        await put(served, capacity=5, request_id="r2")
        await put(served, capacity=9, request_id="r3")
        for number, created in (("r1", True), ("r2", False)):
            again = await put(served, capacity=5, request_id=number)
            assert (again.resource.capacity, again.created) == (9, created), "as it is now: the request was done before"
        assert first.created

    async def test_a_request_id_is_for_one_content(self, served: Served) -> None:
        await put(served, capacity=5, request_id="r1")
        found = await refused(put(served, capacity=6, request_id="r1"))
        assert (found.code, found.reason) == (grpc.StatusCode.ALREADY_EXISTS, "REQUEST_ID_REUSED")
        assert (await listed(served)).resources[0].capacity == 5

    async def test_a_repeated_put_with_an_etag_is_no_conflict_with_itself(self, served: Served) -> None:
        first = await put(served, capacity=5)
        for _ in range(2):
            stored = await put(served, capacity=6, etag=first.resource.etag, request_id="r1")
            assert stored.resource.capacity == 6

    async def test_a_repeated_deletion_is_one_and_spares_what_was_made_since(self, served: Served) -> None:
        await put(served, capacity=5)
        request = admin.DeleteResourceRequest(resource="llm", request_id="r1")
        await served.admin.DeleteResource(request)
        await served.admin.DeleteResource(request)
        assert not (await listed(served)).resources
        await put(served, capacity=7)
        await served.admin.DeleteResource(request)
        assert [found.capacity for found in (await listed(served)).resources] == [7]
        reused = admin.DeleteResourceRequest(resource="llm", request_id="r1", etag="r1")
        assert (await refused(served.admin.DeleteResource(reused))).reason == "REQUEST_ID_REUSED"
        found = await refused(served.admin.DeleteResource(admin.DeleteResourceRequest(resource="other", request_id="r1")))
        assert found.reason == "RESOURCE_NOT_FOUND"


class TestUse:
    async def test_holders_waiters_and_why(self, served: Served) -> None:
        await put(served, capacity=1)
        await limited(served, "llm")
        pools = [Pool(pool="p", workflow_type="note", any_contract=True, slots=5)]
        async with connected(served, pools=pools) as worker:
            await served.start("x")
            claim = await worker.claim()
            assert claim.stop_at_lease_end
            await worker.say(credit=worker_service_pb2.Credit(pool="p", count=1))
            await served.start("y")
            await self._throttled(served, "y")
            use = (await listed(served)).resources[0].usage
            assert (use.in_use, use.waiting_count, [holder.workflow.business_key for holder in use.holders]) == (1, 1, ["x"])
            explained = await served.workflows.ExplainWorkflow(wire.ExplainWorkflowRequest(workflow=ref("y")))
            assert explained.phase == workflow_pb2.PHASE_THROTTLED
            permit = explained.steps[0].blockers[0].permit
            assert (permit.resource, permit.units, permit.in_use, permit.capacity, permit.ahead_count) == ("llm", 1, 1, 1, 0)
            assert [holder.business_key for holder in permit.holders] == ["x"]
            request = admin.DeleteResourceRequest(resource="llm")
            found = await refused(served.admin.DeleteResource(request))
            assert (found.code, found.reason, found.facts["holder_count"]) == (grpc.StatusCode.FAILED_PRECONDITION, "RESOURCE_IN_USE", "1")

    async def _throttled(self, served: Served, key: str) -> None:
        async with asyncio.timeout(10):
            while True:
                shown = await served.workflows.GetWorkflow(wire.GetWorkflowRequest(workflow=ref(key)))
                if shown.workflow.phase == workflow_pb2.PHASE_THROTTLED:
                    assert shown.workflow.phase_reason == "a: for permits of llm"
                    assert shown.workflow.steps[0].totals.permit_waits == 1
                    return


class TestDelete:
    async def test_gone(self, served: Served) -> None:
        made = await put(served, capacity=1)
        await served.admin.DeleteResource(admin.DeleteResourceRequest(resource="llm", validate_only=True))
        found = await refused(served.admin.DeleteResource(admin.DeleteResourceRequest(resource="llm", etag="r1")))
        assert found.reason == "REVISION_CONFLICT"
        await served.admin.DeleteResource(admin.DeleteResourceRequest(resource="llm", etag=made.resource.etag))
        found = await refused(served.admin.DeleteResource(admin.DeleteResourceRequest(resource="llm")))
        assert (found.code, found.reason) == (grpc.StatusCode.NOT_FOUND, "RESOURCE_NOT_FOUND")
        again = await put(served, capacity=1)
        assert again.resource.etag != made.resource.etag


@pytest.mark.parametrize("call", ["ListResources", "DeleteResource"])
async def test_names_are_checked(served: Served, call: str) -> None:
    message = {"ListResources": admin.ListResourcesRequest, "DeleteResource": admin.DeleteResourceRequest}[call]
    found = await refused(getattr(served.admin, call)(message(resource="?", namespace="?")))
    assert set(found.fields) == {"resource", "namespace"}
