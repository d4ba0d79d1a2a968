"""Why a workflow is where it is: per step the facts about what it waits for. Sentences are made of them where they are shown."""

from collections.abc import Sequence

from msgspec import Struct

from perdure_server.engine.claimtable import ClaimTable
from perdure_server.engine.dispatch import ready_item
from perdure_server.engine.parts import Parts
from perdure_server.engine.permit_facts import PermitExplainer, PermitFacts
from perdure_server.engine.queries import Queries
from perdure_server.engine.values import QueueFact, Ref, View
from perdure_server.kernel import limits
from perdure_server.kernel.definition import StepDefinition
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.seal import queue_id
from perdure_server.kernel.workflow import STEP_ENDS, OpenCondition, Step, StepState, Workflow
from perdure_server.ports.errors import CoordinationUnavailable
from perdure_server.ports.store import Session, Subscription

_BLOCKED = Step(state=StepState.BLOCKED, since=0)


class QueueFacts(Struct, frozen=True):
    """Who could take a READY step. `incompatible`: workers of its queue and type that were built for another contract of it.

    `ahead`: how many of the same step in its queue come before it, by ready time, priority and fairness; None = coordination is away.
    """

    queue: str
    ahead: int | None
    workers: int
    free_slots: int
    incompatible: int


class StepFacts(Struct, frozen=True):
    """One step that has not ended. `open_dependencies` with their states; `queue` only when READY; `lease_end` of the claim's session."""

    plan: StepDefinition
    step: Step
    open_dependencies: tuple[tuple[str, StepState], ...] = ()
    stored_signals: tuple[tuple[OpenCondition, int], ...] = ()  # conditions on signals, with how many of them are in the inbox
    queue: QueueFacts | None = None
    fact: QueueFact | None = None  # about that queue, as every reader is told
    lease_end: int | None = None
    alive: int | None = None  # when the activity gave its last sign of life, if its worker is connected to this server
    permit: PermitFacts | None = None  # what a throttled step lacks


class Explanation(Struct, frozen=True):
    """A workflow with the facts about its steps."""

    view: View
    steps: tuple[StepFacts, ...]


class Explainer:
    """Reads the instance, the sessions of its namespace, and how long the queues are."""

    def __init__(self, parts: Parts, queries: Queries, permits: PermitExplainer, claims: ClaimTable) -> None:
        self._claims = claims
        self._sessions = parts.store.sessions
        self._coordination = parts.coordination
        self._queries = queries
        self._permits = permits

    async def explain(self, ref: Ref, step: str = "") -> Explanation:
        """All steps that have not ended, or only `step`. Raises Rejection WORKFLOW_NOT_FOUND, FENCED, STEP_NOT_FOUND; StoreUnavailable."""
        view = await self._queries.view(await self._queries.load(ref.key.workflow_id, ref))
        if step and step not in view.definition.by_name:
            raise Rejection(Reason.STEP_NOT_FOUND, "The definition has no such step.", step=step)
        chosen = [plan for plan in view.definition.steps if plan.name == step or (not step and _is_open(view, plan.name))]
        sessions = await self._sessions.list(ref.key.namespace, limits.SESSIONS_LISTED) if _asks_workers(view, chosen) else ()
        return Explanation(view, tuple([await self._facts(view, plan, sessions) for plan in chosen]))

    async def _facts(self, view: View, plan: StepDefinition, sessions: Sequence[Session]) -> StepFacts:
        workflow = view.workflow
        step = workflow.steps.get(plan.name, _BLOCKED)
        if step.state is StepState.BLOCKED:
            needed = [(name, workflow.steps.get(name, _BLOCKED).state) for name in plan.depends_on]
            return StepFacts(plan, step, tuple((name, state) for name, state in needed if state not in STEP_ENDS))
        if step.state is StepState.READY:
            queue = queue_id(view.definition, workflow, plan.name)
            permit = await self._permits.facts(workflow, plan, step)
            return StepFacts(plan, step, queue=await self._queue(view, plan, sessions), fact=view.facts.get(queue), permit=permit)
        if step.claim is not None:
            holder = next((session for session in sessions if session.session_id == step.claim.session_id), None)
            local = self._claims.get(step.claim.nonce)
            alive = local.alive_at if local is not None and local.alive_at > local.granted else None
            return StepFacts(plan, step, lease_end=holder.lease_until if holder is not None else None, alive=alive)
        return StepFacts(plan, step, stored_signals=_signals(workflow, step))

    async def _queue(self, view: View, plan: StepDefinition, sessions: Sequence[Session]) -> QueueFacts:
        workflow = view.workflow
        queue = queue_of(workflow, plan)
        serving = [(session, found) for session in sessions if (found := _pools(session, workflow, queue))]
        able = [(session, pools) for session, pools in serving if any(_serves(pool, plan) for pool in pools)]
        others = [pools for session, pools in serving if (session, pools) not in able and _built_otherwise(pools, plan)]
        free = sum(_free(session, pools, plan) for session, pools in able)
        ahead = await self._ahead(view, plan)
        return QueueFacts(queue, ahead, len(able), free, len(others))

    async def _ahead(self, view: View, plan: StepDefinition) -> int | None:
        try:
            return await self._coordination.ahead(ready_item(view.definition, view.workflow, plan.name))
        except CoordinationUnavailable:
            return None


def queue_of(workflow: Workflow, plan: StepDefinition) -> str:
    """The queue that a step's claims come from: the start's word before the policy's."""
    return workflow.step_queues.get(plan.name) or workflow.queue or plan.queue


def _is_open(view: View, name: str) -> bool:
    state = view.workflow.steps.get(name, _BLOCKED).state
    if view.workflow.is_ended or state in STEP_ENDS:
        return False
    return state is not StepState.BLOCKED or name not in view.definition.hook_steps  # a hook whose turn has not come waits for nothing


def _asks_workers(view: View, chosen: Sequence[StepDefinition]) -> bool:
    found = (view.workflow.steps.get(plan.name, _BLOCKED) for plan in chosen)
    return any(step.state is StepState.READY or step.claim is not None for step in found)


def _signals(workflow: Workflow, step: Step) -> tuple[tuple[OpenCondition, int], ...]:
    conditions = [condition for condition in step.wait if condition.signal]
    return tuple((condition, sum(signal.name == condition.signal for signal in workflow.inbox)) for condition in conditions)


def _pools(session: Session, workflow: Workflow, queue: str) -> list[Subscription]:
    return [pool for pool in session.pools if pool.queue == queue and pool.workflow_type == workflow.key.workflow_type]


def _serves(pool: Subscription, plan: StepDefinition) -> bool:
    if not pool.step_contracts:
        return True
    return pool.step_contracts.get(plan.name) in {"", plan.contract}


def _free(session: Session, pools: Sequence[Subscription], plan: StepDefinition) -> int:
    return max(0, sum(pool.slots for pool in pools if _serves(pool, plan)) - len(session.held))


def _built_otherwise(pools: Sequence[Subscription], plan: StepDefinition) -> bool:
    return any(plan.name in pool.step_contracts for pool in pools)
