"""One mailbox per workflow: commands queue in the process, are applied together, and share one conditional write.

The mailbox owns the write, so a cancelled call never cancels it. A lost race or an unknown result reads again and applies each
command again; every command recognises its own effect. A refusal or a no-op is answered only from a linearizable read, or right
after an own acknowledged write.
"""

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from perdure_server.engine.catalog import Catalog
from perdure_server.engine.parts import Parts
from perdure_server.engine.turn import Turn
from perdure_server.kernel import limits
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.rejection import FieldViolation, Reason, Rejection
from perdure_server.kernel.seal import seal
from perdure_server.kernel.workflow import Workflow
from perdure_server.ports.errors import DocumentTooLarge, StoreUnavailable
from perdure_server.ports.store import Read

logger = logging.getLogger(__name__)

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)
GIVE_UP_AFTER = 10 * limits.SECOND
_PAUSE = 20


class Command(Protocol[A_co]):
    """What is to be done to one workflow. Applied perhaps several times, each time to the then current instance."""

    def apply(self, turn: Turn) -> A_co:
        """Change the turn's draft and return the answer. Raises Rejection."""

    def begin(self) -> tuple[Definition, Workflow] | None:
        """For a start: the definition, and what an absent workflow becomes. Others return None: not found."""

    def shrink(self) -> bool:
        """The document would be too large with this command: reduce what it brings. False = it cannot."""


class Pending(Generic[A]):
    """A command in a mailbox."""

    def __init__(self, command: Command[A], future: "asyncio.Future[tuple[A, Workflow]]") -> None:
        self.command = command
        self.future = future
        self.answer: A | None = None
        self.error: Exception | None = None
        self.turn: Turn | None = None

    def resolve(self, workflow: Workflow) -> None:
        """Answer the caller, if it is still there."""
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result((self.answer, workflow))  # type: ignore[arg-type]  # set by the same apply that set no error


class _Box:
    def __init__(self) -> None:
        self.pending: deque[Pending[Any]] = deque()
        self.workflow: Workflow | None = None
        self.running = False


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
        self.conflicts = 0

    def submit(self, workflow_id: bytes, command: Command[A]) -> "asyncio.Future[tuple[A, Workflow]]":
        """Queue a command. The future gives its answer and the instance after it; cancelling the future cancels nothing else."""
        future: asyncio.Future[tuple[A, Workflow]] = asyncio.get_running_loop().create_future()
        box = self._boxes.get(workflow_id)
        if box is None:
            box = self._boxes[workflow_id] = _Box()
        box.pending.append(Pending(command, future))
        if not box.running:
            box.running = True
            self._supervisor.run(self._run(workflow_id, box), "mailbox")
        return future

    def known(self, workflow_id: bytes) -> Workflow | None:
        """The instance as this server last saw it, perhaps stale; for hints only."""
        box = self._boxes.get(workflow_id)
        return box.workflow if box is not None else None

    def forget(self, workflow_id: bytes) -> None:
        """Another server changed it: read again next time."""
        box = self._boxes.get(workflow_id)
        if box is not None and not box.running:
            del self._boxes[workflow_id]

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
            for pending in box.pending:
                pending.future.cancel()
            if box.workflow is None or box.workflow.is_ended:
                self._boxes.pop(workflow_id, None)
            else:
                self._boxes.move_to_end(workflow_id)
                self._trim()

    def _trim(self) -> None:
        excess = len(self._boxes) - self._cache_size
        if excess <= 0:
            return
        for workflow_id in [key for key, box in list(self._boxes.items())[: excess * 2] if not box.running][:excess]:
            del self._boxes[workflow_id]

    async def _answer(self, workflow_id: bytes, box: _Box, batch: list[Pending[Any]]) -> None:
        give_up = self._clock.now() + GIVE_UP_AFTER
        left = batch
        while left:
            try:
                left = await self._round(workflow_id, box, left)
            except StoreUnavailable as error:
                box.workflow = None
                if self._clock.now() >= give_up:
                    _fail(left, error)
                    return
                await self._clock.sleep(_PAUSE)
            except asyncio.CancelledError:
                for pending in left:
                    pending.future.cancel()
                raise
            except Exception as error:
                box.workflow = None
                logger.exception("a mailbox round failed")
                _fail(left, error)
                return

    async def _round(self, workflow_id: bytes, box: _Box, batch: list[Pending[Any]]) -> list[Pending[Any]]:
        """One read if needed, one application, one write; returns those that must go again."""
        base, exact = box.workflow, False
        if base is None and batch[0].command.begin() is None:
            base = await self._workflows.load(workflow_id)
        while True:
            definition = await self._definition(base, batch)
            new, writers, idle = self._apply(base, definition, batch)
            if writers:
                assert definition is not None, "only an instance with its definition can change"
                assert new is not None, "a writer made one"
                stored = await self._store(base, definition, new, writers)
                if stored is None:
                    self.conflicts += 1
                    box.workflow = None
                    base = await self._workflows.load(workflow_id)
                    continue
                box.workflow = base = stored
                exact = True
                self._after(stored, definition, [pending.turn for pending in writers if pending.turn is not None])
                for pending in writers:
                    pending.resolve(stored)
            if not idle:
                return []
            if exact:
                for pending in idle:
                    _settle_idle(pending, base)
                return []
            base, exact, batch = await self._workflows.load(workflow_id, Read.LINEARIZABLE), True, idle
            box.workflow = base

    async def _definition(self, base: Workflow | None, batch: list[Pending[Any]]) -> Definition | None:
        if base is not None:
            key = base.key
            return await self._catalog.get(key.namespace, key.workflow_type, base.fingerprint)
        begun = next((found for pending in batch if (found := pending.command.begin()) is not None), None)
        return begun[0] if begun is not None else None

    def _apply(
        self, base: Workflow | None, definition: Definition | None, batch: list[Pending[Any]]
    ) -> tuple[Workflow | None, list[Pending[Any]], list[Pending[Any]]]:
        current = base
        writers: list[Pending[Any]] = []
        idle: list[Pending[Any]] = []
        for pending in batch:
            pending.answer = pending.error = pending.turn = None
            begun = pending.command.begin() if current is None else None
            if current is None and begun is None:
                pending.error = Rejection(Reason.WORKFLOW_NOT_FOUND, "There is no workflow with this key.")
                idle.append(pending)
                continue
            start = current if current is not None else begun[1]  # type: ignore[index]  # one of the two is there
            assert definition is not None, "an instance has a definition"
            turn = self._make_turn(definition, start)
            try:
                pending.answer = pending.command.apply(turn)
            except (Rejection, FieldViolation) as error:
                turn.undo()
                pending.error = error
                idle.append(pending)
                continue
            changed = turn.draft.finish()
            if changed is current:
                turn.undo()
                idle.append(pending)
            else:
                current = changed
                pending.turn = turn
                writers.append(pending)
        return current, writers, idle

    async def _store(self, base: Workflow | None, definition: Definition, new: Workflow, writers: list[Pending[Any]]) -> Workflow | None:
        sealed = seal(definition, base, new, self._clock.now())
        stored = False
        try:
            stored = await self._workflows.commit(base, sealed)
        except DocumentTooLarge:
            if not _shrink(writers):
                raise
        finally:
            if not stored:
                _undo(writers)
        return sealed if stored else None


def _undo(writers: list[Pending[Any]]) -> None:
    for pending in writers:
        if pending.turn is not None:
            pending.turn.undo()


def _shrink(writers: list[Pending[Any]]) -> bool:
    shrunk = [pending.command.shrink() for pending in writers]  # every one, not only the first that can
    return any(shrunk)


def _settle_idle(pending: Pending[Any], base: Workflow | None) -> None:
    if base is None and pending.error is None:
        pending.error = Rejection(Reason.WORKFLOW_NOT_FOUND, "There is no workflow with this key.")
    if pending.error is not None:
        if not pending.future.done():
            pending.future.set_exception(pending.error)
        return
    assert base is not None, "an answer without an error is about an instance"
    pending.resolve(base)


def _fail(batch: list[Pending[Any]], error: Exception) -> None:
    for pending in batch:
        if not pending.future.done():
            pending.future.set_exception(error)
