"""The part of AdminService that is about versions of definitions and the queues that they make."""

from perdure.v1 import admin_service_pb2 as wire
from perdure_server.engine.catalog import DefinitionName
from perdure_server.engine.queue_list import QueueQuery
from perdure_server.engine.service import Engine
from perdure_server.kernel.policy_validation import QUEUE_NAME
from perdure_server.kernel.rejection import FieldViolation, Reason, Rejection
from perdure_server.kernel.validation import TYPE_NAME
from perdure_server.kernel.values import Paused
from perdure_server.ports.errors import StoreUnavailable
from perdure_server.rpc import limits as rpc_limits
from perdure_server.rpc import page_tokens
from perdure_server.rpc.caller import caller_of
from perdure_server.rpc.decode import filters, policies, values, verbs
from perdure_server.rpc.decode import migrations as decode_migrations
from perdure_server.rpc.decode.workflows import page_size
from perdure_server.rpc.encode import definitions, migrations, people, queues
from perdure_server.rpc.faults import Faults
from perdure_server.rpc.transport import Context

_RACES = 5
_Pausing = wire.PauseDefinitionRequest | wire.ResumeDefinitionRequest


class VersionsService:
    """A part of AdminService, which sets `_engine`."""

    _engine: Engine

    async def pause_definition(self, request: wire.PauseDefinitionRequest, context: Context) -> wire.PauseDefinitionResponse:
        """Grant no more claims in workflows of a definition."""
        paused = Paused(0, caller_of(context).actor, request.reason)
        response = wire.PauseDefinitionResponse()
        for found, active in await self._engine.pause_definitions(_named(request), paused):
            definitions.registered(response.definitions.add(), found, active)
        return response

    async def resume_definition(self, request: wire.ResumeDefinitionRequest, _context: Context) -> wire.ResumeDefinitionResponse:
        """End such a pause."""
        response = wire.ResumeDefinitionResponse()
        for found, active in await self._engine.pause_definitions(_named(request), None):
            definitions.registered(response.definitions.add(), found, active)
        return response

    async def delete_definition(self, request: wire.DeleteDefinitionRequest, _context: Context) -> wire.DeleteDefinitionResponse:
        """Remove a definition that is not active and has no kept workflow."""
        faults = Faults()
        namespace = values.namespace(request.namespace, "namespace", faults)
        values.name(request.workflow_type, "workflow_type", TYPE_NAME, faults)
        values.identifier(request.definition_fingerprint, "definition_fingerprint", faults, required=True)
        values.identifier(request.request_id, "request_id", faults)
        faults.check()
        name = DefinitionName(namespace, request.workflow_type, request.definition_fingerprint)
        removal = self._engine.operations.definition_removal
        for _ in range(_RACES):
            found = await removal.look(name, request.request_id)
            if found is None:
                return wire.DeleteDefinitionResponse()
            known, active = found
            policies.require_etag(request.etag, definitions.etag(known, active))
            if request.validate_only:
                await removal.check(name)
                return wire.DeleteDefinitionResponse()
            if await removal.delete(known, request.request_id):
                return wire.DeleteDefinitionResponse()
        raise StoreUnavailable("the definition is being changed by too many at once")

    async def list_queues(self, request: wire.ListQueuesRequest, _context: Context) -> wire.ListQueuesResponse:
        """Queues with what is ready and running, and who serves them."""
        faults = Faults()
        namespace = values.namespace(request.namespace, "namespace", faults)
        if request.workflow_type:
            values.name(request.workflow_type, "workflow_type", TYPE_NAME, faults)
        if request.queue:
            values.name(request.queue, "queue", QUEUE_NAME, faults)
        filters.check_phases(request.phases, "phases", faults)
        size = page_size(request.page_size, faults)
        faults.check()
        phases = frozenset(request.phases)
        scope = ("queues", namespace, request.queue, request.workflow_type, *(str(int(phase)) for phase in sorted(phases)))
        after = page_tokens.decode_key(scope, request.page_token)
        query = QueueQuery(
            namespace, request.queue, request.workflow_type, lambda fact, ready: not phases or queues.phase(fact, ready) in phases
        )
        rows, last = await self._engine.operations.queues.page(query, size, after[0] if after else "")
        response = wire.ListQueuesResponse()
        for row in rows:
            queues.queue(response.queues.add(), row, self._engine.clock.now())
        if last:
            response.next_page_token = page_tokens.encode_key(scope, [last])
        return response

    async def migrate_workflows(self, request: wire.MigrateWorkflowsRequest, context: Context) -> wire.MigrateWorkflowsResponse:
        """Move open workflows of one definition to another, in the background."""
        work, arguments = decode_migrations.migration(request, caller_of(context))
        operations = self._engine.operations
        await operations.migrations.check(work.namespace, arguments)
        examined = await operations.migrations.examine(work.plan.selection, arguments)
        batch = None if request.validate_only else await operations.batches.start(work, only_if_any=True)
        return migrations.response(examined, batch)

    async def update_step_options(self, request: wire.UpdateStepOptionsRequest, _context: Context) -> wire.UpdateStepOptionsResponse:
        """Change options of one step of one workflow."""
        ref, conditions = verbs.conditional(request)
        view = await self._engine.get(ref, with_payloads=False)
        if request.update.step not in view.definition.by_name:
            raise Rejection(Reason.STEP_NOT_FOUND, "The definition has no such step.", step=request.update.step)
        changed, options = policies.step_options(request, view.definition)
        try:
            self._engine.catalog.prepare(changed)
        except FieldViolation as error:
            raise policies.with_update_paths(error, view.definition) from error
        done = await self._engine.people.update_options(ref, request.update.step, options, conditions)
        return people.options_updated(done, request.update.step)


def _named(request: _Pausing) -> DefinitionName:
    faults = Faults()
    namespace = values.namespace(request.namespace, "namespace", faults)
    values.name(request.workflow_type, "workflow_type", TYPE_NAME, faults)
    values.identifier(request.definition_fingerprint, "definition_fingerprint", faults)
    values.identifier(request.request_id, "request_id", faults)
    if len(request.reason.encode()) > rpc_limits.CANCEL_REASON:
        faults.add("reason", f"is longer than {rpc_limits.CANCEL_REASON} bytes")
    faults.check()
    return DefinitionName(namespace, request.workflow_type, request.definition_fingerprint)
