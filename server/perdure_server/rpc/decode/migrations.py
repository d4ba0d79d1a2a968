"""MigrateWorkflows: which workflows, where to, and by which names."""

from msgspec.structs import replace

from perdure.v1 import admin_service_pb2 as wire
from perdure.v1 import resource_pb2
from perdure_server.engine.batch_verbs import packed
from perdure_server.engine.batches import Work
from perdure_server.engine.migrations import MigrateArguments
from perdure_server.engine.selection import OPEN
from perdure_server.kernel import limits
from perdure_server.kernel.migration import Loss
from perdure_server.kernel.validation import STEP_NAME, TYPE_NAME
from perdure_server.rpc.caller import Caller
from perdure_server.rpc.decode import values
from perdure_server.rpc.decode.batches import background
from perdure_server.rpc.faults import Faults


def migration(message: wire.MigrateWorkflowsRequest, caller: Caller) -> tuple[Work, MigrateArguments]:
    """The work of a migration. Raises FieldViolation with all faults."""
    faults = Faults()
    values.name(message.workflow_type, "workflow_type", TYPE_NAME, faults)
    values.identifier(message.from_fingerprint, "from_fingerprint", faults, required=True)
    values.identifier(message.to_fingerprint, "to_fingerprint", faults, required=True)
    if message.from_fingerprint and message.from_fingerprint == message.to_fingerprint:
        faults.add("to_fingerprint", "is the one to migrate from")
    arguments = MigrateArguments(
        message.workflow_type, message.from_fingerprint, message.to_fingerprint, _mapping(message, faults), _accepted(message, faults)
    )
    asked = wire.MigrateWorkflowsRequest()
    asked.CopyFrom(message)
    asked.filter.SetInParent()  # absent: all open workflows of `from_fingerprint`
    operation = resource_pb2.BatchOperation()
    operation.migrate.from_fingerprint, operation.migrate.to_fingerprint = message.from_fingerprint, message.to_fingerprint
    work = background(asked, caller, ("migrate", packed(arguments)), operation, faults)
    faults.check()
    selection = work.plan.selection
    states = tuple(state for state in OPEN if not selection.query.states or state in selection.query.states)
    query = replace(selection.query, workflow_types=(message.workflow_type,), states=states)
    if not states or (selection.fingerprints and message.from_fingerprint not in selection.fingerprints):
        query = replace(query, states=OPEN, business_keys=("",))  # such a filter matches nothing
    selection = replace(selection, query=query, fingerprints=(message.from_fingerprint,))
    return replace(work, plan=replace(work.plan, selection=selection)), arguments


def _mapping(message: wire.MigrateWorkflowsRequest, faults: Faults) -> tuple[tuple[str, str], ...]:
    if len(message.step_mapping) > limits.STEPS:
        faults.add("step_mapping", f"has more than {limits.STEPS} entries")
    for index, entry in enumerate(message.step_mapping[: limits.STEPS]):
        values.name(entry.from_step, f"step_mapping[{index}].from_step", STEP_NAME, faults)
        if entry.to_step:
            values.name(entry.to_step, f"step_mapping[{index}].to_step", STEP_NAME, faults)
    return tuple((entry.from_step, entry.to_step) for entry in message.step_mapping[: limits.STEPS])


def _accepted(message: wire.MigrateWorkflowsRequest, faults: Faults) -> tuple[int, ...]:
    known = {int(loss) for loss in Loss}
    if not known.issuperset(message.accepted_losses):
        faults.add("accepted_losses", "names a loss that is not known")
    if wire.MIGRATION_LOSS_OPEN_CHILDREN in message.accepted_losses:
        faults.add("accepted_losses", "open children cannot be lost: nobody would be left to close them")
    return tuple(sorted({int(loss) for loss in message.accepted_losses}))
