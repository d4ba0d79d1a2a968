"""Is anything left that could move by itself? For tests, which wait until nothing is.

What needs time, a signal, a person, or a worker that is not there does not move. A claim moves until its activity ends.
"""

from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from perdure_server.engine.scripted_worker import ScriptedWorkers
from perdure_server.engine.selection import OPEN, Selection
from perdure_server.kernel import limits
from perdure_server.kernel.seal import FOR_PEOPLE
from perdure_server.kernel.timing import earliest_due, is_due
from perdure_server.kernel.workflow import CLAIMED, Workflow
from perdure_server.ports.errors import CorruptDocument
from perdure_server.ports.store import PageKey, WorkflowQuery

if TYPE_CHECKING:
    from perdure_server.engine.service import Engine

_MOST = 10_000
_PAGE = 500
_SHOWN = 20
_PAUSE_FIRST = 2
_PAUSE_CAP = 50


class Scope(Struct, frozen=True):
    """What counts. `selection` None = every workflow of the namespace, "" = of all. `ready`: steps without a worker move, too."""

    namespace: str = ""
    selection: Selection | None = None
    ready: bool = False
    ignoring: frozenset[str] = frozenset()  # nonces of claims that do not count


class Quiet(Struct, frozen=True):
    """What still moves, for people; nothing = idle. `next_due` in ms."""

    busy: tuple[str, ...]
    next_due: int | None


class Idleness:
    """Looks at a server that is the only one of its store."""

    def __init__(self, engine: "Engine", scripts: ScriptedWorkers) -> None:
        self._engine = engine
        self._workflows = engine.store.workflows
        self._scripts = scripts

    async def wait(self, scope: Scope, within: int) -> Quiet:
        """Until it was idle at two looks in a row, or for `within` ms of unshifted time. Raises StoreUnavailable."""
        clock = self._engine.clock
        until = clock.unshifted() + within
        pause, calm = _PAUSE_FIRST, 0
        while True:
            quiet = await self.look(scope)
            calm = 0 if quiet.busy else calm + 1
            if calm > 1 or clock.unshifted() >= until:
                return quiet
            await clock.sleep(pause)
            pause = _PAUSE_FIRST if calm else min(2 * pause, _PAUSE_CAP)

    async def look(self, scope: Scope) -> Quiet:
        """As it is now. Raises StoreUnavailable."""
        busy = [f"the server: {name}" for name in self._engine.supervisor.works]
        async for workflow in self._in_scope(scope):
            busy += self._moving(workflow, scope)
            if len(busy) >= _SHOWN:
                break
        return Quiet(tuple(busy[:_SHOWN]), await self.next_due(limits.TIME))

    async def next_due(self, until: int) -> int | None:
        """The earliest due time after now, up to `until`: of workflows, schedules and scripts. Raises StoreUnavailable."""
        now = self._engine.clock.now()
        acts = self._scripts.next_due()
        others = [acts] if acts is not None else []
        others += [row.due for row in await self._engine.store.schedules.due(until, _MOST) if row.due is not None]
        earliest = min((due for due in others if now < due <= until), default=None)
        for row in await self._workflows.due(until, _MOST):
            if earliest is not None and row.wake_time >= earliest:
                break  # wake times may be early, never late
            workflow = await self.load(row.workflow_id)
            due = earliest_due(workflow) if workflow is not None else None
            if due is not None and now < due <= until and (earliest is None or due < earliest):
                earliest = due
        return earliest

    async def claims(self) -> frozenset[str]:
        """The nonces of all claims that there are. Raises StoreUnavailable."""
        found: list[str] = []
        async for workflow in self._in_scope(Scope()):
            found += [step.claim.nonce for step in workflow.steps.values() if step.claim is not None]
        return frozenset(found)

    async def load(self, workflow_id: bytes) -> Workflow | None:
        """The instance, as this server knows it. Raises StoreUnavailable."""
        try:
            return self._engine.mailboxes.known(workflow_id) or await self._workflows.load(workflow_id)
        except CorruptDocument:
            return None  # set aside: nothing moves it

    async def _in_scope(self, scope: Scope) -> AsyncIterator[Workflow]:
        for workflow_id in await self._candidates(scope):
            workflow = await self.load(workflow_id)
            if workflow is not None and scope.namespace in {"", workflow.key.namespace}:
                yield workflow

    async def _candidates(self, scope: Scope) -> Iterable[bytes]:
        if scope.selection is not None:
            return await self._found(scope.selection)
        # Whatever moves has a time to look at it, or stands in a queue that somebody serves.
        ids = dict.fromkeys(row.workflow_id for row in await self._workflows.due(limits.TIME, _MOST))
        served = sorted(self._engine.desk.served_queues())
        if served:
            ids |= dict.fromkeys(row.workflow_id for row in await self._workflows.ready(served, _MOST))
        if scope.ready:
            ids |= dict.fromkeys(await self._found(Selection(WorkflowQuery(scope.namespace, states=OPEN))))
        return ids

    async def _found(self, selection: Selection) -> list[bytes]:
        ids: list[bytes] = []
        after: PageKey | None = None
        while len(ids) < _MOST:
            page = await self._engine.listing.page(selection, _PAGE, after)
            ids += [view.workflow.workflow_id for view in page.views]
            after = page.after
            if after is None:
                break
        return ids

    def _moving(self, workflow: Workflow, scope: Scope) -> list[str]:
        name = f"{workflow.key.workflow_type}/{workflow.key.business_key}"
        moving = [f"{name}: due"] if is_due(workflow, self._engine.clock.now()) else []
        for step_name, step in workflow.steps.items():
            claim = step.claim
            if step.state in CLAIMED and claim is not None and claim.nonce not in scope.ignoring and not self._scripts.holds(claim.nonce):
                moving.append(f"{name}: {step_name} {step.state.name}, attempt {step.attempt} on {claim.worker_id or 'a worker'}")
        served = frozenset() if scope.ready else frozenset(self._engine.desk.served_queues())
        ready = (queue for queue in workflow.ready if queue in served or (scope.ready and not queue.startswith(FOR_PEOPLE)))
        return moving + [f"{name}: {queue.rpartition('/')[2]} READY" for queue in ready]
