"""The verb of batches that changes options of a step: decided per workflow by its own definition, as the single RPC does."""

from perdure.v1 import admin_service_pb2 as wire
from perdure.v1 import resource_pb2
from perdure_server.engine.batch_verbs import Item, Verb
from perdure_server.kernel.rejection import FieldViolation
from perdure_server.rpc.encode import values
from perdure_server.rpc.errors import CallRefused
from perdure_server.rpc.transport import Behaviour


def step_options_verb(update_step_options: Behaviour) -> Verb:
    """`update_step_options` serves the single RPC."""

    async def perform(item: Item, arguments: bytes) -> object:
        request = wire.UpdateStepOptionsRequest(reason=item.reason, request_id=item.request_id)
        values.ref(request.workflow, item.workflow.key, item.workflow.round)
        request.workflow.ClearField("round")
        request.workflow.expected_fence = item.workflow.fence
        request.update.CopyFrom(resource_pb2.StepPolicyUpdate.FromString(arguments))
        try:
            return await update_step_options(request, None)
        except CallRefused as error:
            raise FieldViolation([("update.update_mask", error.message)]) from error

    return Verb("UpdateStepOptions", perform)
