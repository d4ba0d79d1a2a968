"""What makes permits true when hints are lost: the audit of holders, and the pull of throttled steps that no server knows of."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from perdure_server.engine.claimtable import ClaimTable
from perdure_server.engine.mailbox import Mailboxes
from perdure_server.engine.parts import Parts
from perdure_server.engine.pause import Pause
from perdure_server.engine.permit_commands import BumpCommand, RelaxCommand, ThrottleCommand
from perdure_server.engine.permits import Permits
from perdure_server.engine.waiters import Waiter
from perdure_server.kernel import limits
from perdure_server.kernel.rejection import Rejection
from perdure_server.kernel.resources import Holder, Stripe
from perdure_server.kernel.seal import line_id, queue_id
from perdure_server.kernel.workflow import StepState, Workflow, WorkflowKey, round_id
from perdure_server.ports.errors import CorruptDocument, StoreUnavailable
from perdure_server.ports.store import Read

_PAGE = 100
_AT_ONCE = 64
_PULLED = 500
_KEYS = 200
_STORED = 200  # in one pass
_STORED_AT_ONCE = 32  # so that their writes keep nobody's claims waiting for long
_PULL_PAUSE = 3 * limits.SECOND
_ALL_EVERY = 10 * limits.SECOND
_JUDGE_ALL_EVERY = 6  # passes
_RELAXED_AFTER = 5 * limits.SECOND


class PermitSweep:
    """Both loops. Each server takes its share of the holders; of what throttles, each takes what its own slots can run."""

    def __init__(
        self, parts: Parts, permits: Permits, mailboxes: Mailboxes, claims: ClaimTable, is_mine: Callable[[bytes, int], bool]
    ) -> None:
        self._resources = parts.store.resources
        self._workflows = parts.store.workflows
        self._clock = parts.clock
        self._pull_pause = Pause(parts.settings.sweep_interval, _PULL_PAUSE)
        self._permits = permits
        self._mailboxes = mailboxes
        self._claims = claims
        self._is_mine = is_mine
        self._pulled_all = parts.clock.unshifted()
        self._passes = 0
        self._next_key = 0
        self._gate = asyncio.Semaphore(_AT_ONCE)
        self.freed = 0

    def loops(self) -> dict[str, Callable[[], Awaitable[None]]]:
        """What a server runs in the background, by name."""
        return {
            "permits": self.poll_step,
            "throttled": self.throttle_step,
            "permit pull": self.pull_step,
            "permit audit": self.audit_step,
        }

    # ------------------------------------------------------------------------------------------------------------ audit

    async def audit_step(self) -> None:
        """Judge holders by their workflows: whoever holds units without a claim, and can get none any more, loses them."""
        await self._clock.sleep(self._clock.together(limits.AUDIT_INTERVAL))
        self._passes += 1
        after = b""
        while True:
            page = await self._resources.held(after, _PAGE)
            for stripe_id, stripe in page:
                if self._is_mine(stripe_id, self._clock.unshifted()):
                    await self.audit(stripe)
            if len(page) < _PAGE:
                return
            after = page[-1][0]

    async def audit(self, stripe: Stripe, older_than: int = limits.AUDITED_AFTER) -> None:
        """Judge the holders of one stripe. Raises StoreUnavailable."""
        now = self._clock.now()
        old = [holder for holder in stripe.holders if now - holder.since >= older_than and not self._seems_alive(holder)]
        verdicts = await asyncio.gather(*(self._is_free(stripe.namespace, holder) for holder in old))
        box = self._permits.line(stripe.namespace, stripe.resource, stripe.key).box(stripe.number)
        for holder, is_free in zip(old, verdicts, strict=True):
            if is_free:
                self.freed += 1
                box.free(holder.nonce, holder.revision)

    def _seems_alive(self, holder: Holder) -> bool:
        # Spares a read; now and then everybody is judged, since what this server thinks of its claims is a hint only.
        local = self._claims.get(holder.nonce)
        return self._passes % _JUDGE_ALL_EVERY != 0 and local is not None and local.stream.lease_remaining() > 0

    async def _is_free(self, namespace: str, holder: Holder) -> bool:
        """Whether the holder's token is not current, and no write based on its revision can make it so."""
        async with self._gate:
            try:
                workflow = await self._run_of(namespace, holder)
                if workflow is None:
                    return True
                if _is_current(workflow, holder.nonce):
                    return False
                if workflow.revision == holder.revision:
                    # A claim may be on its way: let its write lose.
                    _, workflow = await self._mailboxes.submit(workflow.workflow_id, BumpCommand(holder.run_id, holder.revision))
                return workflow.run_id == holder.run_id and workflow.revision > holder.revision and not _is_current(workflow, holder.nonce)
            except (CorruptDocument, Rejection):
                return False  # set aside, or gone this very moment: the next pass sees

    async def _run_of(self, namespace: str, holder: Holder) -> Workflow | None:
        """That run's document, live or archived."""
        root = WorkflowKey(namespace, holder.workflow_type, holder.business_key).workflow_id
        for workflow_id in (root, round_id(root, holder.round)):
            found = await self._workflows.load(workflow_id, Read.LINEARIZABLE)
            if found is not None and found.run_id == holder.run_id:
                return found
        return None

    # ------------------------------------------------------------------------------------------------------------- pull

    async def pull_step(self) -> None:
        """Throttled steps whose resource has room: perhaps the server that knew of them is gone, or has no slot for them."""
        await self._clock.sleep(self._clock.together(self._pull_pause.next))
        waited = await self._resources.waited(_PULLED)
        self._pull_pause.found(bool(waited))
        wanted = [line_id(stripe.namespace, stripe.resource, stripe.key) for stripe in waited if _has_room(stripe)]
        now = self._clock.unshifted()
        if now - self._pulled_all >= _ALL_EVERY:
            self._pulled_all = now
            wanted += await self._all_resources()
        if wanted:
            await self._pull(sorted(set(wanted)))

    async def _all_resources(self) -> list[str]:
        """The lines that there may be, whether or not any stripe says that somebody waits."""
        found: list[str] = []
        keyed: list[str] = []
        for namespace in sorted({queue.partition("/")[0] for queue in self._permits.served_queues()}):
            for resource in await self._resources.list(namespace, "", limits.PAGE_SIZE_MAX):
                name = line_id(namespace, resource.name, "")
                found.append(name)
                keyed += [f"{name}/"] if resource.is_keyed else []
        return found + await self._lines_of(tuple(keyed)) if keyed else found

    async def _lines_of(self, keyed: tuple[str, ...]) -> list[str]:
        """Lines of keys in which steps are stored as throttled; the next ones each time, if there are many."""
        lines = sorted(queue for queue in await self._workflows.ready_queues() if queue.startswith(keyed))
        first = self._next_key if self._next_key < len(lines) else 0
        self._next_key = first + _KEYS
        return lines[first : first + _KEYS]

    async def _pull(self, wanted: Sequence[str]) -> None:
        now = self._clock.now()
        lines = frozenset(wanted)
        for found in await self._workflows.ready(wanted, _PULLED):
            if now - found.since < limits.SECOND or not lines.intersection(found.queues):
                continue  # the server that stored it is at it
            try:
                workflow = self._mailboxes.known(found.workflow_id)
                if workflow is None or workflow.update_time < found.since:
                    workflow = await self._workflows.load(found.workflow_id)
            except CorruptDocument:
                continue
            if workflow is not None:
                await self._resume(workflow)

    async def _resume(self, workflow: Workflow) -> None:
        definition = await self._permits.definition_of(workflow)
        for name, step in workflow.steps.items():
            if step.state is not StepState.READY or step.throttled is None or self._permits.knows(workflow.workflow_id, name):
                continue
            queue = queue_id(definition, workflow, name)
            if self._permits.can_run(queue):
                self._permits.enter(workflow.workflow_id, name, None)
            elif self._clock.now() - step.throttled.since >= _RELAXED_AFTER and self._is_mine(
                workflow.workflow_id, self._clock.unshifted()
            ):
                await self._relax(workflow, name)

    async def _relax(self, workflow: Workflow, name: str) -> None:
        try:
            await self._mailboxes.submit(workflow.workflow_id, RelaxCommand(workflow.run_id, name))
        except Rejection:
            return  # it is gone

    # -------------------------------------------------------------------------------------------------- waiters known here

    async def poll_step(self) -> None:
        """Look at every line that has waiters, whatever was heard."""
        if not any(line.busy for line in self._permits.lines):
            await self._permits.anybody()
        await self._clock.sleep(limits.SECOND)
        for line in self._permits.lines:
            if line.busy:
                line.look(stale=True)

    async def throttle_step(self) -> None:
        """Store that steps wait, once they have waited for a while."""
        await self._permits.anybody()
        await self._clock.sleep(limits.THROTTLED_AFTER // 2)
        for _ in range(0, _STORED, _STORED_AT_ONCE):
            waiters = self._permits.unstored()[-_STORED_AT_ONCE:]  # whose turn is far; a write for one who is near loses races
            await asyncio.gather(*(self._store(waiter) for waiter in waiters))
            if len(waiters) < _STORED_AT_ONCE:
                return

    async def _store(self, waiter: Waiter) -> None:
        line = waiter.line
        if line is None:
            return
        since = self._clock.now() - (self._clock.unshifted() - waiter.entered)
        command = ThrottleCommand(waiter.workflow.run_id, waiter.name, line.name, line.key, since)
        try:
            waits, workflow = await self._mailboxes.submit(waiter.workflow.workflow_id, command)
        except (Rejection, CorruptDocument):
            waits = False
        except StoreUnavailable:
            return
        else:
            waiter.workflow = workflow  # of a try that has begun meanwhile, what it is taken for stays
        if not waits and not waiter.trying:
            self._permits.drop(waiter)


def _is_current(workflow: Workflow, nonce: str) -> bool:
    return any(step.claim is not None and step.claim.nonce == nonce for step in workflow.steps.values())


def _has_room(stripe: Stripe) -> bool:
    return stripe.room > 0 or (stripe.capacity or 0) >= limits.STRIPE_UNITS // 2  # one of several stripes: the others may have room
