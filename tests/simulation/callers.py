"""Callers of the API: each means well, hears late or nothing, and repeats itself."""

import asyncio
import random
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from perdure_server.engine.people import Conditions
from perdure_server.engine.service import Engine
from perdure_server.engine.values import Ref
from perdure_server.kernel.canonical import payload_digest
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.outcomes import Completed, Failed
from perdure_server.kernel.rejection import FieldViolation, Reason, Rejection
from perdure_server.kernel.resolving import PassedOver, Resolution, Retried
from perdure_server.kernel.start import OnClosed, OnOpen, Start
from perdure_server.kernel.tokens import wake_token
from perdure_server.kernel.values import Failure, Trace
from perdure_server.kernel.workflow import Paused, Signal, StepState, Workflow, WorkflowKey
from perdure_server.ports.errors import DocumentTooLarge, StoreUnavailable
from tests.engine.virtual_loop import pause
from tests.kernel.harness import payload
from tests.simulation.fleet import Gone
from tests.simulation.plans import SIGNALS

if TYPE_CHECKING:
    from tests.simulation.world import Simulation

T = TypeVar("T")
Holds = Callable[[Workflow | None], bool]

# What a verb's refusal says of the workflow.
TRUE_WHEN: dict[Reason, Holds] = {
    Reason.WORKFLOW_NOT_FOUND: lambda workflow: workflow is None,
    Reason.WORKFLOW_CLOSED: lambda workflow: workflow is not None,  # a timer that is due may have ended it: checked by its state
    Reason.WORKFLOW_NOT_CLOSED: lambda workflow: workflow is not None and not workflow.is_ended,
    Reason.WORKFLOW_FAILING: lambda workflow: workflow is not None,
    Reason.WORKFLOW_STATE_INVALID: lambda workflow: workflow is not None,
    Reason.STEP_STATE_INVALID: lambda workflow: workflow is not None,
    Reason.SIGNAL_INBOX_FULL: lambda workflow: workflow is not None and bool(workflow.inbox),
    Reason.FENCED: lambda workflow: workflow is not None,
    Reason.ROUND_ARCHIVED: lambda workflow: workflow is not None,
}


class Caller:
    """One client program. Every call is repeated, with the same ids, until somebody answers."""

    def __init__(self, simulation: "Simulation", name: str) -> None:
        self.name = name
        self.source = random.Random(f"{simulation.seed} {name}")
        self._simulation = simulation
        self._count = 0

    async def call(self, act: Callable[[Engine], Coroutine[Any, Any, T]]) -> T:
        """Raises Rejection and FieldViolation."""
        while True:
            try:
                server = self._simulation.fleet.any(self.source)
                async with asyncio.timeout(self.source.choice((0.05, 3.0, 30.0))):
                    return await server.call(act(server.engine))
            except (Gone, StoreUnavailable, TimeoutError):
                await pause(self.source.choice((0.02, 0.3)))
            except Rejection as error:
                if error.reason is not Reason.DRAINING:
                    raise
                await pause(0.1)

    def mint(self) -> str:
        """An id that nobody else makes."""
        self._count += 1
        return f"{self.name}-{self._count}"

    # ---------------------------------------------------------------------------------------------------------------- verbs

    async def register(self, definition: Definition) -> None:
        """Register a definition, and make it the one for new starts."""
        await self.call(lambda engine: engine.register(definition, True, False, False))

    async def start(self, key: WorkflowKey, value: int, **fields: Any) -> None:
        """Start it, or meet the one that is there."""
        request_id = fields.pop("request_id", self.mint() if self.source.random() < 0.7 else "")
        content = payload([f"{value}{self._simulation.filler}", 1, 2][: value + 1])
        fields = {**self._simulation.start_fields(self.source), **fields}
        run_id = self.source.randbytes(12).hex()
        trace = Trace(self.source.randbytes(16).hex(), self.source.randbytes(8).hex())
        command = Start(key, run_id, trace, input=content, input_digest=payload_digest("input", content), request_id=request_id, **fields)
        mark = self._simulation.oracle.mark(key.workflow_id)
        check = self._simulation.promises.check
        try:
            started = await self.call(lambda engine: engine.start(replace(command)))
        except Rejection as error:
            if error.reason is not Reason.START_INPUT_MISMATCH:
                raise
            check("another input", key.workflow_id, mark, lambda found: found is not None and found.input_digest != command.input_digest)
            return
        stored = started.workflow
        check("start", key.workflow_id, mark, lambda found: found is not None and found.run_id == stored.run_id)
        if started.created:
            self._simulation.created(key, stored)

    async def round(self, key: WorkflowKey, value: int) -> None:
        """Ask for another round, perhaps over the one that is open."""
        on_open = self.source.choice((OnOpen.USE_EXISTING, OnOpen.SUPERSEDE))
        on_closed = self.source.choice((OnClosed.NEW_ROUND, OnClosed.NEW_ROUND_IF_FAILED))
        await self.start(key, value, request_id=self.mint(), on_open=on_open, on_closed=on_closed)

    async def signal(self, key: WorkflowKey, name: str) -> None:
        """Send a signal, sometimes twice."""
        filler = self._simulation.filler if self.source.random() < 0.5 else ""
        sent = Signal(self.mint(), name, 0, payload(self.name + filler))
        oracle = self._simulation.oracle
        for _ in range(self.source.choice((1, 1, 2))):
            mark = oracle.mark(key.workflow_id)
            try:
                await self.call(lambda engine: engine.signal(Ref(key), sent))
            except Rejection as error:
                self._refused("signal", key, mark, error)
                if error.reason is Reason.SIGNAL_INBOX_FULL:
                    await self._at_the_limit(key, "inbox")
            except DocumentTooLarge:
                self._simulation.promises.counts["documents full"] += 1
                await self._at_the_limit(key, "document")
            else:
                self._simulation.promises.check("signal", key.workflow_id, mark, lambda found: _has_signal(found, sent.signal_id))

    async def signal_waiting(self, workflow: Workflow) -> None:
        """Send every signal to what waits in this round, by wake token, as a callback does: by name only the current round is reached."""
        for name, step in workflow.steps.items():
            if step.state is StepState.WAITING:
                token = wake_token((workflow.key.workflow_id, workflow.run_id, name), workflow.wake_secret)
                for signal in SIGNALS:
                    await self.call(partial(_signal_to, token, Signal(self.mint(), signal, 0, payload(self.name))))

    async def _at_the_limit(self, key: WorkflowKey, what: str) -> None:
        """What must work when something is full: reading, and an end."""
        self._simulation.promises.counts[f"read at a full {what}"] += 1
        await self.look(key)
        if self.source.random() < 0.3:
            self._simulation.promises.counts[f"cancel at a full {what}"] += 1
            await self.verb(key, "cancel")
        elif self.source.random() < 0.2:
            self._simulation.promises.counts[f"terminate and delete at a full {what}"] += 1
            await self.verb(key, "terminate")
            await self.delete(key)

    async def delete(self, key: WorkflowKey) -> None:
        """Remove an ended key, or hear why not."""
        conditions = Conditions(request_id=self.mint())
        mark = self._simulation.oracle.mark(key.workflow_id)
        try:
            await self.call(lambda engine: engine.remove(Ref(key), conditions))
        except Rejection as error:
            if error.reason is not Reason.WORKFLOW_NOT_CLOSED or "round" not in error.facts:  # an archived round is on its way
                self._refused("delete", key, mark, error)
        else:
            self._simulation.promises.check("delete", key.workflow_id, mark, lambda found: found is None)

    async def verb(self, key: WorkflowKey, kind: str = "") -> None:
        """Whatever people do to a workflow."""
        mark = self._simulation.oracle.mark(key.workflow_id)
        kind = kind or self.source.choice(("cancel", "pause", "resume", "terminate", "replay", "resolve", "pause", "resume"))
        try:
            await self._verb(kind, key, self.mint())
        except Rejection as error:
            self._refused(kind, key, mark, error)
        except FieldViolation:
            return

    async def _verb(self, kind: str, key: WorkflowKey, request_id: str) -> None:
        conditions = Conditions(request_id=request_id)
        ref = Ref(key)
        match kind:
            case "cancel":
                await self.call(lambda engine: engine.cancel(ref, "changed my mind", request_id))
            case "pause":
                await self.call(lambda engine: engine.people.pause(ref, Paused(0, self.name, "look"), conditions))
            case "resume":
                await self.call(lambda engine: engine.people.resume(ref, conditions))
            case "terminate":
                await self.call(lambda engine: engine.people.terminate(ref, "enough", conditions))
            case "replay":
                await self.call(lambda engine: engine.people.replay(ref, self._completed(key), conditions))
            case _:
                await self.resolve(key, request_id)

    async def resolve(self, key: WorkflowKey, request_id: str) -> None:
        """Decide about a step that needs a person, if there is one."""
        workflow = self._simulation.oracle.latest(key.workflow_id)
        names = [] if workflow is None else [name for name, step in workflow.steps.items() if step.state is StepState.HELD]
        if names:
            choices: tuple[Resolution, ...] = (Completed(payload("by hand")), Failed(Failure("by.hand")), Retried(), PassedOver())
            resolution = self.source.choice(choices)
            conditions = Conditions(request_id=request_id)
            await self.call(lambda engine: engine.people.resolve(Ref(key), names[0], resolution, conditions))

    async def look(self, key: WorkflowKey) -> None:
        """Read it."""
        mark = self._simulation.oracle.mark(key.workflow_id)
        try:
            view = await self.call(lambda engine: engine.get(Ref(key), True))
        except Rejection as error:
            self._refused("get", key, mark, error)
            return
        read = view.workflow
        self._simulation.promises.check(
            "get",
            key.workflow_id,
            mark,
            lambda found: found is not None and (found.run_id, found.revision, found.state) == (read.run_id, read.revision, read.state),
        )

    async def live(self, key: WorkflowKey, value: int, calls: int) -> None:
        """A caller's day: start, then this and that."""
        await pause(self.source.random() * 2.0)
        await self.start(key, value)
        for _ in range(calls):
            await pause(self.source.random() * 4.0)
            chance = self.source.random()
            if chance < 0.45 or self._simulation.eager_to_signal:
                await self.signal(key, self.source.choice(SIGNALS))
            elif chance < 0.60:
                await self.look(key)
            elif chance < 0.68:
                await self.start(key, value)
            elif chance < 0.76:
                await self.round(key, value)
            else:
                await self.verb(key)

    def _completed(self, key: WorkflowKey) -> tuple[str, ...]:
        workflow = self._simulation.oracle.latest(key.workflow_id)
        if workflow is None or self.source.random() < 0.5:
            return ()
        ordinary = self._simulation.definition_of(workflow).ordinary
        done = [name for name in ordinary if name in workflow.steps and workflow.steps[name].state is StepState.COMPLETED]
        return tuple(self.source.sample(done, min(len(done), 1)))

    def _refused(self, what: str, key: WorkflowKey, mark: int, error: Rejection) -> None:
        holds = TRUE_WHEN.get(error.reason)
        if holds is None:
            self._simulation.oracle.breach(f"{what} was refused with {error.reason}: {error}")
        else:
            self._simulation.promises.check(f"{what}: {error.reason.name}", key.workflow_id, mark, holds)


def _signal_to(token: str, sent: Signal, engine: Engine) -> Coroutine[Any, Any, object]:
    return engine.signal(token, sent)


def _has_signal(workflow: Workflow | None, signal_id: str) -> bool:
    return workflow is not None and signal_id in workflow.signal_ids
