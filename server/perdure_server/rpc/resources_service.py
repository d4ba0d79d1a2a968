"""The part of AdminService for resources of permits."""

from msgspec.structs import replace

from perdure.v1 import admin_service_pb2 as wire
from perdure.v1 import resource_pb2
from perdure_server.engine.locks import KeyedLocks
from perdure_server.engine.service import Engine
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.resources import PutRequest, Resource
from perdure_server.ports.errors import StoreUnavailable
from perdure_server.rpc import page_tokens
from perdure_server.rpc.decode import resources as decode
from perdure_server.rpc.encode import resources as encode
from perdure_server.rpc.filling import Filling
from perdure_server.rpc.transport import Context

_RACES = 5


class ResourcesService:
    """A part of AdminService, which sets `_engine` and `_locks`."""

    _engine: Engine
    _locks: KeyedLocks

    async def put_resource(self, request: wire.PutResourceRequest, _context: Context) -> wire.PutResourceResponse:
        """Make or change a resource; the same again changes nothing."""
        wanted, asked = decode.put(request), decode.asked(request)
        async with self._locks.of((wanted.namespace, wanted.name)):
            return await self._put(request, wanted, asked)

    async def _put(self, request: wire.PutResourceRequest, wanted: Resource, asked: PutRequest) -> wire.PutResourceResponse:
        for _ in range(_RACES):
            try:
                return await self._put_once(request, wanted, asked)
            except Rejection as error:
                if error.reason is not Reason.REVISION_CONFLICT or request.resource.etag:
                    raise
        raise StoreUnavailable("the resource is being changed by too many at once")

    async def _put_once(self, request: wire.PutResourceRequest, wanted: Resource, asked: PutRequest) -> wire.PutResourceResponse:
        old = await self._engine.permits.resources.get(wanted.namespace, wanted.name)
        known = old.remembered(asked) if old is not None else None
        if old is not None and known is not None:
            return await self._told(old, known.created)
        _require_etag(request.resource.etag, old, wanted.name)
        merged = decode.merged(request, old, wanted)
        if request.validate_only:
            stored = replace(merged, revision=old.revision, update_time=old.update_time) if old is not None else merged
        else:
            stored = await self._engine.permits.resources.put(old, merged, asked)
        return await self._told(stored, old is None)

    async def _told(self, stored: Resource, created: bool) -> wire.PutResourceResponse:
        response = wire.PutResourceResponse(created=created)
        encode.usage(response.resource, await self._engine.permits.resources.usage(stored), self._engine.clock.now())
        return response

    async def list_resources(self, request: wire.ListResourcesRequest, _context: Context) -> wire.ListResourcesResponse:
        """Resources by name, with their use."""
        namespace, name, size = decode.listed(request)
        response = wire.ListResourcesResponse()
        now = self._engine.clock.now()
        if name:
            found = await self._engine.permits.resources.get(namespace, name)
            if found is not None:
                encode.usage(response.resources.add(), await self._engine.permits.resources.usage(found), now)
            return response
        scope = ("resources", namespace)
        after = page_tokens.decode_key(scope, request.page_token)
        rows = await self._engine.permits.resources.list(namespace, after[0] if after else "", size + 1)
        filling = Filling(size)
        for place, row in enumerate(rows):
            message = resource_pb2.Resource()
            encode.usage(message, row, now)
            if not filling.takes(message):
                response.next_page_token = page_tokens.encode_key(scope, [rows[place - 1].resource.name])
                break
            response.resources.append(message)
        return response

    async def delete_resource(self, request: wire.DeleteResourceRequest, _context: Context) -> wire.DeleteResourceResponse:
        """Remove a resource that nobody uses."""
        namespace, name = decode.deleted(request)
        asked = decode.asked(request)
        found = await self._engine.permits.resources.get(namespace, name)
        if await self._engine.permits.resources.was_deleted(namespace, name, found, asked):
            return wire.DeleteResourceResponse()
        if found is None:
            raise Rejection(Reason.RESOURCE_NOT_FOUND, "There is no such resource.", resource=name)
        _require_etag(request.etag, found, name)
        if request.validate_only:
            await self._engine.permits.resources.check_unused(found)
        else:
            await self._engine.permits.resources.delete(found, asked)
        return wire.DeleteResourceResponse()


def _require_etag(etag: str, found: Resource | None, name: str) -> None:
    if etag and (found is None or etag != encode.etag_of(found)):
        raise Rejection(Reason.REVISION_CONFLICT, "The resource has changed meanwhile: read it again.", resource=name)
