"""The end of retention, and deletion: a tombstone takes the place of the key's document, and duties remove what belonged to it."""

import asyncio
import logging
from collections.abc import Callable, Sequence

from perdure_server.engine.commands import require_etag, require_ref
from perdure_server.engine.duties import Duties
from perdure_server.engine.hub import Hub
from perdure_server.engine.mailbox import Mailboxes
from perdure_server.engine.parts import Parts
from perdure_server.engine.pending import OfTombstones
from perdure_server.engine.people import Conditions
from perdure_server.engine.turn import Turn
from perdure_server.engine.values import Ref
from perdure_server.kernel import limits, tombstones
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.people import is_repeat
from perdure_server.kernel.rejection import FieldViolation, Reason, Rejection
from perdure_server.kernel.workflow import Duty, DutyKind, Workflow, WorkflowKey, round_id
from perdure_server.ports.errors import CorruptDocument, StoreUnavailable
from perdure_server.ports.store import Read

logger = logging.getLogger(__name__)

_PAUSE = 5 * limits.SECOND
_BATCH = 100
_BATCHES = 50
_TOGETHER = 100


class _Whole(OfTombstones):
    def begin(self) -> tuple[Definition, Workflow] | None:
        """The document is there."""
        return None

    def shrink(self) -> bool:
        """It makes the document smaller."""
        return False


class ExpireCommand(_Whole):
    """Retention is over. Answers whether a tombstone was left, for `keep` ms."""

    def __init__(self, keep: int) -> None:
        self._keep = keep

    def apply(self, turn: Turn) -> bool:
        """True = now."""
        return tombstones.expire(turn.draft, self._keep)


class OutlastCommand(_Whole):
    """Something of a tombstone's key is kept until then (ms)."""

    def __init__(self, until: int) -> None:
        self._until = until

    def apply(self, turn: Turn) -> None:
        """It stays as long."""
        if turn.draft.workflow.tombstone is not None:
            tombstones.outlast(turn.draft, self._until)


class DeleteCommand(_Whole):
    """A person removes a key (`number` None), or an archived round of it. Answers whether it was a repeat."""

    def __init__(self, ref: Ref, number: int | None, conditions: Conditions, keep: int) -> None:
        self._ref = ref
        self._number = number
        self._request = (conditions.request_id, conditions.content)
        self._etag = conditions.etag
        self._keep = keep  # ms that the tombstone stays

    def apply(self, turn: Turn) -> bool:
        """True = this very request was done before."""
        draft = turn.draft
        if is_repeat(draft.workflow, "delete", *self._request):
            return True
        if self._number is not None:
            return not tombstones.delete_round(draft, self._number, *self._request)
        if draft.workflow.tombstone is None:
            require_ref(draft.workflow, self._ref)
            require_etag(draft.workflow, self._etag, turn.is_first)
        return not tombstones.delete(draft, *self._request, self._keep)


class Retention:
    """Expires, deletes, and performs the duties that both leave behind."""

    def __init__(self, parts: Parts, mailboxes: Mailboxes, duties: Duties, hub: Hub) -> None:
        self._workflows = parts.store.workflows
        self._payloads = parts.store.payloads
        self._mailboxes = mailboxes
        self._duties = duties
        self._hub = hub
        self._clock = parts.clock
        self.kept_for: Callable[[str], int] = lambda _namespace: limits.TOMBSTONE  # ms that a namespace keeps its tombstones
        duties.register(DutyKind.FREE_PAYLOADS, self._free_payloads)
        duties.register(DutyKind.REMOVE_ROUND, self._remove_round)
        duties.register(DutyKind.REMOVE_ROUNDS, self._remove_rounds)

    async def step(self) -> None:
        """Now and then: what ended long enough ago."""
        await self._clock.sleep(self._clock.together(_PAUSE))
        await self.now()

    async def now(self) -> None:
        """What `step` does, now. Raises StoreUnavailable."""
        for _ in range(_BATCHES):
            ids = await self._workflows.expired(self._clock.now(), _BATCH)
            moved = [await self._expire(workflow_id) for workflow_id in ids]
            if len(ids) < _BATCH or not any(moved):
                return

    async def delete(self, ref: Ref, conditions: Conditions) -> tuple[Workflow, bool]:
        """Remove an ended key with all its rounds, or the archived round that `ref` names.

        Returns what is left, and whether it was a repeat.

        It is gone for every reader when this returns; its payloads and rounds are as soon as the store lets them be.
        Watchers hear WORKFLOW_NOT_FOUND. Raises Rejection, FieldViolation, StoreUnavailable.
        """
        key = ref.key
        current = await self._workflows.load(key.workflow_id, Read.LINEARIZABLE, tombstones=True)
        if current is None:
            raise _not_found()
        if is_repeat(current, "delete", conditions.request_id, conditions.content):
            return current, True
        number = await self._check(current, ref, conditions.etag)
        if conditions.validate_only:
            return current, False
        await self._duties.perform_all(current)
        repeat, after = await self._mailboxes.submit(key.workflow_id, DeleteCommand(ref, number, conditions, self.kept_for(key.namespace)))
        if number is None and not repeat:
            self._hub.removed(current)
        await self._duties.perform_all(after)
        return after, repeat

    async def _check(self, current: Workflow, ref: Ref, etag: str) -> int | None:
        """Raise what speaks against it. Returns the number of the archived round, or None for the whole key."""
        key = ref.key
        if ref.round is not None and ref.round == current.round and current.tombstone is None:
            raise FieldViolation([("workflow.round", "is the current round: leave it out to delete the whole key")])
        if ref.round is not None:
            found = await self._workflows.load(round_id(key.workflow_id, ref.round), Read.LINEARIZABLE)
            if found is None or found.inert:
                raise _not_found()
            require_ref(found, ref)
            _require_ended(found, etag)
            return ref.round
        if current.tombstone is not None:
            raise _not_found()
        require_ref(current, ref)
        _require_ended(current, etag)
        for archived in await self._archived(key, range(1, current.round)):
            if not archived.inert:
                _require_ended(archived, "")
        return None

    async def _expire(self, workflow_id: bytes) -> bool:
        try:
            workflow = await self._workflows.load(workflow_id, tombstones=True)
        except CorruptDocument:
            return False
        if workflow is None or workflow.duties or workflow.expire_time is None or workflow.expire_time > self._clock.now():
            return False
        if workflow.tombstone is not None:
            return await self._forget(workflow)
        if workflow.archived:
            removed = await self._workflows.delete(workflow)
            self._mailboxes.forget(workflow_id)
            if removed:
                self._hub.removed(workflow)
            return removed
        expired, _ = await self._mailboxes.submit(workflow_id, ExpireCommand(self.kept_for(workflow.key.namespace)))
        if expired:
            self._hub.removed(workflow)
        return expired

    async def _forget(self, tombstone: Workflow) -> bool:
        """Its time is over, unless rounds of its key are kept longer: a first round must not meet them."""
        kept = await self._archived(tombstone.key, range(1, tombstone.round + 1))
        lasting = [archived for archived in kept if not archived.inert]
        if lasting:
            ends = [archived.expire_time or self._clock.now() + limits.TOMBSTONE for archived in lasting]
            await self._mailboxes.submit(tombstone.workflow_id, OutlastCommand(max(ends)))
            return True
        for copy in kept:
            await self._workflows.delete(copy)
        removed = await self._workflows.delete(tombstone)
        self._mailboxes.forget(tombstone.workflow_id)
        return removed

    async def _free_payloads(self, _workflow: Workflow, duty: Duty) -> bool:
        await self._payloads.delete(duty.subject)
        return True

    async def _remove_round(self, workflow: Workflow, duty: Duty) -> bool:
        return await self._remove(await self._archived(workflow.key, [duty.round]))

    async def _remove_rounds(self, workflow: Workflow, duty: Duty) -> bool:
        return await self._remove(await self._archived(workflow.key, range(1, duty.round + 1)))

    async def _remove(self, rounds: Sequence[Workflow]) -> bool:
        for archived in rounds:
            if not (archived.inert or (archived.is_ended and not archived.duties)):
                raise StoreUnavailable("an archived round is not done yet")
            if not await self._workflows.delete(archived):
                raise StoreUnavailable("an archived round has changed meanwhile")
            self._mailboxes.forget(archived.workflow_id)
            self._hub.removed(archived)
        return True

    async def _archived(self, key: WorkflowKey, numbers: Sequence[int]) -> list[Workflow]:
        found: list[Workflow] = []
        for start in range(0, len(numbers), _TOGETHER):
            ids = [round_id(key.workflow_id, number) for number in numbers[start : start + _TOGETHER]]
            there = await self._workflows.revisions(ids, Read.LINEARIZABLE)  # one that is not seen would never be removed
            loaded = await asyncio.gather(*(self._workflows.load(workflow_id, Read.LINEARIZABLE) for workflow_id in there))
            found += [workflow for workflow in loaded if workflow is not None]
        return found


def _require_ended(workflow: Workflow, etag: str) -> None:
    require_etag(workflow, etag, is_first=True)
    if not workflow.is_ended:
        facts = {"state": workflow.state.name} | ({"round": str(workflow.round)} if workflow.archived else {})
        raise Rejection(Reason.WORKFLOW_NOT_CLOSED, "Only what has ended can be deleted.", **facts)


def _not_found() -> Rejection:
    return Rejection(Reason.WORKFLOW_NOT_FOUND, "There is no workflow with this key.")
