"""New rounds of a key: the old one is archived, one conditional write makes its document the new round, a duty activates the archived one.

A crash after any of these writes leaves the old round as it was (and an inert copy that nobody looks at), or a duty that the sweep finds.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from perdure_server.engine.catalog import Catalog
from perdure_server.engine.commands import ActivateCommand, OtherRun, RoundNeeded, StartCommand
from perdure_server.engine.duties import Duties
from perdure_server.engine.locks import KeyedLocks
from perdure_server.engine.mailbox import GIVE_UP_AFTER, Mailboxes
from perdure_server.engine.parts import Parts
from perdure_server.engine.pending import Command, stopped
from perdure_server.engine.values import Started
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.effects import Effect
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.rounds import Opened, archived_id, next_round, opens_round, round_after_tombstone
from perdure_server.kernel.start import Start, begin, meet
from perdure_server.kernel.workflow import Duty, DutyKind, Workflow, WorkflowKey, round_id
from perdure_server.ports.errors import CorruptDocument, StoreUnavailable
from perdure_server.ports.store import Read

A = TypeVar("A")
Follow = Callable[[Workflow, Definition, Sequence[Effect]], None]

_PAUSE_FIRST = 10
_PAUSE_CAP = 500
_LISTED_TOGETHER = 100


async def submit_to_run(mailboxes: Mailboxes, workflow_id: bytes, command: Command[A]) -> tuple[A, Workflow]:
    """Submit a command that names its run; if that is of an earlier round, to the archived round. Raises what the command does."""
    try:
        return await mailboxes.submit(workflow_id, command)
    except OtherRun as error:
        if error.archived_id is None:
            raise
        try:
            return await mailboxes.submit(error.archived_id, command)
        except Rejection as refusal:
            gone = refusal.reason in (Reason.WORKFLOW_NOT_FOUND, Reason.WORKFLOW_CLOSED)
            raise (error if gone else refusal) from None


class Rounds:
    """Opens rounds, activates archived ones, lists them. `follow` performs the effects of a stored instance."""

    def __init__(self, parts: Parts, mailboxes: Mailboxes, catalog: Catalog, duties: Duties, follow: Follow) -> None:
        self._workflows = parts.store.workflows
        self._clock = parts.clock
        self._supervisor = parts.supervisor
        self._mailboxes = mailboxes
        self._catalog = catalog
        self._follow = follow
        self._locks = KeyedLocks()
        duties.register(DutyKind.ACTIVATE_ROUND, self._activate)

    async def open(self, command: Start, definition: Definition) -> Started:
        """Begin the next round of a key, or meet what has it by then. A call that is cancelled breaks nothing off.

        Raises Rejection, StoreUnavailable.
        """
        if self._supervisor.closed:
            raise stopped()
        future: asyncio.Future[Started] = asyncio.get_running_loop().create_future()
        self._supervisor.run(self._open_for(future, command, definition), "round")
        return await future

    async def check(self, command: Start, definition: Definition) -> Started:
        """What this start would answer, with nothing stored and no run id. Raises Rejection, StoreUnavailable."""
        now = self._clock.now()
        existing = await self._workflows.load(command.key.workflow_id, Read.LINEARIZABLE, tombstones=True)
        if existing is None:
            return Started(replace(begin(definition, command, now)[0], run_id=""), True)
        if not opens_round(existing, command):
            meet(existing, command)
            return Started(await self.answer(command, existing), False)
        opened, _ = await self._prepare(existing, command, definition)
        superseded = opened.archived is not None and not existing.is_ended
        return Started(replace(opened.workflow, run_id=""), True, opened.archived if superseded else None)

    async def answer(self, command: Start, workflow: Workflow) -> Workflow:
        """The round that a repeat of a start is of: archived perhaps. Once that is removed: the current one. Raises StoreUnavailable."""
        past = next((known.round for known in workflow.past_requests if known.request_id == command.request_id), None)
        if command.run_id in workflow.past_runs:
            place = archived_id(workflow, command.run_id)
        elif past is not None:
            place = round_id(workflow.key.workflow_id, past)
        else:
            return workflow
        found = await self._workflows.load(place, Read.LINEARIZABLE) if place is not None else None
        return found or workflow

    async def kept(self, key: WorkflowKey, below: int | None, limit: int) -> tuple[Sequence[Workflow], int | None]:
        """The kept rounds with numbers under `below`, newest first, at most `limit`; and under which the next page goes on, if any.

        Raises Rejection WORKFLOW_NOT_FOUND, StoreUnavailable.
        """
        current = await self._workflows.load(key.workflow_id, Read.LINEARIZABLE, tombstones=True)
        if current is None:
            raise Rejection(Reason.WORKFLOW_NOT_FOUND, "There is no workflow with this key.")
        found = [current] if current.tombstone is None and (below is None or current.round < below) else []
        number = min(current.round, below or current.round)
        while number > 1 and len(found) <= limit:
            numbers = range(number - 1, max(0, number - 1 - _LISTED_TOGETHER), -1)
            found += await self._archived(key, numbers)
            number = numbers[-1]
        return found[:limit], found[limit - 1].round if len(found) > limit else None

    async def _archived(self, key: WorkflowKey, numbers: Sequence[int]) -> list[Workflow]:
        ids = [round_id(key.workflow_id, number) for number in numbers]
        there = await self._workflows.revisions(ids, Read.LINEARIZABLE)  # a redaction must not miss one
        loads = [self._workflows.load(workflow_id) for workflow_id in ids if workflow_id in there]
        found = await asyncio.gather(*loads, return_exceptions=True)
        for error in found:
            if isinstance(error, BaseException) and not isinstance(error, CorruptDocument):
                raise error
        return [workflow for workflow in found if isinstance(workflow, Workflow)]

    async def _open_for(self, future: "asyncio.Future[Started]", command: Start, definition: Definition) -> None:
        try:
            async with self._locks.of(command.key.workflow_id):
                if future.done():
                    return  # its caller has gone, and nothing of it has begun
                started = await self._open(command, definition)
        except asyncio.CancelledError:
            if not future.done():
                future.set_exception(stopped())
            raise
        except Exception as error:  # noqa: BLE001 -- whatever it is, the caller waits for an answer
            if not future.done():
                future.set_exception(error)
        else:
            if not future.done():
                future.set_result(started)

    async def _open(self, command: Start, definition: Definition) -> Started:
        give_up = self._clock.unshifted() + GIVE_UP_AFTER
        pause = _PAUSE_FIRST
        attempt: tuple[Opened, Definition] | None = None
        while True:
            trouble = StoreUnavailable("every race for this workflow was lost for too long")
            try:
                existing = await self._workflows.load(command.key.workflow_id, Read.LINEARIZABLE, tombstones=True)
                if existing is None or not opens_round(existing, command):
                    return await self._meet(command, definition, attempt)
                attempt = await self._prepare(existing, command, definition)
                opened = attempt[0]
                archived = opened.archived is None or await self._archive(opened.archived)
                if archived and await self._workflows.commit(existing, opened.workflow):
                    return self._stored(attempt, definition)
            except RoundNeeded:
                pass  # it ended between the two looks
            except StoreUnavailable as error:
                trouble = error
            if self._clock.unshifted() >= give_up:
                raise trouble
            await self._clock.sleep(pause)
            pause = min(2 * pause, _PAUSE_CAP)

    async def _prepare(self, existing: Workflow, command: Start, definition: Definition) -> tuple[Opened, Definition]:
        now = self._clock.now()
        if existing.tombstone is not None:
            return round_after_tombstone(definition, existing, command, now), definition
        of_old = await self._catalog.of(existing)
        return next_round((of_old, definition), existing, command, now), of_old

    async def _archive(self, archived: Workflow) -> bool:
        """Store it, inert. False = it is behind what others have stored.

        Copies of one revision of the old round differ in times only. An older one never replaces a newer one, whose round may begin by now.
        """
        if await self._workflows.commit(None, archived):
            return True
        known = await self._workflows.load(archived.workflow_id, Read.LINEARIZABLE)
        if known is None or not known.inert:
            return False
        if known.run_id == archived.run_id and known.revision >= archived.revision:
            return known.revision == archived.revision
        return await self._workflows.commit(known, archived)

    async def _meet(self, command: Start, definition: Definition, attempt: tuple[Opened, Definition] | None) -> Started:
        start = StartCommand(command, definition, self._clock.now())
        created, workflow = await self._mailboxes.submit(command.key.workflow_id, start)
        if created and attempt is not None and workflow.run_id == command.run_id:
            return self._stored(attempt, definition)  # by a write of unknown result
        return Started(await self.answer(command, workflow), created)

    def _stored(self, attempt: tuple[Opened, Definition], definition: Definition) -> Started:
        opened, of_old = attempt
        self._mailboxes.forget(opened.workflow.workflow_id)
        if opened.archived is not None:
            self._follow(opened.archived, of_old, opened.lost)
        self._follow(opened.workflow, definition, opened.effects)
        superseded = opened.archived is not None and not opened.archived.is_ended
        return Started(opened.workflow, True, opened.archived if superseded else None)

    async def _activate(self, workflow: Workflow, duty: Duty) -> bool:
        try:
            await self._mailboxes.submit(round_id(workflow.key.workflow_id, duty.round), ActivateCommand())
        except Rejection as error:
            if error.reason is not Reason.WORKFLOW_NOT_FOUND:
                raise
        return True
