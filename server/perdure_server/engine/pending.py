"""A command that waits in a mailbox, and how its caller is answered."""

import asyncio
from collections.abc import Iterable
from typing import Any, Generic, Protocol, TypeVar

from perdure_server.engine.turn import Grant, Turn
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.workflow import Workflow
from perdure_server.ports.errors import StoreUnavailable

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)


class Command(Protocol[A_co]):
    """What is to be done to one workflow. Applied perhaps several times, each time to the then current instance."""

    def apply(self, turn: Turn) -> A_co:
        """Change the turn's draft and return the answer. Raises Rejection."""

    def begin(self) -> tuple[Definition, Workflow] | None:
        """For a start: the definition, and what an absent workflow becomes. Others return None: not found."""

    def shrink(self) -> bool:
        """The document would be too large with this command: reduce what it brings. False = it cannot."""


class OfTombstones:
    """A mark: this command is applied to what is left of a removed key, too. For the others there is no workflow."""


class Pending(Generic[A]):
    """A command in a mailbox."""

    def __init__(self, command: Command[A], future: "asyncio.Future[tuple[A, Workflow]]") -> None:
        self.command = command
        self.future = future
        self.answered = False
        self.answer: A | None = None
        self.error: Exception | None = None
        self.turn: Turn | None = None
        self.found: list[Grant] = []  # what an earlier try of it has done after all, though its write was not there when it was looked for
        self.delivered = False  # and has been told of

    def resolve(self, workflow: Workflow | None) -> None:
        """Answer the caller, if it is still there."""
        if workflow is None and self.error is None:
            self.error = Rejection(Reason.WORKFLOW_NOT_FOUND, "There is no workflow with this key.")
        self.answered = True
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result((self.answer, workflow))  # type: ignore[arg-type]  # both set by the same apply that set no error


def undo(writers: Iterable[Pending[Any]]) -> None:
    """The write of these commands did not happen: give back the slots that they reserved."""
    for pending in writers:
        if pending.turn is not None:
            pending.turn.undo()


def fail(batch: Iterable[Pending[Any]], error: Exception) -> None:
    """Answer those that have no answer yet with an error."""
    for pending in batch:
        if not pending.answered:
            pending.error = error
            pending.resolve(None)


def stopped() -> StoreUnavailable:
    """What callers hear of commands that the end of the server leaves open."""
    return StoreUnavailable("the server stopped before the result was known")
