"""One seed from its first start to the last check.

`outcome = run_seed(17)`: builds a world from the seed alone, lets everything go wrong for a while, heals it, and waits until it is quiet.
A breach of a promise raises `Breach` with the seed in its text. The same seed has the same history, to the last write.
"""

import asyncio
import itertools
import logging
import random
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from perdure_server.coordination.local import LocalCoordination
from perdure_server.engine.clock import StoreClock
from perdure_server.kernel import limits
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.rejection import FieldViolation, Rejection
from perdure_server.kernel.workflow import StepState, Workflow, WorkflowKey
from perdure_server.store.memory import MemoryStore, MemoryWorkflows
from perdure_server.store.memory_records import MemoryDefinitions
from tests.engine.virtual_loop import VirtualLoop, pause
from tests.simulation.ages import Ages, Downtime
from tests.simulation.batches import Batches
from tests.simulation.callers import Caller
from tests.simulation.chaos import Chaos
from tests.simulation.copies import Copies
from tests.simulation.fleet import Fleet
from tests.simulation.ingredients import chosen
from tests.simulation.large import LargePayloads
from tests.simulation.oracle import Oracle
from tests.simulation.order import Limits, Order
from tests.simulation.outboxes import Outboxes
from tests.simulation.permits import Permits
from tests.simulation.plans import SIGNALS, Script, child_plan, random_plan
from tests.simulation.policies import Policies
from tests.simulation.pollers import Pollers
from tests.simulation.promises import Promises
from tests.simulation.schedules import Schedules
from tests.simulation.tenants import Tenants
from tests.simulation.versions import Versions
from tests.simulation.watchers import Watcher
from tests.simulation.weather import Weather
from tests.simulation.workers import POOLS, Worker

T = TypeVar("T")

EPOCH = 1_800_000_000_000
KINDS = (
    *(Schedules, Batches, LargePayloads, Order, Limits, Pollers, Versions, Outboxes, Downtime, Copies, Policies, Tenants),
    Ages,  # ends last
)
HEALING = 240  # s of virtual time in which everything that can end must end


class Breach(AssertionError):
    """A promise is broken; the text says which, and how to see it again."""


class Outcome(NamedTuple):
    """What a seed did."""

    digest: str
    changes: int
    counts: dict[str, int]
    milliseconds: int  # of virtual time


class _Documents(dict[bytes, Any]):
    """The stored documents; what is removed is told."""

    def __init__(self, told: Callable[[bytes], None]) -> None:
        super().__init__()
        self._told = told

    def __delitem__(self, key: bytes) -> None:
        super().__delitem__(key)
        self._told(key)


class Simulation:
    """Everything of one seed."""

    def __init__(self, seed: int, loop: VirtualLoop) -> None:
        self.seed = seed
        self.loop = loop
        self.source = random.Random(f"{seed} world")
        self.weather = Weather()
        self.store = MemoryStore(self.now)
        self.oracle = Oracle(self.now, self.definition_of)
        self._skipped = 0  # ms of store time that passed while nobody was there
        self.filler = ""  # what makes some payloads large
        self.eager_to_signal = False
        self._workflows = self.store.workflows
        assert isinstance(self._workflows, MemoryWorkflows)
        self._workflows._stored = _Documents(self.oracle.deleted)
        self._shared_clock = self._clock()
        self.redis = LocalCoordination(self._shared_clock) if self.source.random() < 0.7 else None
        self.script = Script(self)
        self.promises = Promises(self)
        self.permits = Permits(self)
        self.oracle.watched = self.permits.check
        self.ingredients = [kind(self) for kind in chosen(seed, KINDS)]
        self.fleet = Fleet(self, self.source.choice((1, 2, 2, 3)))
        self.workers: list[Worker] = []
        self._names = itertools.count(1)
        self._tasks: dict[asyncio.Task[Any], None] = {}
        self._definitions: dict[tuple[str, str], Definition] = {}
        self._created: dict[tuple[WorkflowKey, int, int], str] = {}

    def _clock(self) -> StoreClock:
        clock = StoreClock(self.store.time, lambda: self.loop.milliseconds)
        clock._offset = EPOCH
        return clock

    def now(self) -> int:
        """Store time in ms."""
        return EPOCH + self._skipped + self.loop.milliseconds

    def name(self, what: str) -> str:
        """A new name."""
        return f"{what}-{next(self._names)}"

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run something beside."""
        task = self.loop.create_task(work)
        self._tasks[task] = None
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.pop(task, None)
        if not task.cancelled() and task.exception() is not None:
            self.oracle.breach(f"a part of the simulation failed: {task.exception()!r}")

    def definition_of(self, workflow: Workflow) -> Definition:
        """Its definition as registered."""
        place = (workflow.key.namespace, workflow.fingerprint)
        found = self._definitions.get(place)
        if found is None:
            definitions = self.store.definitions
            assert isinstance(definitions, MemoryDefinitions)
            key = (workflow.key.namespace, workflow.key.workflow_type, workflow.fingerprint)
            found = self._definitions[place] = definitions._stored[key]
        return found

    def created(self, key: WorkflowKey, workflow: Workflow) -> None:
        """A caller was told that it created this round of the key."""
        life = sum(version.workflow is None for version in self.oracle.history[key.workflow_id])
        if self._created.setdefault((key, life, workflow.round), workflow.run_id) != workflow.run_id:
            self.oracle.breach(f"two callers created round {workflow.round} of {key.business_key}")

    def start_fields(self, source: random.Random) -> dict[str, Any]:
        """What the ingredients add to a start."""
        return {name: value for ingredient in self.ingredients for name, value in ingredient.start_fields(source).items()}

    async def black_out(self, duration: int) -> None:
        """All servers die, and none comes back for so long (ms). Nobody else sees the time pass."""
        self.fleet.dark = True
        for server in self.fleet.alive:
            server.crash()
        await pause(3.0)  # what was on its way to the store is there, or never will be
        self._skipped += duration
        self._shared_clock._offset = EPOCH + self._skipped
        self.fleet.dark = False
        while not self.fleet.alive:
            await self.fleet.fill()
            await pause(0.5)
        await self.fleet.fill()

    # -------------------------------------------------------------------------------------------------------------- the road

    async def run(self) -> Outcome:
        """All of it. Raises Breach."""
        story = self.spawn(self._story())
        while not story.done():
            await self._step()
        return story.result()

    async def _step(self) -> None:
        await self.loop.advance(1_000)
        if self.oracle.breaches:
            raise Breach("\n".join(self.oracle.breaches))

    async def _story(self) -> Outcome:
        await self.fleet.fill()
        caller = Caller(self, "definer")
        await self.permits.put()
        for number in range(self.source.choice((1, 1, 2))):
            await caller.register(random_plan(self.source, f"v{number}"))
        await caller.register(child_plan(self.source))
        keys = [WorkflowKey("default", "note", f"k{number}") for number in range(self.source.choice((1, 2, 3)))]
        for _ in range(self.source.choice((1, 2, 2))):
            slots = self.source.choice((1, 2, 5))
            few = any(isinstance(each, Pollers) for each in self.ingredients)  # so that something is left to poll for
            self.workers.append(Worker(self, self.name("worker"), 1 if few else slots))
        for ingredient in self.ingredients:
            await ingredient.prepare()
        chaos = Chaos(self)
        chaos.begin()
        callers, watchers = [], []
        for key in keys:
            value = self.source.randrange(2)
            for _ in range(self.source.choice((1, 1, 2))):
                given = value if self.source.random() < 0.9 else value + 1
                callers.append(self.spawn(Caller(self, self.name("caller")).live(key, given, self.source.choice((0, 2, 4)))))
            if self.source.random() < 0.5:
                watchers.append(self.spawn(Watcher(self, self.name("watcher"), key).live()))
        until = self.loop.time() + self.source.choice((3.0, 8.0, 15.0))
        lives = [self.spawn(ingredient.live(until)) for ingredient in self.ingredients]
        await chaos.live(until)
        await self._heal()
        await asyncio.gather(*lives)
        for ingredient in self.ingredients:
            await ingredient.heal()
        await asyncio.gather(*callers)
        await self._until_quiet()
        await asyncio.gather(*watchers)
        for ingredient in self.ingredients:
            await ingredient.at_the_end()
        await self._close()
        counts = dict(sum((ingredient.counts for ingredient in self.ingredients), self.promises.counts))
        return Outcome(self.oracle.digest.hexdigest(), self.oracle.changes, counts, self.loop.milliseconds)

    async def _heal(self) -> None:
        self.weather.clear_up()
        self.script.benign = True
        for server in self.fleet.alive:
            server.operations_left = None
        await self.fleet.fill()

    async def _until_quiet(self) -> None:
        """Somebody answers what waits for a person or a signal, until all is done."""
        helper = Caller(self, "helper")
        deadline = self.loop.time() + HEALING
        while self.loop.time() < deadline:
            open_ = [workflow for workflow in self.oracle.workflows() if not self._is_over(workflow)]
            for workflow in open_:
                with suppress(Rejection, FieldViolation):
                    await self._help(helper, workflow)
            if not open_ and all(each.idle for each in self.workers) and all(each.quiet for each in self.ingredients):
                break
            await pause(1.0)
        await pause(3.0)
        self.promises.at_the_end()
        await self.permits.at_the_end()

    def _is_over(self, workflow: Workflow) -> bool:
        if workflow.inert:
            current = self.oracle.latest(workflow.key.workflow_id)
            return current is None or current.round == workflow.round  # a copy that nobody needed
        return workflow.is_ended and not workflow.duties

    async def _help(self, helper: Caller, workflow: Workflow) -> None:
        key = workflow.key
        if workflow.is_ended:
            return
        if workflow.archived:  # its finalizer may wait, too
            await helper.signal_waiting(workflow)
            return
        if workflow.paused is not None:
            await helper._verb("resume", key, helper.mint())
        states = {step.state for step in workflow.steps.values()}
        if StepState.HELD in states:
            await helper.resolve(key, helper.mint())
        if StepState.WAITING in states:
            for name in SIGNALS:
                await helper.signal(key, name)

    async def _close(self) -> None:
        for server in self.fleet.alive:
            self.oracle.failures(server.name, server.engine.supervisor.failures)
            local = len(server.engine.claims)
            if local:
                self.oracle.breach(f"{server.name} still counts {local} claims")
        for worker in self.workers:
            if worker.free < worker.slots * len(POOLS):  # one that held more than its slots when it came back credits each
                self.oracle.breach(f"{worker.name}: {worker.free} of {len(POOLS)} x {worker.slots} slots are free")
        for task in list(self._tasks):
            if task is not asyncio.current_task():
                task.cancel()
        await self.fleet.close()


def run_seed(seed: int) -> Outcome:
    """Raises Breach with the seed in its text."""
    loop = VirtualLoop()
    level = logging.root.manager.disable
    logging.disable(logging.ERROR)
    smaller = {name: bound for kind in chosen(seed, KINDS) for name, bound in kind.limits.items()}
    usual = {name: getattr(limits, name) for name in smaller}
    _set(smaller)
    try:
        return loop.run_until_complete(Simulation(seed, loop).run())
    except Exception as error:
        raise Breach(f"seed {seed}: {error}") from error
    finally:
        logging.disable(level)
        _abandon(loop)
        _set(usual)


def _set(bounds: Mapping[str, int]) -> None:
    for name, bound in bounds.items():
        setattr(limits, name, bound)


def _abandon(loop: VirtualLoop) -> None:
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()

    async def wait() -> None:
        await asyncio.gather(*left, return_exceptions=True)

    loop.run_until_complete(wait())
    loop.close()
