"""What a worker offers: its pools, the definitions behind them, and how hello says so."""

import os
import socket
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from perdure import limits
from perdure.calls import CLIENT_NAME
from perdure.definition import Definition
from perdure.steps import Step, StepName, activities_of, step_names
from perdure.v1 import claim_pb2, definition_pb2, worker_service_pb2

CAPABILITIES: Final = ("cancel", "lost", "heartbeats", "go_away", "pools", "refs", "begin_after_renewed")


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """What `client.worker` was given."""

    slots: Mapping[str, int] | int | None = None
    steps: Iterable[StepName] | None = None
    worker_id: str = ""
    lease: timedelta | None = None
    grace: timedelta = timedelta(seconds=limits.STOP_GRACE)
    register: bool = True
    handle_signals: bool = True
    labels: Mapping[str, str] = field(default_factory=dict[str, str])


class Lane(Enum):
    """Where an activity runs."""

    LOOP = "loop"
    THREAD = "threads"
    PROCESS = "processes"


@dataclass(frozen=True, slots=True)
class PoolPlan:
    """A number of slots for some steps of one definition and queue."""

    name: str
    workflow_type: str
    queue: str
    steps: tuple[str, ...]
    slots: int
    definition_index: int


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """All that a worker offers."""

    worker_id: str
    namespace: str
    pools: tuple[PoolPlan, ...]
    activities: Mapping[tuple[str, str], Step[..., Any]]
    """By workflow type and step name."""
    definitions: tuple[definition_pb2.Definition, ...]
    register: bool
    lease: timedelta | None
    labels: Mapping[str, str]

    def hello(self) -> worker_service_pb2.Hello:
        """The hello of a new session."""
        message = worker_service_pb2.Hello(
            worker_id=self.worker_id,
            client_name=CLIENT_NAME,
            client_version=client_version(),
            capabilities=CAPABILITIES,
            pools=[_pool(plan) for plan in self.pools],
            definitions=[claim_pb2.OfferedDefinition(definition=item, register=self.register) for item in self.definitions],
            labels=dict(self.labels),
            namespace=self.namespace,
        )
        if self.lease is not None:
            message.lease.FromTimedelta(self.lease)
        return message


def plan_worker(definitions: Sequence[Definition], namespace: str, options: WorkerOptions) -> WorkerPlan:
    """Splits the steps over pools: one for each step that `slots` names, one for the rest of each definition, lane and queue.

    Raises:
        ValueError: `slots` or `steps` names no step of these definitions, or there is nothing to run.
        DefinitionRejected: An annotation cannot be resolved or decoded.
    """
    activities = {
        (definition.workflow_type, step.name): step for definition in definitions for step in activities_of(definition.steps.values())
    }
    if len({definition.workflow_type for definition in definitions}) < len(definitions):
        raise ValueError("a worker serves one definition of a type; run another worker for the other")
    if options.steps is not None:
        wanted = {_find(activities, name) for name in step_names(options.steps)}
        activities = {place: step for place, step in activities.items() if place in wanted}
    if not activities:
        raise ValueError("nothing to run: give client.worker a Definition with at least one @definition.step")
    indexes = {definition.workflow_type: index for index, definition in enumerate(definitions)}
    return WorkerPlan(
        options.worker_id or f"{socket.gethostname()}-{os.getpid()}",
        namespace,
        tuple(_pools(activities, indexes, options)),
        activities,
        tuple(definition.to_message() for definition in definitions),
        options.register,
        options.lease,
        options.labels,
    )


def lane_of(step: Step[..., Any]) -> Lane:
    """Where a step's activity runs."""
    if step.is_async:
        return Lane.LOOP
    return Lane.PROCESS if step.process else Lane.THREAD


def client_version() -> str:
    """Version of this distribution."""
    try:
        return version("perdure")
    except PackageNotFoundError:
        return "unknown"


def _pools(activities: Mapping[tuple[str, str], Step[..., Any]], indexes: Mapping[str, int], options: WorkerOptions) -> Iterable[PoolPlan]:
    named: Mapping[str, int] = options.slots if isinstance(options.slots, Mapping) else {}
    slots_of = {_find(activities, name): count for name, count in named.items()}
    if any(count < 1 for count in [*slots_of.values(), options.slots if isinstance(options.slots, int) else 1]):
        raise ValueError("slots: a pool needs at least 1 slot; leave a step out by `steps=`")
    rest: dict[tuple[str, Lane, str], list[str]] = {}
    for (workflow_type, name), step in activities.items():
        if (workflow_type, name) in slots_of:
            count = slots_of[workflow_type, name]
            yield PoolPlan(f"{workflow_type}.{name}", workflow_type, step.policy.queue, (name,), count, indexes[workflow_type])
        else:
            # One number for all means all lanes together.
            lane = Lane.LOOP if isinstance(options.slots, int) else lane_of(step)
            rest.setdefault((workflow_type, lane, step.policy.queue), []).append(name)
    for (workflow_type, lane, queue), names in rest.items():
        count = options.slots if isinstance(options.slots, int) else _default_slots(lane)
        name = workflow_type + (f"/{lane.value}" if lane is not Lane.LOOP else "") + (f"@{queue}" if queue else "")
        yield PoolPlan(name, workflow_type, queue, tuple(names), count, indexes[workflow_type])


def _default_slots(lane: Lane) -> int:
    cores = os.cpu_count() or 1
    if lane is Lane.LOOP:
        return limits.ASYNC_SLOTS
    return cores if lane is Lane.PROCESS else min(limits.THREAD_SLOTS_MAX, cores + 4)


def _find(activities: Mapping[tuple[str, str], Step[..., Any]], name: str) -> tuple[str, str]:
    found = [place for place in activities if name in {place[1], f"{place[0]}.{place[1]}"}]
    if len(found) == 1:
        return found[0]
    known = ", ".join(f"{workflow_type}.{step}" for workflow_type, step in activities)
    raise ValueError(f"{name!r} names {'several steps' if found else 'no step with code here'}; there are: {known}")


def _pool(plan: PoolPlan) -> claim_pb2.Pool:
    return claim_pb2.Pool(
        pool=plan.name,
        queue=plan.queue,
        workflow_type=plan.workflow_type,
        steps=plan.steps,
        definition_index=plan.definition_index,
        slots=plan.slots,
    )
