"""For tests of programs that use Perdure: a server whose clock the test moves, scripts instead of workers, and activities by themselves."""

from perdure.testing.activity import ActivityEnvironment, wake
from perdure.testing.context import FakeContext, Recorded, fake_context
from perdure.testing.scripts import Scripted, completes, fails, loses_worker, never_ends, waits
from perdure.testing.server import Advanced, Idle, StillMoving, Stuck, TestServer, start_server

__all__ = [
    "ActivityEnvironment",
    "Advanced",
    "FakeContext",
    "Idle",
    "Recorded",
    "Scripted",
    "StillMoving",
    "Stuck",
    "TestServer",
    "completes",
    "fails",
    "fake_context",
    "loses_worker",
    "never_ends",
    "start_server",
    "waits",
    "wake",
]
