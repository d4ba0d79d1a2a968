"""Writing the claim of a step that holds its permits."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from msgspec.structs import replace

from perdure_server.engine.commands import GrantCommand
from perdure_server.engine.desk import Desk, Slot
from perdure_server.engine.lines import Line
from perdure_server.engine.mailbox import Mailboxes
from perdure_server.engine.parts import Parts
from perdure_server.engine.waiters import Waiter
from perdure_server.kernel.permits import PermitsLacking
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.workflow import HeldPermit, Workflow
from perdure_server.ports.errors import StoreUnavailable

_STAMPS = 8  # how often the permits of one claim follow their workflow, before they go back
_AGAIN = 100

Written = asyncio.Future[tuple[None, Workflow]]


class Owner(Protocol):
    """Where permits come from, and go back to."""

    desk: Desk

    def line(self, namespace: str, resource: str, key: str) -> Line:
        """The line of a resource, or of one key of it."""

    def give_back(self, namespace: str, parts: Sequence[HeldPermit], nonce: str) -> None:
        """These units hold no claim, for sure."""

    def enter(self, workflow_id: bytes, name: str, slot: Slot | None) -> None:
        """A READY step needs permits."""


class PermitClaims:
    """One write as a rule; a claim that loses its race follows its workflow, or gives its permits back."""

    def __init__(self, parts: Parts, mailboxes: Mailboxes, owner: Owner) -> None:
        self._clock = parts.clock
        self._supervisor = parts.supervisor
        self._mailboxes = mailboxes
        self._owner = owner
        self._writing: set[tuple[bytes, str]] = set()

    def is_writing(self, workflow_id: bytes, name: str) -> bool:
        """Whether a claim of the step is under way; whoever reads the step meanwhile may still find it READY."""
        return (workflow_id, name) in self._writing

    def write(self, waiter: Waiter, slot: Slot, parts: tuple[HeldPermit, ...]) -> None:
        """Write the claim with its permits. They go back only when it is known that no such write can succeed any more."""
        waited = self._clock.unshifted() - waiter.entered
        permits_for = (waiter.taken_for.run_id, waiter.taken_for.revision)
        slot.ticket = replace(slot.ticket, permits=parts, permits_for=permits_for, waited=waited)
        place = (waiter.workflow.workflow_id, waiter.name)
        self._writing.add(place)
        if slot.pool.prepare is not None:
            self._supervisor.run(self._claim(waiter, slot, None), "grant")
            return

        def done(written: Written) -> None:
            if written.cancelled() or written.exception() is not None:
                self._supervisor.run(self._claim(waiter, slot, written), "grant")
            else:
                self._writing.discard(place)

        self._submit(waiter, slot).add_done_callback(done)

    def _submit(self, waiter: Waiter, slot: Slot) -> Written:
        return self._mailboxes.submit(waiter.workflow.workflow_id, GrantCommand(waiter.name, slot))

    async def _claim(self, waiter: Waiter, slot: Slot, first: Written | None) -> None:
        """`first`: the first try, which has failed."""
        key, nonce = waiter.workflow.key, slot.ticket.nonce
        granted = False
        try:
            if first is None and not await _prepared(slot):
                self._owner.give_back(key.namespace, slot.ticket.permits, nonce)
                self._enter_later(waiter)
                return
            granted = await self._until_written(waiter, slot, first)
        except Rejection as error:
            if error.reason is not Reason.DEFINITION_NOT_FOUND:  # judged without the instance
                self._owner.give_back(key.namespace, slot.ticket.permits, nonce)
        finally:
            self._writing.discard((waiter.workflow.workflow_id, waiter.name))
            if not granted:
                self._owner.desk.release(slot)

    async def _until_written(self, waiter: Waiter, slot: Slot, first: Written | None) -> bool:
        """Whether the claim is stored. Raises Rejection: it is not, and never will be; StoreUnavailable: the audit will find out."""
        written = first
        for _ in range(_STAMPS):
            try:
                await (written or self._submit(waiter, slot))
            except PermitsLacking:
                written = None
                if not await self._follow(waiter, slot):
                    break
            else:
                return True
        found = self._mailboxes.known(waiter.workflow.workflow_id)
        if found is not None and slot.ticket.permits_for != (found.run_id, found.revision):
            self._owner.give_back(found.key.namespace, slot.ticket.permits, slot.ticket.nonce)  # else a write may still be under way
        self._enter_later(waiter)
        return False

    async def _follow(self, waiter: Waiter, slot: Slot) -> bool:
        """The race is lost: stamp the permits anew, if they are still held, for the workflow as it is now."""
        found = self._mailboxes.known(waiter.workflow.workflow_id)
        if found is None or found.run_id != waiter.taken_for.run_id or slot.ticket.permits_for == (found.run_id, found.revision):
            return False
        key, nonce = found.key, slot.ticket.nonce
        stamps = [
            self._owner.line(key.namespace, part.resource, part.key).box(part.stripe).stamp(nonce, found.revision)
            for part in slot.ticket.permits
            if part.kept
        ]
        if not all(await asyncio.gather(*stamps)):
            return False
        slot.ticket = replace(slot.ticket, permits_for=(found.run_id, found.revision))
        return True

    def _enter_later(self, waiter: Waiter) -> None:
        self._supervisor.run(self._enter_again(waiter.workflow.workflow_id, waiter.name), "permits enter")

    async def _enter_again(self, workflow_id: bytes, name: str) -> None:
        await self._clock.sleep(_AGAIN)  # what refused it may be a view that is not fresh yet
        self._owner.enter(workflow_id, name, None)


async def _prepared(slot: Slot) -> bool:
    if slot.pool.prepare is None:
        return True
    try:
        await slot.pool.prepare(slot.ticket.session_id)
    except StoreUnavailable:
        return False
    return True
