"""Runs one activity by itself: no server, no worker, and everything that it did is recorded."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar, overload

from perdure import payloads
from perdure.context import Context
from perdure.testing.context import fake_context
from perdure.v1 import wait_pb2

P = ParamSpec("P")
R = TypeVar("R")


def wake(condition: str, payload: object = None, *, signal: str = "", signal_id: str = "") -> wait_pb2.Wake:
    """What ended the step's last wait, for `ActivityEnvironment(wakes=[...])`; without `signal` and `payload` a timer did."""
    made = wait_pb2.Wake(condition=condition)
    encoded = payloads.encode(payload)
    if signal or encoded is not None:
        made.signal_name, made.signal_id = signal or condition, signal_id or "signal-1"
    if encoded is not None:
        made.payload.CopyFrom(encoded)
    return made


class ActivityEnvironment:
    """One claim of one step, made up; `run` runs its activity, several times if need be, as attempts of one claim.

    env = ActivityEnvironment(checkpoint="task-7", wakes=[wake("asr.done")])
    assert await env.run(transcribe, Audio("s3://a.mp3")) == "some text"
    assert env.frames == ["half of it"]
    """

    def __init__(
        self,
        *,
        checkpoint: object = None,
        wakes: Sequence[wait_pb2.Wake] = (),
        business_key: str = "key-1",
        attempt: int = 1,
        fence: int = 1,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        self.context = fake_context(
            checkpoint=checkpoint, wakes=wakes, business_key=business_key, attempt=attempt, fence=fence, labels=labels
        )
        """What the activity gets."""
        self.results: list[Any] = []
        """What the activity returned, run by run: outputs, and a Wait where it waits."""
        self._running: set[asyncio.Task[Any]] = set()

    @property
    def checkpoint(self) -> Any:
        """The last checkpoint: saved by the activity, or given. None: none."""
        return self.context.checkpoint

    @property
    def checkpoints(self) -> list[Any]:
        """What the activity saved, oldest first."""
        return self.context.recorded.checkpoints

    @property
    def frames(self) -> list[Any]:
        """Texts, progress and log lines that it sent, oldest first."""
        return self.context.recorded.frames

    @property
    def signs_of_life(self) -> int:
        """How often it called `ctx.alive()`."""
        return self.context.recorded.signs_of_life

    def cancel(self, reason: str = "WORKFLOW_CANCELLED") -> None:
        """Asks the activity to stop: an `async def` gets asyncio.CancelledError, a `def` finds it in `ctx.cancelled`."""
        self.context.recorded.cancel_reason = reason
        for task in self._running:
            task.cancel(reason)

    def fail_next_save(self, error: Exception) -> None:
        """The next `ctx.save` raises this, such as ClaimLost."""
        self.context.recorded.save_error = error

    @overload
    async def run(self, activity: Callable[Concatenate[Context[Any], P], Awaitable[R]], *args: P.args, **kwargs: P.kwargs) -> R: ...
    @overload
    async def run(self, activity: Callable[Concatenate[Context[Any], P], R], *args: P.args, **kwargs: P.kwargs) -> R: ...
    async def run(self, activity: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Runs an activity (a step, or its function), a `def` in a thread; gives what it returns, a Wait too, and raises what it raises."""
        function = getattr(activity, "function", activity)
        if not inspect.iscoroutinefunction(function):
            return self._returned(await asyncio.to_thread(function, self.context, *args, **kwargs))
        task = asyncio.get_running_loop().create_task(function(self.context, *args, **kwargs))
        self._running.add(task)
        try:
            return self._returned(await task)
        finally:
            self._running.discard(task)

    def _returned(self, result: Any) -> Any:
        self.results.append(result)
        return result
