"""What only a test server has: a clock that can be moved, workers that follow scripts, and a look at whether anything still moves."""

from typing import TYPE_CHECKING

from perdure_server.engine.idleness import Idleness
from perdure_server.engine.scripted_worker import ScriptedWorkers
from perdure_server.engine.shifted_clock import ShiftedClock
from perdure_server.engine.time_travel import TimeTravel

if TYPE_CHECKING:
    from perdure_server.engine.service import Engine


class Rehearsal:
    """Made by main for `perdure dev --test`, around the engine that serves."""

    def __init__(self, engine: "Engine", clock: ShiftedClock) -> None:
        self.clock = clock
        self.scripts = ScriptedWorkers(engine)
        self.idleness = Idleness(engine, self.scripts)
        self.time = TimeTravel(engine, clock, self.idleness, self.scripts)
