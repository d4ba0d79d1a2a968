"""Parents and children on the bench of whole engines."""

from typing import cast

from perdure_server.engine.service import Engine
from perdure_server.kernel.child_state import child_key
from perdure_server.kernel.children import parent_link
from perdure_server.kernel.definition import INPUT, ChildPlan, Join, StepDefinition
from perdure_server.kernel.values import RetryPolicy
from perdure_server.kernel.workflow import Workflow, WorkflowKey
from perdure_server.ports.store import Subscription
from perdure_server.store.memory import MemoryWorkflows
from tests.engine.harness import World
from tests.kernel.harness import activity

CHILD = "child"


async def family(world: World, *steps: str | StepDefinition, child_retry: RetryPolicy | None = None) -> Engine:
    """A server that knows a parent's definition and that of its children, which have one step, `work`."""
    server = await world.server()
    await world.define(server, *steps)
    await world.define(server, activity("work", retry=child_retry or RetryPolicy()), workflow_type=CHILD)
    return server


def pools(slots: int, *types: str) -> tuple[Subscription, ...]:
    """What a worker serves: both types, and more."""
    return tuple(Subscription(name, "default", name, {}, slots) for name in ("note", CHILD, *types))


def nested() -> ChildPlan:
    """Children of children."""
    return ChildPlan("grandchild", INPUT, join=Join.BEST_EFFORT)


def drop(world: World, key: WorkflowKey) -> None:
    """It is gone, with everything that it had to do."""
    del cast("MemoryWorkflows", world.store.workflows)._stored[key.workflow_id]


def child_key_of(parent: Workflow, index: int, step: str = "m", generation: int | None = None) -> WorkflowKey:
    """The key of a child."""
    wanted = parent.steps[step].generation if generation is None else generation
    return WorkflowKey("default", CHILD, child_key(parent_link(parent, step, wanted, index=index)))


def child_of(world: World, parent: Workflow, index: int, step: str = "m", generation: int | None = None) -> Workflow | None:
    """A child as stored."""
    key = child_key_of(parent, index, step, generation)
    return cast("MemoryWorkflows", world.store.workflows)._load(key.workflow_id)


async def children_of(world: World, parent: Workflow, count: int | None = None, step: str = "m") -> list[Workflow]:
    """All children of a step that are stored, in order."""
    children = parent.steps[step].children
    most = count if count is not None else children.total if children is not None else 0
    found = [child_of(world, parent, index, step) for index in range(most)]
    return [child for child in found if child is not None]
