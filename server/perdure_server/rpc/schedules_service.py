"""The part of AdminService about schedules and namespaces."""

from perdure.v1 import admin_service_pb2 as wire
from perdure.v1 import resource_pb2
from perdure_server.engine.service import Engine
from perdure_server.kernel.namespace import Namespace, NamespaceSettings
from perdure_server.kernel.schedule import Schedule, ScheduleSettings
from perdure_server.rpc import masks, page_tokens
from perdure_server.rpc.decode import schedules as decode
from perdure_server.rpc.doors.identity import may, require
from perdure_server.rpc.doors.permissions import Permission
from perdure_server.rpc.encode import schedules as encode
from perdure_server.rpc.filling import Filling
from perdure_server.rpc.transport import Context


class SchedulesService:
    """A part of AdminService, which sets `_engine`."""

    _engine: Engine

    async def put_schedule(self, request: wire.PutScheduleRequest, _context: Context) -> wire.PutScheduleResponse:
        """Make or change a schedule."""
        given = request.schedule
        namespace, schedule_id = decode.schedule_name(given.namespace, given.schedule_id, "schedule.")
        conditions = decode.put_conditions(request, "schedule", encode.SERVERS_OWN)

        def change(stored: Schedule | None) -> ScheduleSettings:
            if stored is None:
                return decode.schedule(given)
            shown = resource_pb2.Schedule()
            encode.schedule(shown, stored, [])
            return decode.schedule(masks.merged(shown, given, request.update_mask, encode.SERVERS_OWN))

        stored, created = await self._engine.schedules.put(namespace, schedule_id, change, conditions)
        response = wire.PutScheduleResponse(created=created)
        encode.schedule(response.schedule, stored, self._engine.schedules.next_times(stored, 1))
        return response

    async def list_schedules(self, request: wire.ListSchedulesRequest, _context: Context) -> wire.ListSchedulesResponse:
        """Schedules, by id."""
        namespace, size = decode.schedule_list(request)
        scope = ("schedules", namespace, request.schedule_id, request.workflow_type)
        after = page_tokens.decode_key(scope, request.page_token)
        if request.schedule_id:
            one = await self._engine.schedules.get(namespace, request.schedule_id)
            matches = one is not None and request.workflow_type in {"", one.settings.start.workflow_type}
            found = [one] if one is not None and matches else []
        else:
            found = list(await self._engine.schedules.list(namespace, request.workflow_type, after[0] if after else "", size + 1))
        response = wire.ListSchedulesResponse()
        filling = Filling(size)
        for place, schedule in enumerate(found):
            message = resource_pb2.Schedule()
            encode.schedule(message, schedule, self._engine.schedules.next_times(schedule, len(found)))
            if not filling.takes(message):
                response.next_page_token = page_tokens.encode_key(scope, [found[place - 1].schedule_id])
                break
            response.schedules.append(message)
        return response

    async def trigger_schedule(self, request: wire.TriggerScheduleRequest, _context: Context) -> wire.TriggerScheduleResponse:
        """Fire a schedule now."""
        namespace, schedule_id, firing = decode.trigger(request, self._engine.clock.now())
        response = wire.TriggerScheduleResponse()
        encode.firing(response.firing, await self._engine.schedules.trigger(namespace, schedule_id, firing))
        return response

    async def delete_schedule(self, request: wire.DeleteScheduleRequest, _context: Context) -> wire.DeleteScheduleResponse:
        """Remove a schedule."""
        await self._engine.schedules.delete(*decode.delete(request))
        return wire.DeleteScheduleResponse()

    async def put_namespace(self, request: wire.PutNamespaceRequest, _context: Context) -> wire.PutNamespaceResponse:
        """Make or change a namespace."""
        given = request.namespace
        name = decode.namespace_name(given)
        conditions = decode.put_conditions(request, "namespace", encode.NAMESPACE_FIXED)

        def change(stored: NamespaceSettings) -> NamespaceSettings:
            shown = resource_pb2.Namespace()
            encode.namespace(shown, Namespace(name, stored, 0, revision=0), None)
            return decode.namespace(masks.merged(shown, given, request.update_mask, encode.NAMESPACE_FIXED))

        stored, created = await self._engine.namespaces.put(name, change, conditions)
        response = wire.PutNamespaceResponse(created=created)
        encode.namespace(response.namespace, stored, None)
        return response

    async def list_namespaces(self, request: wire.ListNamespacesRequest, _context: Context) -> wire.ListNamespacesResponse:
        """Namespaces, by name, with their use."""
        size = decode.namespace_list(request)
        scope = ("namespaces", request.namespace)
        after = page_tokens.decode_key(scope, request.page_token)
        if request.namespace:
            require(Permission.READ_OPERATIONS, {request.namespace}, "ListNamespaces")
            one = await self._engine.namespaces.get(request.namespace)
            found = [one] if one is not None else []
        else:
            found = await self._visible(after[0] if after else "", size + 1)
        response = wire.ListNamespacesResponse()
        filling = Filling(size)
        for place, namespace in enumerate(found):
            message = resource_pb2.Namespace()
            encode.namespace(message, namespace, await self._engine.namespaces.usage(namespace.name))
            if not filling.takes(message):
                response.next_page_token = page_tokens.encode_key(scope, [found[place - 1].name])
                break
            response.namespaces.append(message)
        return response

    async def _visible(self, after: str, wanted: int) -> list[Namespace]:
        """The next namespaces that the caller may see."""
        found: list[Namespace] = []
        while len(found) < wanted and (page := await self._engine.namespaces.list(after, wanted)):
            found += [namespace for namespace in page if may(Permission.READ_OPERATIONS, namespace.name)]
            after = page[-1].name
        return found[:wanted]
