"""The definitions that a worker brings along in its hello: checked for the contracts in them, and registered if it asks."""

from collections.abc import Sequence

from perdure.v1 import claim_pb2, worker_service_pb2
from perdure_server.engine.service import Engine
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.rejection import FieldViolation
from perdure_server.rpc.decode.definitions import offered, with_wire_paths
from perdure_server.rpc.doors.identity import refusal_of
from perdure_server.rpc.doors.permissions import Permission
from perdure_server.rpc.encode import workers as encode
from perdure_server.rpc.errors import CallRefused, to_status

Offers = Sequence[claim_pb2.OfferedDefinition]
Checked = Sequence[Definition | FieldViolation]


async def check(engine: Engine, messages: Offers, namespace: str) -> list[Definition | FieldViolation]:
    """Each definition with its contracts, or its faults. Stores nothing. Raises StoreUnavailable."""
    found: list[Definition | FieldViolation] = []
    for definition in offered(messages, namespace):
        await engine.clock.sleep(0)  # a large one takes a while: others get their turn in between
        if isinstance(definition, FieldViolation):
            found.append(definition)
            continue
        try:
            prepared, _ = await engine.register(definition, activate=False, only_if_none=True, validate_only=True)
        except FieldViolation as error:
            found.append(with_wire_paths(error))
        else:
            found.append(prepared)
    return found


async def register(
    engine: Engine, messages: Offers, checked: Sequence[Definition | FieldViolation], target: worker_service_pb2.Welcome
) -> None:
    """Register those that ask for it, and tell what became of each. Raises StoreUnavailable.

    Activates only where the type has no active definition, or on `perdure dev`.
    """
    only_if_none = not engine.settings.register_from_hello
    refusal = _refusal(checked)
    for index, (message, definition) in enumerate(zip(messages, checked, strict=True)):
        await engine.clock.sleep(0)
        status = target.definitions.add()
        if isinstance(definition, FieldViolation):
            encode.offered(status, index, definition)
            continue
        wanted = message.register and refusal is None
        stored, active = await engine.register(definition, activate=wanted, only_if_none=only_if_none, validate_only=not wanted)
        is_active = active is not None and active.fingerprint == stored.fingerprint
        encode.offered(status, index, (stored, is_active))
        if message.register and refusal is not None and not is_active:
            status.status.CopyFrom(to_status(refusal))


def _refusal(checked: Sequence[Definition | FieldViolation]) -> CallRefused | None:
    """Why this caller may not register them; its pools are served all the same, by the contracts in them."""
    namespaces = {definition.namespace for definition in checked if isinstance(definition, Definition)}
    return next((refused for name in namespaces if (refused := refusal_of(Permission.WRITE_DEFINITIONS, name, "RegisterDefinition"))), None)
