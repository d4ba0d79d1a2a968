"""One mailbox per workflow: commands queue in the process, are applied together, and share one conditional write.

The mailbox owns the write, so a cancelled call never cancels it. A lost race reads again and applies each command again; after an
unknown result it first finds out whether its write is there. Every command recognises its own effect. A refusal or a no-op is answered
only from a linearizable read, or right after an own acknowledged write.
"""

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from perdure_server.engine.budget import check_budget, warn_if_near
from perdure_server.engine.catalog import Catalog
from perdure_server.engine.parts import Parts
from perdure_server.engine.pending import Command, OfTombstones, Pending, fail, stopped, undo
from perdure_server.engine.subject import about
from perdure_server.engine.turn import Grant, Turn
from perdure_server.kernel import limits
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.rejection import FieldViolation, Reason, Rejection
from perdure_server.kernel.seal import seal
from perdure_server.kernel.tombstones import NOTHING
from perdure_server.kernel.workflow import Workflow
from perdure_server.ports.errors import DocumentTooLarge, StoreUnavailable
from perdure_server.ports.store import Read

logger = logging.getLogger(__name__)

A = TypeVar("A")
GIVE_UP_AFTER = 10 * limits.SECOND
_PAUSE_FIRST = 20
_PAUSE_CAP = 500


@dataclass(frozen=True)
class _Doubt:
    """A write of which nobody knows whether it happened. Its turns keep their slots until that is known."""

    sealed: Workflow
    definition: Definition
    writers: list[Pending[Any]]


class _Box:
    def __init__(self, workflow: Workflow | None) -> None:
        self.pending: deque[Pending[Any]] = deque()
        self.workflow = workflow
        self.running = False
        self.doubt: _Doubt | None = None
        self.give_up = 0


class Mailboxes:
    """All mailboxes of this server, with the instances that they know (least recently used ones go)."""

    def __init__(
        self,
        parts: Parts,
        catalog: Catalog,
        make_turn: Callable[[Definition, Workflow], Turn],
        after: Callable[[Workflow, Definition, Sequence[Turn]], None],
    ) -> None:
        self._workflows = parts.store.workflows
        self._catalog = catalog
        self._clock = parts.clock
        self._supervisor = parts.supervisor
        self._make_turn = make_turn
        self._after = after
        self._cache_size = parts.settings.cache_size
        self._boxes: OrderedDict[bytes, _Box] = OrderedDict()
        self.on_grant_found: Callable[[Workflow, Definition, Grant], None] = lambda _workflow, _definition, _grant: None
        self.on_read: Callable[[Workflow], None] = lambda _: None  # perhaps the first that this server sees of others' changes
        self.on_doubt: Callable[[bytes], None] = lambda _: None  # effects of a write may be lost
        self.conflicts = 0

    def submit(self, workflow_id: bytes, command: Command[A], base: Workflow | None = None) -> "asyncio.Future[tuple[A, Workflow]]":
        """Queue a command. The future gives its answer and the instance after it; cancelling the future cancels nothing else.

        `base` is what the caller has read by `load`, in case that this server does not know the workflow.
        """
        future: asyncio.Future[tuple[A, Workflow]] = asyncio.get_running_loop().create_future()
        if self._supervisor.closed:
            future.set_exception(stopped())
            return future
        box = self._boxes.get(workflow_id)
        if box is None:
            box = self._boxes[workflow_id] = _Box(base)
        box.pending.append(Pending(command, future))
        if not box.running:
            box.running = True
            self._supervisor.run(self._run(workflow_id, box), "mailbox")
        return future

    def known(self, workflow_id: bytes) -> Workflow | None:
        """The instance as this server last saw it, perhaps stale; for hints only."""
        box = self._boxes.get(workflow_id)
        return box.workflow if box is not None else None

    def is_busy(self, workflow_id: bytes) -> bool:
        """Whether commands of this workflow are in hand."""
        return (box := self._boxes.get(workflow_id)) is not None and box.running

    def forget(self, workflow_id: bytes) -> None:
        """Another server changed it: read again next time."""
        box = self._boxes.get(workflow_id)
        if box is not None and not box.running:
            del self._boxes[workflow_id]

    def __len__(self) -> int:
        return len(self._boxes)

    @property
    def busy(self) -> int:
        """Mailboxes with work in hand."""
        return sum(box.running for box in self._boxes.values())

    async def _run(self, workflow_id: bytes, box: _Box) -> None:
        try:
            while box.pending:
                batch = list(box.pending)
                box.pending.clear()
                await self._answer(workflow_id, box, batch)
        finally:
            box.running = False
            fail(box.pending, stopped())
            if box.workflow is None or box.workflow.is_ended:
                self._boxes.pop(workflow_id, None)
            else:
                self._boxes.move_to_end(workflow_id)
                self._trim()

    def _trim(self) -> None:
        excess = len(self._boxes) - self._cache_size
        if excess > 0:
            for workflow_id in [key for key, box in islice(self._boxes.items(), excess + _PAUSE_CAP) if not box.running][:excess]:
                del self._boxes[workflow_id]

    async def _answer(self, workflow_id: bytes, box: _Box, batch: list[Pending[Any]]) -> None:
        try:
            await self._try_until_stored(workflow_id, box, batch)
        except asyncio.CancelledError:
            fail(batch, stopped())
            raise
        except Exception as error:
            if not isinstance(error, StoreUnavailable | FieldViolation | Rejection):
                logger.exception("a mailbox round failed", extra=about(box.workflow))
            box.workflow = None
            fail(batch, error)
        finally:
            if box.doubt is not None:
                undo(box.doubt.writers)
                box.doubt = None

    async def _try_until_stored(self, workflow_id: bytes, box: _Box, batch: list[Pending[Any]]) -> None:
        box.give_up = self._clock.unshifted() + GIVE_UP_AFTER
        pause = _PAUSE_FIRST
        while left := [pending for pending in batch if not pending.answered]:
            try:
                await self._round(workflow_id, box, left)
                return
            except StoreUnavailable:
                box.workflow = None
                if self._clock.unshifted() >= box.give_up:
                    raise
                await self._clock.sleep(pause)
                pause = min(2 * pause, _PAUSE_CAP)

    async def _round(self, workflow_id: bytes, box: _Box, batch: list[Pending[Any]]) -> None:
        """One read if needed, one application, one write; every command of the batch is answered."""
        base, exact = box.workflow, False
        if box.doubt is not None:
            base, batch = await self._find_out(workflow_id, box, box.doubt, batch)
            exact = True
        elif base is None and batch[0].command.begin() is None:
            base = await self.load(workflow_id)
        while batch:
            definition = self._definition_at_hand(base, batch)
            if definition is None and base is not None:
                definition = await self._catalog.of(base)
            new, writers, idle, definition = self._apply(base, definition, batch)
            if writers:
                assert definition is not None, "only an instance with its definition can change"
                assert new is not None, "a writer made one"
                try:
                    stored = await self._store(box, base, definition, new, writers)
                except DocumentTooLarge as error:
                    await self._reduce(workflow_id, box, [*writers, *idle], error)
                    return
                if stored is None:
                    base, exact = await self._lost_race(workflow_id, box), False
                    continue
                base, exact = stored, True
            if exact:
                self._answer_idle(base, definition, idle)
                return
            if idle:
                base = box.workflow = await self.load(workflow_id, Read.LINEARIZABLE)
            exact, batch = True, idle

    def _answer_idle(self, base: Workflow | None, definition: Definition | None, idle: list[Pending[Any]]) -> None:
        for pending in idle:
            for made in pending.found:
                if base is not None and definition is not None and made.stands(base) and not pending.delivered:
                    self.on_grant_found(base, definition, made)
            pending.resolve(base)

    async def load(self, workflow_id: bytes, read: Read = Read.LOCAL) -> Workflow | None:
        """Read it; tombstones too. Raises StoreError."""
        found = await self._workflows.load(workflow_id, read, tombstones=True)
        if found is not None:
            self.on_read(found)
        return found

    async def _store(
        self, box: _Box, base: Workflow | None, definition: Definition, new: Workflow, writers: list[Pending[Any]]
    ) -> Workflow | None:
        """Write; on success the writers are answered. None = the race is lost."""
        sealed = seal(definition, base, new, self._clock.now())
        try:
            check_budget(base, sealed)
            stored = await self._workflows.commit(base, sealed)
        except StoreUnavailable:
            box.doubt = _Doubt(sealed, definition, writers)
            raise
        except BaseException:
            undo(writers)
            raise
        if not stored:
            undo(writers)
            return None
        warn_if_near(base, sealed)
        self._is_stored(box, sealed, definition, writers)
        return sealed

    def _is_stored(self, box: _Box, stored: Workflow, definition: Definition, writers: list[Pending[Any]]) -> None:
        box.workflow = stored
        try:
            self._after(stored, definition, [pending.turn for pending in writers if pending.turn is not None])
        except Exception:  # it is stored: what follows are hints, and the callers hear OK
            logger.exception("the effects of a stored change failed", extra=about(stored))
            self._supervisor.failures += 1
        for pending in writers:
            pending.resolve(stored)

    async def _find_out(
        self, workflow_id: bytes, box: _Box, doubt: _Doubt, batch: list[Pending[Any]]
    ) -> tuple[Workflow | None, list[Pending[Any]]]:
        """After an unknown result: is the write there? Returns the instance and what is still to be applied."""
        found = await self.load(workflow_id, Read.LINEARIZABLE)
        box.workflow, box.doubt = found, None
        if found == doubt.sealed and found is not None:
            self._is_stored(box, found, doubt.definition, doubt.writers)
            return found, [pending for pending in batch if not pending.answered]
        for pending in doubt.writers:
            if found is not None and pending.turn is not None:
                self._keep_found(found, doubt.definition, pending, pending.turn)
        undo(doubt.writers)
        self.on_doubt(workflow_id)
        return found, batch

    def _keep_found(self, found: Workflow, definition: Definition, pending: Pending[Any], turn: Turn) -> None:
        # Others have written since: of what the write did, its claims can still be told apart.
        # What travels with an answer comes again with the answer to a repeat, which finds a slot then.
        for made in turn.grants:
            if made.stands(found) and not made.returned:
                turn.reserved = [slot for slot in turn.reserved if slot is not made.slot]
                pending.delivered = True
                self.on_grant_found(found, definition, made)

    async def _lost_race(self, workflow_id: bytes, box: _Box) -> Workflow | None:
        self.conflicts += 1
        box.workflow = None
        if self._clock.unshifted() >= box.give_up:
            raise StoreUnavailable("every race for this workflow was lost for too long")
        return await self.load(workflow_id)

    async def _reduce(self, workflow_id: bytes, box: _Box, batch: list[Pending[Any]], error: DocumentTooLarge) -> None:
        """The document is too large: each command alone, so that only the one that does it pays; that one brings less, or is refused."""
        if len(batch) > 1:
            for pending in batch:
                await self._round(workflow_id, box, [pending])
            return
        guilty = batch[0]
        if guilty.command.shrink():
            await self._round(workflow_id, box, batch)
            return
        guilty.error = error
        guilty.resolve(None)

    def _definition_at_hand(self, base: Workflow | None, batch: list[Pending[Any]]) -> Definition | None:
        if base is not None:
            return NOTHING if base.tombstone is not None else self._catalog.of_at_hand(base)
        begun = next((found for pending in batch if (found := pending.command.begin()) is not None), None)
        return begun[0] if begun is not None else None

    def _apply(
        self, base: Workflow | None, definition: Definition | None, batch: list[Pending[Any]]
    ) -> tuple[Workflow | None, list[Pending[Any]], list[Pending[Any]], Definition | None]:
        """What comes of the commands, who has changed something, who has not, and the definition by which the instance goes on."""
        current = base
        writers: list[Pending[Any]] = []
        idle: list[Pending[Any]] = []
        for pending in batch:
            pending.answer = pending.error = pending.turn = None
            pending.found = []
            begun = pending.command.begin() if current is None else None
            start = current if current is not None else begun[1] if begun is not None else None
            if start is None or definition is None or (start.tombstone is not None and not isinstance(pending.command, OfTombstones)):
                pending.error = Rejection(Reason.WORKFLOW_NOT_FOUND, "There is no workflow with this key.")
                changed = None
            else:
                changed = self._apply_one(pending, definition, start, not writers)
            if changed is None or changed is current:
                idle.append(pending)
            else:
                current = changed
                writers.append(pending)
                definition = _goes_on_by(pending, definition)
        return current, writers, idle, definition

    def _apply_one(self, pending: Pending[Any], definition: Definition, start: Workflow, is_first: bool) -> Workflow | None:
        turn = self._make_turn(definition, start)
        turn.is_first = is_first
        try:
            pending.answer = pending.command.apply(turn)
        except (Rejection, FieldViolation) as error:
            pending.error = error
        except Exception as error:  # a fault of ours must not fail the other commands of the batch
            logger.exception("a command failed", extra=about(start))
            self._supervisor.failures += 1
            pending.error = error
        else:
            changed = turn.draft.finish()
            if changed is not start:
                pending.turn = turn
                return changed
        pending.found = turn.found
        turn.undo()
        return None


def _goes_on_by(pending: Pending[Any], definition: Definition | None) -> Definition | None:
    # A command may give the instance options of its own, or another definition.
    return pending.turn.draft.definition if pending.turn is not None else definition
