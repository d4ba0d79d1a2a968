"""What starts workflows without a call, and the namespaces that complete every start."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from perdure_server.engine.namespaces import Namespaces
from perdure_server.engine.outbox import Relay
from perdure_server.engine.parts import Parts
from perdure_server.engine.quotas import Quotas
from perdure_server.engine.schedules import Schedules
from perdure_server.ports.outbox import Outbox

if TYPE_CHECKING:
    from perdure_server.engine.service import Engine


class Starters:
    """Schedules, outboxes, namespaces."""

    def __init__(self, engine: "Engine", parts: Parts, outboxes: Sequence[Outbox]) -> None:
        self.namespaces = Namespaces(parts)
        self.quotas = Quotas(parts, self.namespaces)
        engine.polls.admit = self.quotas.admit_session
        engine.operations.transfer.admit = self.quotas.bytes.admit_import
        engine.retention.kept_for = self.namespaces.tombstone_retention
        engine.children.completed = self.namespaces.completed
        self.schedules = Schedules(engine)
        self._relay = Relay(engine, outboxes, parts.telemetry)

    def loops(self) -> dict[str, Callable[[], Awaitable[None]]]:
        """The background loops, by name."""
        return {
            "schedules": self.schedules.due_step,
            "namespaces": self.namespaces.refresh_step,
            "quotas": self.quotas.step,
            **self._relay.loops(),
        }
