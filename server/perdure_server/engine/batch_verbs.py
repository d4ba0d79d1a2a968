"""What a batch can do to one workflow: each verb is that of the single RPC, under a request id made from the batch.

So it may be done again after a crash: the workflow recognises what it has had. Arguments are stored with the batch, as msgpack.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from msgspec import Struct, msgpack

from perdure_server.engine.hub import Hub
from perdure_server.engine.mailbox import Mailboxes
from perdure_server.engine.people import Conditions, People
from perdure_server.engine.permit_parts import PermitParts
from perdure_server.engine.queries import Queries
from perdure_server.engine.rounds import Rounds
from perdure_server.engine.sweep import Sweep
from perdure_server.engine.values import CancelAccepted, Ref, Signalled
from perdure_server.kernel.resolving import Resolution
from perdure_server.kernel.values import Payload
from perdure_server.kernel.workflow import Paused, Signal, Workflow


class Item(Struct, frozen=True):
    """One workflow of a batch, as read just now. `request_id` is the same at every try."""

    workflow: Workflow
    request_id: str
    actor: str
    reason: str

    @property
    def ref(self) -> Ref:
        """The workflow, if nobody has reopened it or begun a new round meanwhile."""
        return Ref(self.workflow.key, None, self.workflow.fence)


Perform = Callable[[Item, bytes], Awaitable[object]]


class Verb(Struct, frozen=True):
    """How it is done, and the RPC under whose name each is in the audit trail. `removes`: one that is gone counts as done."""

    method: str
    perform: Perform
    removes: bool = False


class SignalArguments(Struct, frozen=True, omit_defaults=True):
    """What is sent to each."""

    signal_name: str
    payload: Payload | None = None


class ReplayArguments(Struct, frozen=True):
    """Completed steps to do again as well."""

    reopen_steps: tuple[str, ...] = ()


class ResolveArguments(Struct, frozen=True):
    """Which step is settled, and how."""

    step: str
    resolution: Resolution


class Calls(Protocol):
    """What the verbs are made of: the engine."""

    people: People
    mailboxes: Mailboxes
    queries: Queries
    rounds: Rounds
    hub: Hub
    permits: PermitParts
    sweep: Sweep

    async def cancel(self, ref: Ref, reason: str, request_id: str, etag: str = "", actor: str = "") -> CancelAccepted:
        """Ask a workflow to cancel."""

    async def signal(self, target: Ref | str, signal: Signal) -> Signalled:
        """Store a signal."""

    @property
    def remove(self) -> Callable[[Ref, Conditions], Awaitable[tuple[Workflow, bool]]]:
        """Delete what has ended."""


def packed(arguments: Struct) -> bytes:
    """Arguments as they are stored."""
    return msgpack.encode(arguments)


def verbs(calls: Calls) -> Mapping[str, Verb]:
    """All verbs of people, by name."""
    people = calls.people

    async def cancel(item: Item, _arguments: bytes) -> object:
        return await calls.cancel(item.ref, item.reason, item.request_id, actor=item.actor)

    async def terminate(item: Item, _arguments: bytes) -> object:
        return await people.terminate(item.ref, item.reason, Conditions(item.request_id))

    async def signal(item: Item, arguments: bytes) -> object:
        found = msgpack.decode(arguments, type=SignalArguments)
        return await calls.signal(item.ref, Signal(item.request_id, found.signal_name, 0, found.payload))

    async def pause(item: Item, _arguments: bytes) -> object:
        return await people.pause(item.ref, Paused(0, item.actor, item.reason), Conditions(item.request_id))

    async def resume(item: Item, _arguments: bytes) -> object:
        return await people.resume(item.ref, Conditions(item.request_id))

    async def replay(item: Item, arguments: bytes) -> object:
        found = msgpack.decode(arguments, type=ReplayArguments)
        return await people.replay(item.ref, found.reopen_steps, Conditions(item.request_id))

    async def delete(item: Item, _arguments: bytes) -> object:
        return await calls.remove(item.ref, Conditions(item.request_id))

    async def resolve(item: Item, arguments: bytes) -> object:
        found = msgpack.decode(arguments, type=ResolveArguments)
        return await people.resolve(item.ref, found.step, found.resolution, Conditions(item.request_id))

    return {
        "cancel": Verb("CancelWorkflow", cancel),
        "terminate": Verb("TerminateWorkflow", terminate),
        "signal": Verb("Signal", signal),
        "pause": Verb("PauseWorkflow", pause),
        "resume": Verb("ResumeWorkflow", resume),
        "replay": Verb("ReplayWorkflow", replay),
        "delete": Verb("DeleteWorkflow", delete, removes=True),
        "resolve_step": Verb("ResolveStep", resolve),
    }
