"""What a signal would do, with nothing stored."""

from typing import TYPE_CHECKING

from msgspec.structs import replace

from perdure_server.engine.commands import OtherRun, SignalCommand
from perdure_server.engine.values import Ref, Signalled
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.tokens import decode_wake_token
from perdure_server.kernel.workflow import Signal

if TYPE_CHECKING:
    from perdure_server.engine.service import Engine


async def check_signal(engine: "Engine", target: Ref | str, signal: Signal) -> Signalled:
    """The answer that this signal would get now. A str target is a wake token. Raises Rejection, StoreUnavailable."""
    address = target if isinstance(target, Ref) else decode_wake_token(target)
    workflow_id = address.key.workflow_id if isinstance(address, Ref) else address.workflow_id
    command = SignalCommand(replace(signal, time=engine.clock.now()), address)
    try:
        return await _answer(engine, workflow_id, command)
    except OtherRun as error:
        if error.archived_id is None:
            raise
        try:
            return await _answer(engine, error.archived_id, command)
        except Rejection as refusal:
            gone = refusal.reason in (Reason.WORKFLOW_NOT_FOUND, Reason.WORKFLOW_CLOSED)
            raise (error if gone else refusal) from None


async def _answer(engine: "Engine", workflow_id: bytes, command: SignalCommand) -> Signalled:
    workflow = await engine.queries.load(workflow_id, None)
    draft = Draft(await engine.catalog.of(workflow), workflow, engine.clock.now())
    duplicate, consumed = command.receive(draft)
    return Signalled(workflow, duplicate=duplicate, consumed=consumed)
