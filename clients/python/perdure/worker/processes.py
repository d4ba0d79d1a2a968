"""Spawned processes for `process=True` activities: never forked, because gRPC's threads do not survive a fork (case C64).

One process runs one activity at a time and is kept for the next. If it dies, only its own attempt fails; if its claim is
lost, it is killed. This side runs on a thread of the activity's own.
"""

import asyncio
import multiprocessing
import threading
from typing import Any, Final

from perdure import limits
from perdure.errors import PerdureError
from perdure.failure import Failure
from perdure.steps import Step
from perdure.v1 import claim_pb2, payload_pb2, worker_service_pb2
from perdure.worker import child
from perdure.worker.activity import Activity

PROCESS_DIED: Final = "perdure.process_died"
"""Failure type of an attempt whose process ended without an answer."""


class ActivityProcess:
    """One spawned process, and the activity that it runs."""

    def __init__(self) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._pipe, far = spawn.Pipe()
        self._process = spawn.Process(target=child.main, args=(far,), daemon=True, name="perdure-activity")
        self._process.start()
        far.close()

    def run(self, activity: Activity) -> worker_service_pb2.Result:
        """Runs one activity. Raises CancelledError, Failure."""
        self._pipe.send(_job(activity.step, activity.held.claim))
        told = False
        while True:
            if activity.is_lost:
                raise asyncio.CancelledError(activity.cancel_reason())
            if activity.cancel_reason() and not told:
                told = True
                self._pipe.send(child.Cancel(activity.cancel_reason()))
            if not self._pipe.poll(limits.PROCESS_POLL):
                continue
            message = self._pipe.recv()
            if isinstance(message, child.Outcome):
                if message.result is None:
                    raise asyncio.CancelledError(activity.cancel_reason())
                return worker_service_pb2.Result.FromString(message.result)
            self._serve(activity, message)

    def kill(self) -> None:
        """Ends the process at once."""
        self._process.kill()
        self._process.join(limits.UNWIND_TIMEOUT)
        self._pipe.close()

    @property
    def exit_code(self) -> int | None:
        """How it ended; None while it runs."""
        self._process.join(limits.UNWIND_TIMEOUT)
        return self._process.exitcode

    def _serve(self, activity: Activity, message: child.Save | child.Progress) -> None:
        if isinstance(message, child.Progress):
            if message.kind is None:
                activity.alive()
            else:
                activity.frame(message.kind, payload_pb2.Payload.FromString(message.payload))
            return
        try:
            activity.save_blocking(payload_pb2.Payload.FromString(message.payload))
        except PerdureError as error:
            self._pipe.send(child.Saved(error))
        else:
            self._pipe.send(child.Saved(None))


class Processes:
    """As many processes as activities run at once; the pools' slots bound them."""

    def __init__(self) -> None:
        self._idle: list[ActivityProcess] = []
        self._busy: set[ActivityProcess] = set()
        self._lock = threading.Lock()
        self._closed = False

    def run(self, activity: Activity) -> worker_service_pb2.Result:
        """Runs an activity in an idle process, or a new one; blocks its thread. Raises CancelledError, Failure."""
        with self._lock:
            process = self._idle.pop() if self._idle else None
        process = process or ActivityProcess()
        with self._lock:
            self._busy.add(process)
        keep = False
        try:
            result = process.run(activity)
            keep = True
            return result
        except (EOFError, OSError) as error:
            raise Failure(PROCESS_DIED, f"the activity's process ended with code {process.exit_code}") from error
        finally:
            self._put_back(process, keep)

    def close(self) -> None:
        """Ends all processes."""
        with self._lock:
            self._closed = True
            ending = [*self._idle, *self._busy]
            self._idle.clear()
        for process in ending:
            process.kill()

    def _put_back(self, process: ActivityProcess, keep: bool) -> None:
        with self._lock:
            self._busy.discard(process)
            if keep and not self._closed:
                self._idle.append(process)
                return
        process.kill()


def _job(step: Step[Any, Any], claim: claim_pb2.Claim) -> child.Job:
    told = claim_pb2.Claim()
    told.CopyFrom(claim)
    told.ClearField("claim_token")
    return child.Job(step.function.__module__, step.function.__qualname__, told.SerializeToString())
