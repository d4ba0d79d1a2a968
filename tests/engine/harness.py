"""A bench for whole engines: one store, one coordination, any number of servers and scripted workers, and time that only a test moves.

    server = await world.server()
    await world.define(server, "a", "b: a")
    worker = await world.worker(server, slots=4)          # takes, acknowledges and renews; completes by its script
    await world.start(server, "k")
    await world.settle()                                   # everything that can happen now has happened
    await world.advance(5_000)                             # and now 5 s later

Times are ms. Every change that is stored is checked against the kernel's invariants.
"""

import asyncio
import itertools
import random
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, cast

import pytest

from perdure_server.engine.clock import StoreClock
from perdure_server.engine.entropy import Entropy
from perdure_server.engine.service import Engine
from perdure_server.engine.settings import EngineSettings
from perdure_server.engine.shifted_clock import ShiftedClock
from perdure_server.engine.values import Ref, Started
from perdure_server.kernel import limits
from perdure_server.kernel.canonical import payload_digest
from perdure_server.kernel.definition import Definition, StepDefinition
from perdure_server.kernel.start import Start
from perdure_server.kernel.values import Trace
from perdure_server.kernel.workflow import Step, Workflow, WorkflowKey, WorkflowState
from perdure_server.ports.outbox import Outbox
from perdure_server.ports.store import Session
from perdure_server.ports.telemetry import AttemptSpan, StaySpan, WorkflowSpan
from perdure_server.store.memory import MemoryStore, MemoryWorkflows
from perdure_server.store.memory_sessions import MemorySessions
from perdure_server.telemetry.meters import Meters
from tests.engine.faults import FrailCoordination, StoreFaults
from tests.engine.virtual_loop import VirtualLoop
from tests.engine.workers import Script, Worker, completing
from tests.kernel.harness import payload, plan
from tests.kernel.invariants import check_change

T = TypeVar("T")

EPOCH = 1_800_000_000_000  # store time at the loop's 0 s
TYPE = "note"


class Spans(Meters):
    """The Telemetry port, kept in lists."""

    enabled = True
    measured = False

    def __init__(self) -> None:
        super().__init__()
        self.attempts: list[AttemptSpan] = []
        self.started: list[WorkflowSpan] = []
        self.ended: list[WorkflowSpan] = []
        self.stays: list[StaySpan] = []
        self.replayed: list[tuple[WorkflowSpan, int]] = []

    def attempt_ended(self, span: AttemptSpan) -> None:
        self.attempts.append(span)

    def workflow_started(self, span: WorkflowSpan) -> None:
        self.started.append(span)

    def workflow_ended(self, span: WorkflowSpan) -> None:
        self.ended.append(span)

    def stay_ended(self, span: StaySpan) -> None:
        self.stays.append(span)

    def workflow_replayed(self, span: WorkflowSpan, earlier_fence: int) -> None:
        self.replayed.append((span, earlier_fence))


class World:
    """Everything of one test."""

    def __init__(self) -> None:
        self.loop = cast("VirtualLoop", asyncio.get_running_loop())
        self.faults = StoreFaults()
        self.store = MemoryStore(self.now, self.faults)
        self.clock = StoreClock(self.store.time, lambda: self.loop.milliseconds)
        self.coordination = FrailCoordination(self.clock)
        self.spans = Spans()
        self.engines: list[Engine] = []
        self.workers: list[Worker] = []
        self.writes = 0
        self.outboxes: list[Outbox] = []  # of the servers that come
        self.definitions: dict[str, Definition] = {}  # by fingerprint
        self._seeds = itertools.count(1)
        self._keys = itertools.count(1)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._check_commits()

    # ------------------------------------------------------------------------------------------------------------- time

    def now(self) -> int:
        """Store time."""
        return EPOCH + self.loop.milliseconds

    async def settle(self) -> None:
        """Everything that can happen without time passing has happened."""
        await self.loop.settle()

    async def advance(self, duration: int) -> None:
        """`duration` ms later."""
        await self.loop.advance(duration)

    async def until(self, predicate: Callable[[], object], within: int = 60_000) -> int:
        """Let time pass, timer by timer, until the predicate holds; returns the ms that passed."""
        passed = 0
        await self.settle()
        while not predicate():
            if passed >= within:
                pytest.fail(f"not within {within} ms of virtual time")
            passed += await self.loop.step()
        return passed

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run a caller of the API beside the test."""
        task = self.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # ---------------------------------------------------------------------------------------------------------- servers

    async def server(self, name: str = "", coordination: FrailCoordination | None = None, judging: bool = True, **settings: Any) -> Engine:
        """A server that serves; with `judging` it counts as having reached the store for long."""
        name = name or f"server-{len(self.engines) + 1}"
        clock = StoreClock(self.store.time, lambda: self.loop.milliseconds)
        await clock.sync()
        told = ShiftedClock(clock) if settings.get("is_test") else clock
        entropy = Entropy(random.Random(next(self._seeds)).randbytes)
        engine = Engine(
            self.store,
            coordination or self.coordination,
            self.spans,
            told,
            settings=EngineSettings(name, **settings),
            entropy=entropy,
            outboxes=self.outboxes,
        )
        if judging:
            clock.reachable_since = engine.judge.reached_since = EPOCH - limits.DAY
            engine.judge._last_pass = self.now()
            engine.judge._judging = True
        await engine.open()
        self.engines.append(engine)
        await self.settle()
        return engine

    async def define(self, engine: Engine, *steps: str | StepDefinition, activate: bool = True, **fields: Any) -> Definition:
        """Register a plan, in the kernel harness's words."""
        registered, _ = await engine.register(plan(*steps, **({"workflow_type": TYPE} | fields)), activate, False, False)
        self.definitions[registered.fingerprint] = registered
        return registered

    async def worker(self, engine: Engine, name: str = "", *, script: Script | None = completing, **options: Any) -> Worker:
        """A connected worker; see Worker for the options."""
        worker = Worker(self, engine, name or f"worker-{len(self.workers) + 1}", script, **options)
        self.workers.append(worker)
        await worker.connect()
        await self.settle()
        return worker

    def credit(self, engine: Engine) -> int:
        """Free slots of all pools of a server."""
        return sum(pool.credit for pool in {pool for pools in engine.desk._by_queue.values() for pool in pools})

    # ------------------------------------------------------------------------------------------------------------ calls

    def key(self, name: str = "k", workflow_type: str = TYPE) -> WorkflowKey:
        """A workflow's identity."""
        return WorkflowKey("default", workflow_type, name)

    def ref(self, name: str = "k") -> Ref:
        """The same as a reference."""
        return Ref(self.key(name))

    def command(self, name: str = "k", value: object = 1, **fields: Any) -> Start:
        """A start command with its own run id."""
        number = next(self._keys)
        content = None if value is None else payload(value)
        digest = payload_digest("input", content)
        workflow_type = fields.pop("workflow_type", TYPE)
        trace = Trace(f"{number:032x}", f"{number:016x}")
        return Start(
            self.key(name, workflow_type), f"{number:024x}", trace, f"secret-{number}", input=content, input_digest=digest, **fields
        )

    async def start(self, engine: Engine, name: str = "k", value: object = 1, **fields: Any) -> Started:
        """Start a workflow."""
        return await engine.start(self.command(name, value, **fields))

    async def stored(self, name: str = "k", workflow_type: str = TYPE) -> Workflow:
        """The instance as stored."""
        found = cast("MemoryWorkflows", self.store.workflows)._load(self.key(name, workflow_type).workflow_id)  # not through the faults
        assert found is not None, f"{name} is not stored"
        return found

    async def session(self, worker: Worker) -> Session:
        """A worker's session as stored."""
        return cast("MemorySessions", self.store.sessions)._stored[worker.welcome.session_id]

    async def step(self, step: str, name: str = "k") -> Step:
        """One stored step."""
        return (await self.stored(name)).steps[step]

    async def states(self, name: str = "k") -> dict[str, str]:
        """The state of every stored step."""
        return {step: value.state.name for step, value in (await self.stored(name)).steps.items()}

    async def reasons(self, step: str, name: str = "k") -> list[str]:
        """What happened to a step, from the ring of events."""
        return [event.reason for event in (await self.stored(name)).events if event.step == step]

    async def completed(self, name: str = "k") -> bool:
        """Whether it has completed."""
        return (await self.stored(name)).state is WorkflowState.COMPLETED

    def is_completed(self, name: str = "k") -> bool:
        """The same, without a turn of the loop."""
        return self._state(name) is WorkflowState.COMPLETED

    def has_failed(self, name: str = "k") -> bool:
        """Whether it has failed."""
        return self._state(name) is WorkflowState.FAILED

    def stored_types(self) -> list[str]:
        """The types of all stored workflows."""
        found = cast("MemoryWorkflows", self.store.workflows)._stored.values()
        return [str(one.document["workflow_type"]) for one in found]

    def _state(self, name: str) -> WorkflowState | None:
        found = cast("MemoryWorkflows", self.store.workflows)._stored.get(self.key(name).workflow_id)
        return WorkflowState[found.document["state"]] if found is not None else None

    # -------------------------------------------------------------------------------------------------------------- end

    async def close(self) -> None:
        """Stop everything; nothing may be left behind."""
        self.faults.away = False
        for task in list(self._tasks):
            task.cancel()
        for worker in self.workers:
            worker.stop()
        await self.settle()
        for engine in self.engines:
            closing = self.spawn(engine.close())
            while not closing.done():
                await self.loop.step() if await self._waits(closing) else None
            await closing
            assert not engine.supervisor.running, f"left behind: {engine.supervisor.running}"

    async def _waits(self, task: asyncio.Task[None]) -> bool:
        await self.settle()
        return not task.done()

    def _check_commits(self) -> None:
        commit = self.store.workflows.commit

        async def checked(old: Workflow | None, new: Workflow) -> bool:
            stored = await commit(old, new)
            if stored:
                self.writes += 1
                definition = self.definitions.get(new.fingerprint)
                if definition is not None:
                    check_change(definition, old, new)
            return stored

        self.store.workflows.commit = checked  # type: ignore[method-assign]  # a look at what is stored, on the way
