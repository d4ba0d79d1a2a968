"""Runs the activities of one worker, on the loop that the worker was opened on."""

import asyncio
import contextvars
import functools
import logging
from typing import Any

from perdure.calls import Calls
from perdure.v1 import worker_service_pb2
from perdure.worker import results
from perdure.worker.activity import Activity, perform
from perdure.worker.claims import Held
from perdure.worker.inputs import prepare
from perdure.worker.plan import Lane, WorkerPlan, lane_of
from perdure.worker.processes import Processes
from perdure.worker.session import Session
from perdure.worker.subject import about
from perdure.worker.threads import Threads

_log = logging.getLogger("perdure.worker")


class ActivityRunner:
    """Begins, cancels and counts activities. Everything runs on one loop."""

    def __init__(self, plan: WorkerPlan, calls: Calls, session: Session) -> None:
        self._plan = plan
        self._calls = calls
        self._session = session
        self._activities: dict[str, Activity] = {}
        self._threads = Threads()
        self._processes = Processes()
        self._loop = asyncio.get_running_loop()
        # Context variables as they are where the worker is opened, for every activity a copy.
        self._context = contextvars.copy_context()
        self._idle = asyncio.Event()
        self._idle.set()

    def __len__(self) -> int:
        return len(self._activities)

    def begin(self, held: Held) -> None:
        """Runs the claim's activity in a task of its own."""
        claim = held.claim
        step = self._plan.activities[claim.workflow.workflow_type, claim.step]
        activity = Activity(held, step, self._session.ledger, self._session.mailbox, self._calls.config.codec)
        self._activities[held.token] = activity
        self._idle.clear()
        activity.task = self._loop.create_task(
            perform(activity, self._calls, self._invoke), name=f"perdure {claim.step}", context=self._context.copy()
        )
        activity.task.add_done_callback(functools.partial(self._ended, activity))

    def cancel(self, token: str, reason: str) -> None:
        """Asks an activity to stop; its result counts."""
        activity = self._activities.get(token)
        if activity is not None:
            activity.cancel(reason)

    def lose(self, token: str, cause: str) -> None:
        """Stops an activity whose result does not count any more."""
        activity = self._activities.get(token)
        if activity is not None:
            claim = activity.held.claim
            _log.warning("the claim of %s is lost (%s): it is stopped", activity.held, cause, extra=about(claim))
            activity.lose(cause)

    async def wait_idle(self) -> None:
        """Until no activity runs."""
        await self._idle.wait()

    def release_all(self) -> None:
        """Stops all activities; those that stop for it give their claims back."""
        for activity in self._activities.values():
            if not activity.cancel_reason():
                activity.is_draining = True
                activity.cancel("DRAINING")

    def abandon_all(self) -> None:
        """Gives the claims of activities that do not stop back, and goes on without them."""
        for activity in list(self._activities.values()):
            claim = activity.held.claim
            _log.error("%s does not stop; its claim is given back while it still runs", activity.held, extra=about(claim))
            activity.abandon()

    def give_up(self) -> None:
        """Even an abandon was ignored: the claims are given back all the same."""
        for activity in self._activities.values():
            self._session.mailbox.put(self._session.ledger.finished, activity.held, results.released())

    def close(self) -> None:
        """Ends idle threads and processes."""
        self._threads.close()
        self._processes.close()

    async def _invoke(self, activity: Activity) -> Any:
        step = activity.step
        lane = lane_of(step)
        if lane is Lane.PROCESS:
            return await self._threads.submit(functools.partial(self._processes.run, activity))
        context, inputs = prepare(activity.held.claim, step, activity)
        if lane is Lane.LOOP:
            return await step.function(context, **inputs)
        # In a copy of the activity's context variables, so that spans and loggers find what they look for.
        call = functools.partial(contextvars.copy_context().run, functools.partial(step.function, context, **inputs))
        return await self._threads.submit(call)

    def _ended(self, activity: Activity, task: "asyncio.Task[worker_service_pb2.Result | None]") -> None:
        self._activities.pop(activity.held.token, None)
        if not self._activities:
            self._idle.set()
        if task.cancelled():
            # Before its first line, or by a shutdown of the loop.
            result = activity.outcome_of_cancel() if activity.cancels else results.released()
        else:
            error = task.exception()
            result = results.of_exception(error) if error is not None else task.result()
        self._session.mailbox.put(self._session.ledger.finished, activity.held, result)
