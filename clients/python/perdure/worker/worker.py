"""The worker as users see it: an `async with` block in which activities run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Self

from perdure.calls import Calls
from perdure.definition import Definition
from perdure.steps import StepName


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """What `client.worker` was given."""

    slots: Mapping[str, int] | int | None
    steps: Iterable[StepName] | None
    worker_id: str
    lease: timedelta | None
    grace: timedelta
    register: bool
    handle_signals: bool
    labels: Mapping[str, str]


class Worker:
    """Runs activities while its `async with` block is open; made by `client.worker`."""

    def __init__(self, calls: Calls, definitions: Sequence[Definition], options: WorkerOptions) -> None:
        self._calls = calls
        self._definitions = definitions
        self._options = options

    async def __aenter__(self) -> Self:
        raise NotImplementedError

    async def __aexit__(self, *_: object) -> None:
        raise NotImplementedError

    async def run(self) -> None:
        """Works until SIGTERM or SIGINT, or until it is cancelled, then stops in order."""
        raise NotImplementedError
