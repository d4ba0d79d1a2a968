"""Workers whose steps play a behaviour."""

import asyncio
import inspect
import logging
from collections.abc import Mapping
from typing import Any, Final

from conformance.activities import Player
from conformance.lines import Line, duration, present, write
from perdure import Client, Context, Definition, Failure, Payload, PerdureError, Step, StepPolicy, Worker
from perdure.definition_file import parse_definition
from perdure.steps import BaseStep
from perdure.v1 import definition_pb2

INPUT: Final = Payload | Failure | None
SLOTS: Final = 100


class FileDefinition(Definition):
    """A definition from a file's text, whose activities all play the same behaviour."""

    def __init__(self, text: str, player: Player) -> None:
        message = parse_definition(text)
        super().__init__(message.workflow_type, version=message.version)
        self._message = message
        self._steps = {step.name: _step(step, player) for step in message.steps if _is_served(step)}

    def to_message(self) -> definition_pb2.Definition:
        """As the file says."""
        return self._message


class Serving:
    """One worker, open until it is told to stop."""

    def __init__(self, client: Client, fields: Line) -> None:
        self.player = Player(fields["worker"], fields["behaviour"])
        definitions = [FileDefinition(text, self.player) for text in fields["definitions"]]
        self.types = {definition.workflow_type for definition in definitions}
        self.name = fields["worker"]
        options: Mapping[str, Any] = present(
            slots=fields.get("slots", SLOTS),
            steps=fields.get("steps"),
            worker_id=fields.get("worker_id"),
            lease=duration(fields, "lease_ms"),
            grace=duration(fields, "grace_ms"),
            register=fields.get("register"),
        )
        self._worker = client.worker(*definitions, handle_signals=False, **options)
        self._opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[None] | None = None
        self._leaving = False

    async def open(self) -> None:
        """Returns once the server has let it in. Raises PerdureError."""
        self._task = asyncio.create_task(self._serve(self._worker))
        await self._opened

    def drain(self) -> None:
        """Begins to stop, once."""
        if not self._leaving:
            self._leaving = True
            self._worker.stop()

    async def stop(self, *, hurry: bool) -> None:
        """Returns when it has stopped; `hurry` ends its grace."""
        self.drain()
        if self._task is None:
            return
        if hurry:
            self._worker.stop()
        await asyncio.wait([self._task])

    async def _serve(self, worker: Worker) -> None:
        try:
            async with worker:
                self._opened.set_result(None)
                await asyncio.get_running_loop().create_future()
        except PerdureError as error:
            if self._opened.done():
                raise
            self._opened.set_exception(error)


class PoolEvents(logging.Handler):
    """Turns what the library's log says of pools into events."""

    def __init__(self, workers: Mapping[str, Serving]) -> None:
        super().__init__(logging.WARNING)
        self._workers = workers

    def emit(self, record: logging.LogRecord) -> None:
        """Called on the session's thread."""
        error = record.args[-1] if isinstance(record.args, tuple) and record.args else None
        if not isinstance(error, PerdureError) or "is not served" not in record.msg or not isinstance(record.args, tuple):
            return
        served = str(record.args[0]).split("/")[0].split("@")[0].split(".")[0]
        for worker in list(self._workers.values()):
            if served in worker.types:
                write({"event": "pool", "worker": worker.name, "reason": str(error.reason), "text": record.getMessage()})


def _is_served(step: definition_pb2.StepDefinition) -> bool:
    return step.WhichOneof("kind") == "activity" or (step.WhichOneof("kind") == "map" and step.map.HasField("paged"))


def _step(step: definition_pb2.StepDefinition, player: Player) -> Step[..., Any]:
    needs = list(step.needs.names) if step.HasField("needs") else [*step.depends_on] or ["input"]

    async def handler(context: Context[Payload], **inputs: object) -> object:
        return await player.play(context, inputs)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter("context", kind), *(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in needs)]
    handler.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what inspect.signature looks at first
    handler.__annotations__ = {"context": Context[Payload], **dict.fromkeys(needs, INPUT), "return": Any}
    base = BaseStep(step.name, after=(), needs=tuple(needs), version=step.version, description="")
    policy = StepPolicy(queue=step.policy.queue)
    return Step(handler, base, policy)
