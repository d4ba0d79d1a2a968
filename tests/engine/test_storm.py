"""Everything at once: servers, workers and callers under random faults; afterwards the client's log and the store must agree."""

import random
from collections import Counter, defaultdict
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from perdure_server.engine.service import Engine
from perdure_server.engine.values import GrantedClaim
from perdure_server.kernel.outcomes import Cancelled, Completed, Failed, Outcome, Released, Waiting
from perdure_server.kernel.rejection import Rejection
from perdure_server.kernel.values import Failure, RetryPolicy, Wait
from perdure_server.kernel.workflow import ENDED, StepState, WorkflowState
from perdure_server.ports.errors import StoreUnavailable
from perdure_server.store.memory import Moment
from tests.engine.faults import StoreFaults
from tests.engine.harness import World
from tests.engine.workers import Worker
from tests.kernel.harness import activity, after, on_signal, payload, signal, waiting

T = TypeVar("T")

SLOTS = 6
TICKS = 120
PATIENT = RetryPolicy(max_attempts=None, initial_interval=200, max_interval=2_000)


class RandomFaults(StoreFaults):
    """Every operation may fail, before or after it was done."""

    def __init__(self, source: random.Random) -> None:
        super().__init__()
        self.jitter(source)
        self.source = source
        self.rate = 0.0

    async def __call__(self, operation: str, moment: Moment) -> None:
        await super().__call__(operation, moment)
        if self.source.random() < self.rate:
            raise StoreUnavailable(f"{operation}: {moment.value}")


class Storm:
    """The world, and what its clients know of it."""

    def __init__(self, world: World, source: random.Random) -> None:
        self.world = world
        self.source = source
        self.faults = RandomFaults(source)
        world.faults = self.faults
        world.store.faults = self.faults
        self.servers: list[Engine] = []
        self.workers: list[Worker] = []
        self.begun: Counter[tuple[str, str, int]] = Counter()  # (workflow, step, claim_no)
        self.answered: dict[tuple[str, str], list[str]] = defaultdict(list)  # outputs that were answered OK
        self.started: set[str] = set()
        self.signalled: set[str] = set()
        self.cancelled: set[str] = set()

    def script(self, claim: GrantedClaim) -> Outcome | None:
        self.begun[claim.key.business_key, claim.plan.name, claim.claim_no] += 1
        chance = self.source.random()
        if chance < 0.08:
            return Failed(Failure("test.unlucky"))
        if chance < 0.14:
            return Waiting(Wait((after(self.source.randrange(50, 3_000)),)))
        if chance < 0.18:
            return Released()
        if chance < 0.24:
            return None  # holds it for a while
        return Completed(payload(f"{claim.plan.name}-{claim.claim_no}"))

    async def workers_step(self) -> None:
        worker = self.source.choice(self.workers)
        chance = self.source.random()
        if chance < 0.10:
            await self._reconnect(worker, self.source.choice(self.servers), close=self.source.random() < 0.5)
        for claim in list(worker.held.values()):
            if worker.is_sent(claim):
                continue
            if any(cancel.token == claim.token for cancel in worker.cancels):
                worker.send(claim, Cancelled())
            elif self.source.random() < 0.5:
                worker.send(claim, Completed(payload(f"{claim.plan.name}-{claim.claim_no}")))
        if worker.gone is not None or worker.ended:
            worker.gone = None
            await self._reconnect(worker, self.source.choice(self.servers))

    async def _reconnect(self, worker: Worker, server: Engine, close: bool = True) -> None:
        try:
            await worker.reconnect(server, close=close)
        except StoreUnavailable:
            worker.ended = True
            return

    async def clients_step(self, name: str) -> None:
        server = self.source.choice(self.servers)
        try:
            await self.world.start(server, name)
            self.started.add(name)
            await server.signal(self.world.ref(name), signal("go", f"signal-{name}"))
            self.signalled.add(name)
            if self.source.random() < 0.1:
                await server.cancel(self.world.ref(name), "changed my mind", "")
                self.cancelled.add(name)
        except (StoreUnavailable, Rejection):
            return

    def note_answers(self) -> None:
        for worker in self.workers:
            for number, answer in worker.settled.items():
                claim, outcome = worker.sent[number]
                if answer.error is None and isinstance(outcome, Completed) and outcome.output is not None:
                    self.answered[claim.key.business_key, claim.plan.name].append(outcome.output.json or "")


@pytest.mark.parametrize("number", range(4))
async def test_a_storm_loses_nothing_and_doubles_nothing(world: World, random_source: random.Random, number: int) -> None:
    storm = Storm(world, random_source)
    for _ in range(3):
        storm.servers.append(await _server(storm))
    steps = (activity("a", retry=PATIENT), activity("left: a", retry=PATIENT), waiting("right: a", on_signal("go"), after(4_000)))
    await _surely(storm, world.define(storm.servers[0], *steps, activity("join: left right", retry=PATIENT), max_lost_claims=1_000))
    for engine in storm.servers:
        storm.workers.append(await _surely(storm, world.worker(engine, script=storm.script, slots=SLOTS)))
    storm.faults.rate = 0.08
    names = [f"k{index}" for index in range(TICKS)]
    clients = []
    for tick in range(TICKS):
        clients.append(world.spawn(storm.clients_step(names[tick])))
        work = world.spawn(storm.workers_step())
        if tick % 30 == 10:
            world.coordination.flush()
        world.coordination.away = tick % 40 > 34
        storm.faults.away = tick % 60 > 50
        await world.advance(random_source.randrange(50, 2_500))
        await world.until(work.done)
    world.coordination.away = storm.faults.away = False
    storm.faults.rate = 0.0
    await world.until(lambda: all(client.done() for client in clients))
    await _quiet(storm, names)
    await _agree(storm, names)


async def _server(storm: Storm) -> Engine:
    return await _surely(storm, storm.world.server())


async def _surely(storm: Storm, work: Coroutine[Any, Any, T]) -> T:
    task = storm.world.spawn(work)
    await storm.world.until(task.done)
    return await task


async def _quiet(storm: Storm, names: list[str]) -> None:
    """No more faults: everything that was started ends."""
    for _ in range(400):
        for worker in storm.workers:
            worker.script = lambda claim: Completed(payload(f"{claim.plan.name}-{claim.claim_no}"))
            _settle_all(worker)
            if worker.gone is not None or worker.ended or worker.stream.closed:
                worker.gone = None
                await _surely(storm, storm._reconnect(worker, storm.servers[0]))
        await storm.world.advance(1_000)
        states = [(await storm.world.stored(name)).state for name in storm.started]
        if all(state in ENDED for state in states):
            break
    await storm.world.advance(40_000)


def _settle_all(worker: Worker) -> None:
    for claim in list(worker.held.values()):
        if not worker.is_sent(claim):
            cancelled = any(cancel.token == claim.token for cancel in worker.cancels)
            worker.send(claim, Cancelled() if cancelled else Completed(payload(f"{claim.plan.name}-{claim.claim_no}")))


async def _agree(storm: Storm, names: list[str]) -> None:
    world = storm.world
    storm.note_answers()
    for name in storm.started:
        workflow = await world.stored(name)
        assert workflow.state in ENDED, f"{name} is {workflow.state.name}: {await world.states(name)}"
        if name not in storm.cancelled and workflow.state is not WorkflowState.CANCELLED:
            assert workflow.state is WorkflowState.COMPLETED
        if name in storm.signalled:
            taken = workflow.signals_received == 1
            assert taken, f"{name}: an acknowledged signal is there"
        for step, value in workflow.steps.items():
            outputs = set(storm.answered[name, step])
            assert len(outputs) <= 1, f"{name}/{step}: two results were both answered OK: {outputs}"
            if outputs and value.state is StepState.COMPLETED:
                assert value.output is not None
                assert value.output.json in outputs, f"{name}/{step}: the result that was answered OK is stored"
    doubled = [what for what, count in storm.begun.items() if count > 1]
    assert doubled == [], "one claim begun twice"
    for server in storm.servers:
        assert len(server.claims) == 0
        assert server.supervisor.failures == 0
    for worker in storm.workers:
        free = sum(pool.credit for pool in worker.stream.pools.values())
        assert free == SLOTS, f"{worker.name}: {free} of {SLOTS} slots are free, it holds {list(worker.held)}"
