"""The far side of a `process=True` activity: what runs in the spawned process."""

import asyncio
import importlib
import os
import signal
import threading
from dataclasses import dataclass
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any, TypeAlias, cast

from perdure.context import FrameKind
from perdure.errors import PerdureError
from perdure.steps import Step
from perdure.v1 import claim_pb2, payload_pb2, worker_service_pb2
from perdure.worker import results
from perdure.worker.inputs import prepare


@dataclass(frozen=True, slots=True)
class Job:
    """To the child: run this step for this claim, whose token it never sees."""

    module: str
    name: str
    claim: bytes


@dataclass(frozen=True, slots=True)
class Cancel:
    """To the child: the activity should stop."""

    reason: str


@dataclass(frozen=True, slots=True)
class Saved:
    """To the child: the checkpoint is stored, or why not."""

    error: PerdureError | None


@dataclass(frozen=True, slots=True)
class Save:
    """To the parent: store this checkpoint and answer."""

    payload: bytes


@dataclass(frozen=True, slots=True)
class Progress:
    """To the parent: a frame, or with `kind` None just a sign of life."""

    kind: "FrameKind | None"
    payload: bytes = b""


@dataclass(frozen=True, slots=True)
class Outcome:
    """To the parent: the result; None: the activity stopped because it was asked to."""

    result: bytes | None


Pipe: TypeAlias = "Connection[Any, Any]"


def main(pipe: Pipe) -> None:
    """Runs jobs until the parent is gone. The parent alone decides when this process ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    link = ChildLink(pipe)
    threading.Thread(target=link.listen, name="perdure-pipe", daemon=True).start()
    while True:
        link.send(Outcome(_run(link.jobs.get(), link)))


class ChildLink:
    """The way from the activity to its worker, through the pipe."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self._sending = threading.Lock()
        self._saving = threading.Lock()
        self._answers: SimpleQueue[Saved] = SimpleQueue()
        self._reason = ""
        self.jobs: SimpleQueue[Job] = SimpleQueue()

    def listen(self) -> None:
        """Takes what the parent says; without a parent the process ends at once."""
        while True:
            try:
                message = self._pipe.recv()
            except (EOFError, OSError):
                os._exit(1)
            match message:
                case Job():
                    self._reason = ""
                    self.jobs.put(message)
                case Cancel():
                    self._reason = message.reason
                case Saved():
                    self._answers.put(message)
                case _:
                    raise TypeError(f"the parent said {message!r}")

    def send(self, message: Save | Progress | Outcome) -> None:
        """Says something to the parent; from any thread."""
        with self._sending:
            self._pipe.send(message)

    async def save(self, payload: payload_pb2.Payload) -> None:
        """Never called: activities in processes are plain functions."""
        await asyncio.to_thread(self.save_blocking, payload)

    def save_blocking(self, payload: payload_pb2.Payload) -> None:
        """Stores a checkpoint; returns when it is stored. Raises ClaimLost."""
        with self._saving:
            self.send(Save(payload.SerializeToString()))
            answer = self._answers.get()
        if answer.error is not None:
            raise answer.error

    def frame(self, kind: FrameKind, payload: payload_pb2.Payload) -> None:
        """Sends progress, without waiting."""
        self.send(Progress(kind, payload.SerializeToString()))

    def alive(self) -> None:
        """Notes a sign of life."""
        self.send(Progress(None))

    def cancel_reason(self) -> str:
        """Why the activity should stop; empty: it should not."""
        return self._reason


def _run(job: Job, link: ChildLink) -> bytes | None:
    try:
        step = _step(job)
        context, inputs = prepare(claim_pb2.Claim.FromString(job.claim), step, link)
        return results.of_value(step.function(context, **inputs)).SerializeToString()
    except asyncio.CancelledError:
        return None if link.cancel_reason() else _failed(asyncio.CancelledError())
    except BaseException as error:  # noqa: BLE001 -- whatever an activity raises is its outcome, SystemExit too
        return _failed(error)


def _step(job: Job) -> Step[..., Any]:
    found = getattr(importlib.import_module(job.module), job.name)
    if not isinstance(found, Step):
        raise TypeError(f"{job.module}.{job.name} is no step: a `process=True` step must be a name of its module")
    return cast("Step[..., Any]", found)


def _failed(error: BaseException) -> bytes:
    result: worker_service_pb2.Result = results.of_exception(error)
    return result.SerializeToString()
