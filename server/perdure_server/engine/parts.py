"""What every part of the engine stands on."""

from dataclasses import dataclass

from perdure_server.engine.entropy import Entropy
from perdure_server.engine.settings import EngineSettings
from perdure_server.engine.tasks import Supervisor
from perdure_server.ports.clock import Clock
from perdure_server.ports.coordination import Coordination
from perdure_server.ports.store import Store
from perdure_server.ports.telemetry import Telemetry


@dataclass(frozen=True)
class Parts:
    """The ports, the settings, and the supervisor of all tasks."""

    store: Store
    coordination: Coordination
    telemetry: Telemetry
    clock: Clock
    settings: EngineSettings
    entropy: Entropy
    supervisor: Supervisor
