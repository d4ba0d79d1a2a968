"""AdminService, as far as this server has it: definitions, workers, and the facts about the server itself."""

from perdure.v1 import admin_service_pb2 as wire
from perdure.v1 import definition_pb2, resource_pb2
from perdure_server.engine.catalog import DefinitionName
from perdure_server.engine.locks import KeyedLocks
from perdure_server.engine.service import Engine
from perdure_server.kernel import limits
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.policy_validation import QUEUE_NAME
from perdure_server.kernel.rejection import FieldViolation
from perdure_server.kernel.validation import TYPE_NAME
from perdure_server.ports.errors import StoreUnavailable
from perdure_server.ports.store import Session
from perdure_server.rpc import page_tokens
from perdure_server.rpc.decode import definitions as decode
from perdure_server.rpc.decode import policies, values, verbs
from perdure_server.rpc.decode.workflows import page_size
from perdure_server.rpc.encode import definitions, people, workers
from perdure_server.rpc.faults import Faults
from perdure_server.rpc.filling import Filling
from perdure_server.rpc.operations_service import OperationsService
from perdure_server.rpc.resources_service import ResourcesService
from perdure_server.rpc.schedules_service import SchedulesService
from perdure_server.rpc.server_info import ServerFacts, server_info
from perdure_server.rpc.transport import Context
from perdure_server.rpc.trials import Trials
from perdure_server.rpc.versions_service import VersionsService

_RACES = 5


class AdminService(OperationsService, ResourcesService, SchedulesService, VersionsService):
    """What deployers, operators and consoles call."""

    descriptor = wire.DESCRIPTOR.services_by_name["AdminService"]

    def __init__(self, engine: Engine, facts: ServerFacts) -> None:
        self._engine = engine
        self._facts = facts
        self._trials = Trials(engine)
        self._locks = KeyedLocks()

    async def register_definition(self, request: wire.RegisterDefinitionRequest, _context: Context) -> wire.RegisterDefinitionResponse:
        """Check and store a definition; all faults are named at once."""
        faults = Faults()
        namespace = values.namespace(request.namespace, "namespace", faults)
        values.identifier(request.request_id, "request_id", faults)
        if not request.HasField("definition"):
            faults.add("definition", "is not set")
        decoded = decode.definition(request.definition, namespace, faults)
        faults.check()
        try:
            return await self._register(request, decoded)
        except FieldViolation as error:
            raise decode.with_wire_paths(error) from error

    async def set_active_definition(self, request: wire.SetActiveDefinitionRequest, _context: Context) -> wire.SetActiveDefinitionResponse:
        """Make a registered definition the one that new starts of its type use."""
        faults = Faults()
        namespace, workflow_type = _name(request, faults)
        values.identifier(request.definition_fingerprint, "definition_fingerprint", faults, required=True)
        values.identifier(request.request_id, "request_id", faults)
        faults.check()
        before = {item.workflow_type: item.fingerprint for item in await self._engine.definitions(namespace)}
        self._engine.catalog.forget()
        found, active = await self._engine.definition(namespace, workflow_type, request.definition_fingerprint)
        if not active or request.etag != definitions.etag(found, active=False):  # else it is this very change, made before
            policies.require_etag(request.etag, definitions.etag(found, active))
        if not active and not request.validate_only:
            await self._engine.activate(namespace, workflow_type, request.definition_fingerprint)
        found, active = await self._engine.definition(namespace, workflow_type, request.definition_fingerprint)
        response = wire.SetActiveDefinitionResponse(previous_fingerprint=before.get(workflow_type, ""))
        definitions.registered(response.definition, found, active)
        return response

    async def update_policy(self, request: wire.UpdatePolicyRequest, _context: Context) -> wire.UpdatePolicyResponse:
        """Change policies of a registered definition, also for its open workflows."""
        faults = Faults()
        namespace, workflow_type = _name(request, faults)
        values.identifier(request.definition_fingerprint, "definition_fingerprint", faults)
        faults.check()
        async with self._locks.of((namespace, workflow_type)):
            return await self._update_policy(request, namespace, workflow_type)

    async def _update_policy(self, request: wire.UpdatePolicyRequest, namespace: str, workflow_type: str) -> wire.UpdatePolicyResponse:
        for _ in range(_RACES):
            self._engine.catalog.forget()  # neither a refusal nor a change goes by what may be old
            known, active = await self._engine.definition(namespace, workflow_type, request.definition_fingerprint)
            policies.require_etag(request.etag, definitions.etag(known, active))
            stored = await self._changed(request, known)
            if stored is not None:
                response = wire.UpdatePolicyResponse()
                definitions.registered(response.definition, stored, active)
                return response
        raise StoreUnavailable("the policies are being changed by too many at once")

    async def get_definition(self, request: wire.GetDefinitionRequest, _context: Context) -> wire.GetDefinitionResponse:
        """One definition, or the active one of a type."""
        faults = Faults()
        namespace, workflow_type = _name(request, faults)
        values.identifier(request.definition_fingerprint, "definition_fingerprint", faults)
        faults.check()
        found, active = await self._engine.definition(namespace, workflow_type, request.definition_fingerprint)
        count = await self._engine.operations.definition_removal.open_count(DefinitionName(namespace, workflow_type, found.fingerprint))
        response = wire.GetDefinitionResponse(open_count=count, open_count_estimate=count >= limits.COUNT_ROWS)
        definitions.registered(response.definition, found, active)
        return response

    async def list_definitions(self, request: wire.ListDefinitionsRequest, _context: Context) -> wire.ListDefinitionsResponse:
        """Definitions of every type that has an active one: by type, newest first."""
        faults = Faults()
        namespace = values.namespace(request.namespace, "namespace", faults)
        if request.workflow_type:
            values.name(request.workflow_type, "workflow_type", TYPE_NAME, faults)
        size = page_size(request.page_size, faults)
        faults.check()
        scope = ("definitions", namespace, request.workflow_type, str(request.active_only))
        after = page_tokens.decode_key(scope, request.page_token)
        rows: list[tuple[list[str], Definition, bool]] = []
        for active in await self._engine.definitions(namespace):
            if request.workflow_type in {"", active.workflow_type}:
                versions = await self._engine.versions(namespace, active.workflow_type)
                rows += [
                    ([active.workflow_type, f"{place:06}"], version, version.fingerprint == active.fingerprint)
                    for place, version in enumerate(versions)
                    if version.fingerprint == active.fingerprint or not request.active_only
                ]
        page = [row for row in sorted(rows, key=lambda row: row[0]) if row[0] > after]
        response = wire.ListDefinitionsResponse()
        filling = Filling(size)
        for place, (_, version, is_active) in enumerate(page):
            message = definition_pb2.RegisteredDefinition()
            definitions.registered(message, version, is_active)
            if not filling.takes(message):
                response.next_page_token = page_tokens.encode_key(scope, page[place - 1][0])
                break
            response.definitions.append(message)
        return response

    async def test_definition(self, request: wire.TestDefinitionRequest, _context: Context) -> wire.TestDefinitionResponse:  # noqa: PT019 -- no test, though its name begins so
        """Run a definition in memory with outcomes told in advance."""
        return await self._trials.test(request)

    async def list_workers(self, request: wire.ListWorkersRequest, _context: Context) -> wire.ListWorkersResponse:
        """Worker sessions, by worker id."""
        faults = Faults()
        namespace = values.namespace(request.namespace, "namespace", faults)
        if request.workflow_type:
            values.name(request.workflow_type, "workflow_type", TYPE_NAME, faults)
        if request.queue:
            values.name(request.queue, "queue", QUEUE_NAME, faults)
        size = page_size(request.page_size, faults)
        faults.check()
        scope = ("workers", namespace, request.queue, request.workflow_type)
        after = page_tokens.decode_key(scope, request.page_token)
        found = await self._engine.list_workers(namespace, limits.SESSIONS_LISTED)
        rows = sorted(
            (([session.worker_id, session.session_id], session) for session in found if _serves(session, request)), key=lambda row: row[0]
        )
        page = [row for row in rows if row[0] > after]
        response = wire.ListWorkersResponse()
        filling = Filling(size)
        for place, (_, session) in enumerate(page):
            served = await self._engine.subscriptions.serve(namespace, session.pools)
            message = resource_pb2.Worker()
            workers.worker(message, session, (status for status, _ in served))
            if not filling.takes(message):
                response.next_page_token = page_tokens.encode_key(scope, page[place - 1][0])
                break
            response.workers.append(message)
        return response

    async def resolve_step(self, request: wire.ResolveStepRequest, _context: Context) -> wire.ResolveStepResponse:
        """Settle, retry or pass a step by a person's word."""
        ref, resolution, conditions = verbs.resolve(request)
        try:
            done = await self._engine.people.resolve(ref, request.step, resolution, conditions)
        except FieldViolation as error:
            raise verbs.with_wire_paths(error) from error
        return people.resolved(done, request.step)

    async def get_server_info(self, _request: wire.GetServerInfoRequest, _context: Context) -> wire.GetServerInfoResponse:
        """Version, limits, defaults and condition of this server."""
        return server_info(self._engine, self._facts)

    async def _changed(self, request: wire.UpdatePolicyRequest, known: Definition) -> Definition | None:
        changed = policies.updated(request, known)
        try:
            if request.validate_only:
                return (await self._engine.register(changed, activate=False, only_if_none=True, validate_only=True))[0]
            return await self._engine.change_policies(known, changed)
        except FieldViolation as error:
            raise policies.with_request_paths(error, request, known) from error

    async def _register(self, request: wire.RegisterDefinitionRequest, decoded: Definition) -> wire.RegisterDefinitionResponse:
        prepared, _ = await self._engine.register(decoded, activate=False, only_if_none=True, validate_only=True)
        versions = await self._engine.versions(prepared.namespace, prepared.workflow_type)
        known = next((version for version in versions if version.fingerprint == prepared.fingerprint), None)
        response = wire.RegisterDefinitionResponse(created=known is None)
        kept = known is not None and not request.update_policy
        if known is not None and kept and not known.offers_the_same(prepared):
            text = "The policies differ from the stored ones, which are kept; set update_policy to take these."
            response.warnings.add(field="definition", description=text)
        stored, active = await self._engine.register(
            known if known is not None and kept else decoded, request.activate, only_if_none=False, validate_only=request.validate_only
        )
        definitions.registered(response.definition, stored, active is not None and active.fingerprint == stored.fingerprint)
        return response


def _name(
    request: wire.SetActiveDefinitionRequest | wire.GetDefinitionRequest | wire.UpdatePolicyRequest,
    faults: Faults,
) -> tuple[str, str]:
    values.name(request.workflow_type, "workflow_type", TYPE_NAME, faults)
    return values.namespace(request.namespace, "namespace", faults), request.workflow_type


def _serves(session: Session, request: wire.ListWorkersRequest) -> bool:
    if not request.queue and not request.workflow_type:
        return True
    return any(request.queue in {"", pool.queue} and request.workflow_type in {"", pool.workflow_type} for pool in session.pools)
