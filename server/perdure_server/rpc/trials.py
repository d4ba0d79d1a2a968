"""TestDefinition: which definition, what is told of it, what came out."""

import asyncio

from perdure.v1 import admin_service_pb2 as wire
from perdure_server.engine.service import Engine
from perdure_server.engine.trial import run_trial
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.rejection import FieldViolation
from perdure_server.kernel.validation import TYPE_NAME
from perdure_server.rpc.decode import definitions as decode
from perdure_server.rpc.decode import scripted, values
from perdure_server.rpc.encode import trials
from perdure_server.rpc.faults import Faults

_AT_ONCE = 2


class Trials:
    """Runs a few at a time: each is a piece of work for this server alone."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._gate = asyncio.Semaphore(_AT_ONCE)

    async def test(self, request: wire.TestDefinitionRequest) -> wire.TestDefinitionResponse:
        """Run one. Raises FieldViolation, Rejection DEFINITION_NOT_FOUND."""
        definition = await self._definition(request)
        plan = scripted.trial(request, definition, Faults())
        async with self._gate:
            result = await run_trial(plan, self._engine.clock)
        return trials.trial(result, definition)

    async def _definition(self, request: wire.TestDefinitionRequest) -> Definition:
        faults = Faults()
        namespace = values.namespace(request.namespace, "namespace", faults)
        source = request.WhichOneof("source")
        if source == "registered":
            asked = request.registered
            values.name(asked.workflow_type, "registered.workflow_type", TYPE_NAME, faults)
            values.identifier(asked.definition_fingerprint, "registered.definition_fingerprint", faults)
            faults.check()
            found, _ = await self._engine.definition(namespace, asked.workflow_type, asked.definition_fingerprint)
            return found
        if source is None:
            faults.add("source", "is not set: give definition or registered")
        decoded = decode.definition(request.definition, namespace, faults)
        faults.check()
        try:
            return await self._engine.catalog.admit(decoded)
        except FieldViolation as error:
            raise decode.with_wire_paths(error) from error
