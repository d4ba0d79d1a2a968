"""One activity: from its claim to its result. Lives on the worker's loop."""

import asyncio
import concurrent.futures
import contextlib
import functools
import logging
import time
import traceback
from collections.abc import Awaitable, Callable
from typing import Any, Final

from perdure import limits, payloads, tracing
from perdure.calls import Calls
from perdure.codec import Codec
from perdure.context import FrameKind
from perdure.errors import ClaimLost, PayloadUndecodable, PerdureError
from perdure.sealing import seal, seal_apart, unseal_apart
from perdure.statuses import claim_lost
from perdure.steps import Step
from perdure.v1 import claim_pb2, payload_pb2, worker_service_pb2, workflow_service_pb2
from perdure.worker import results
from perdure.worker.claims import Held, Reply
from perdure.worker.inputs import fetch_refs
from perdure.worker.ledger import Ledger
from perdure.worker.mailbox import Mailbox
from perdure.worker.subject import about

_log = logging.getLogger("perdure.worker")

_STOPS: Final = {"CLOSED": "TERMINATED", "TIMED_OUT": "TIMED_OUT", "CANCELLED": "WORKFLOW_CANCELLED"}
"""`ctx.cancel_reason` by the cause of a loss. Any other claim that is lost goes on in another worker, or a later attempt: CLAIM_LOST."""


class Activity:
    """Runs the function of one claim's step, and is its way to the server."""

    def __init__(self, held: Held, step: Step[..., Any], ledger: Ledger, to_session: Mailbox, codec: Codec | None = None) -> None:
        self.held = held
        self.step = step
        self.task: asyncio.Task[worker_service_pb2.Result | None] | None = None
        self.is_lost = False
        self.is_draining = False
        self.is_abandoned = False
        self.cancels = 0
        self._reason = ""
        self._ledger = ledger
        self._to_session = to_session
        self._codec = codec
        self._saves: set[asyncio.Future[None] | concurrent.futures.Future[None]] = set()

    # ---- what the context asks for, from any thread

    async def save(self, payload: payload_pb2.Payload) -> None:
        """Stores a checkpoint; returns when it is stored. Raises ClaimLost."""
        await seal_apart(payload, self._codec)
        loop = asyncio.get_running_loop()
        stored: asyncio.Future[None] = loop.create_future()

        def reply(error: PerdureError | None) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(_end, stored, error)

        self._saves.add(stored)
        try:
            self._post_save(payload, reply)
            await stored
        finally:
            self._saves.discard(stored)

    def save_blocking(self, payload: payload_pb2.Payload) -> None:
        """Stores a checkpoint; returns when it is stored. Raises ClaimLost."""
        if self._codec is not None:
            seal(payload, self._codec)
        stored: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._saves.add(stored)
        try:
            self._post_save(payload, functools.partial(_end, stored))
            stored.result()
        finally:
            self._saves.discard(stored)

    def frame(self, kind: FrameKind, payload: payload_pb2.Payload) -> None:
        """Sends progress, without waiting. Raises ValueError for more than 64 KiB."""
        if self._codec is not None:
            seal(payload, self._codec)
        size = payloads.size(payload)
        if size > limits.FRAME_BYTES:
            raise ValueError(f"a frame has at most {limits.FRAME_BYTES} bytes; this one has {size}")
        self._to_session.put(self._ledger.frame, self.held, kind, payload)

    def alive(self) -> None:
        """Notes a sign of life; the next renewal tells it."""
        self.held.alive_at = time.monotonic()

    def cancel_reason(self) -> str:
        """Why the activity should stop; empty: it should not."""
        return self._reason

    # ---- what the worker asks for

    def cancel(self, reason: str) -> None:
        """Asks the activity to stop. Threads and processes look for themselves."""
        if self._reason:
            return
        self._reason = reason
        self._cancel_task(reason)

    def lose(self, cause: str) -> None:
        """Stops the activity; its result does not count any more. A checkpoint on its way raises ClaimLost, and then all the rest ends."""
        self._reason = _STOPS.get(cause, "CLAIM_LOST") if cause != "CANCELLED" or not self._reason else self._reason
        self.is_lost = True
        self._end_saves(cause)
        # Behind the wake-up of a save, so that it is the one to say what happened.
        asyncio.get_running_loop().call_soon(self._cancel_task, self._reason)

    def _cancel_task(self, reason: str) -> None:
        if self.task is not None and self.step.is_async:
            self.cancels += 1
            self.task.cancel(reason)

    def abandon(self) -> None:
        """Goes on without the activity, which does not stop. A checkpoint on its way raises ClaimLost: nobody would answer its thread."""
        self.is_draining = self.is_abandoned = True
        self._end_saves("UNKNOWN")
        if self.task is not None:
            self.cancels += 1
            self.task.cancel("ABANDONED")

    def outcome_of_cancel(self) -> worker_service_pb2.Result | None:
        """What an activity that was cancelled reports."""
        if self.is_lost:
            return None
        if self.is_draining:
            return results.released()
        if self._reason:
            return results.cancelled()
        return results.of_exception(asyncio.CancelledError())

    def _end_saves(self, cause: str) -> None:
        for stored in list(self._saves):
            _end(stored, claim_lost(cause))

    def _post_save(self, payload: payload_pb2.Payload, reply: Reply) -> None:
        if self.is_lost or self.is_abandoned or not self._to_session.put(self._ledger.save, self.held, payload, reply):
            raise claim_lost("UNKNOWN")


def _end(stored: "asyncio.Future[None] | concurrent.futures.Future[None]", error: PerdureError | None) -> None:
    # The first answer counts; those for a thread come from two others.
    with contextlib.suppress(asyncio.InvalidStateError, concurrent.futures.InvalidStateError):
        if error is None:
            stored.set_result(None)
        else:
            stored.set_exception(error)


Invoke = Callable[[Activity], Awaitable[Any]]


async def perform(activity: Activity, calls: Calls, invoke: Invoke) -> worker_service_pb2.Result | None:
    """Runs the function and makes the result. None: nothing is to be reported."""
    claim = activity.held.claim
    try:
        await fetch_refs(claim, lambda payload: _fetch(claim.claim_token, payload, calls))
        await unseal_apart(claim, calls.config.codec)
        with tracing.activity_span(claim):
            value = await invoke(activity)
        if activity.is_lost:
            return None
        result = results.of_value(value)
        await seal_apart(result, calls.config.codec)
        return result
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling() > activity.cancels:
            raise  # somebody else's: the loop is being shut down
        return activity.outcome_of_cancel()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 -- whatever an activity raises is its outcome, SystemExit too
        _log_failure(claim, error, calls.config.codec)
        return None if activity.is_lost else results.of_exception(error)


def _log_failure(claim: claim_pb2.Claim, error: BaseException, codec: Codec | None) -> None:
    if isinstance(error, ClaimLost):
        return  # its save was refused: no fault of the activity, and the loss has a line of its own
    place = (claim.step, claim.workflow.business_key, claim.attempt)
    if codec is None:
        _log.warning("%s of %s, attempt %d, raised:", *place, exc_info=error, extra=about(claim))
        return
    if isinstance(error, PayloadUndecodable):
        _log.warning("%s of %s, attempt %d, cannot read its values: %s", *place, error, extra=about(claim))  # it holds nothing of them
        return
    # The text of an exception may hold values; it travels encrypted in the failure.
    trace = traceback.extract_tb(error.__traceback__)
    where = f"{trace[-1].filename}:{trace[-1].lineno}" if trace else "an unknown place"
    _log.warning("%s of %s, attempt %d, raised %s at %s", *place, type(error).__qualname__, where, extra=about(claim))


async def _fetch(token: str, payload: payload_pb2.Payload, calls: Calls) -> None:
    request = workflow_service_pb2.FetchPayloadRequest(claim_token=token, payload_id=payload.ref.payload_id)
    payload.CopyFrom((await calls.unary(calls.workflows.FetchPayload, request)).payload)
