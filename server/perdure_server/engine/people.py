"""What people ask of one workflow: pause, resume, terminate, replay, resolve a step."""

from collections.abc import Callable

from msgspec import Struct

from perdure_server.engine.commands import require_ref
from perdure_server.engine.mailbox import Mailboxes
from perdure_server.engine.turn import Turn
from perdure_server.engine.values import Ref
from perdure_server.kernel import people
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.outcomes import Completed, Failed
from perdure_server.kernel.workflow import Paused, Workflow


class Done(Struct, frozen=True):
    """The answer to a verb."""

    workflow: Workflow
    duplicate: bool


class VerbCommand:
    """A verb on one workflow. Answers whether it was a repeat."""

    def __init__(self, ref: Ref, act: Callable[[Draft], bool]) -> None:
        self._ref = ref
        self._act = act

    def begin(self) -> tuple[Definition, Workflow] | None:
        """A verb needs an instance that is there."""
        return None

    def shrink(self) -> bool:
        """A verb brings nothing that could be left out."""
        return False

    def apply(self, turn: Turn) -> bool:
        """True = nothing new."""
        require_ref(turn.draft.workflow, self._ref)
        done = self._act(turn.draft)
        turn.grant_ready(None, returned=False)
        return not done


class People:
    """All methods raise Rejection and StoreUnavailable; a `request_id` that is remembered makes a repeat of a call one."""

    def __init__(self, mailboxes: Mailboxes) -> None:
        self._mailboxes = mailboxes

    async def pause(self, ref: Ref, paused: Paused, request_id: str) -> Done:
        """No grants until somebody resumes."""
        return await self._do(ref, lambda draft: people.pause(draft, paused, request_id))

    async def resume(self, ref: Ref, request_id: str) -> Done:
        """Grants again."""
        return await self._do(ref, lambda draft: people.resume(draft, request_id))

    async def terminate(self, ref: Ref, reason: str, request_id: str) -> Done:
        """End at once, without hooks."""
        return await self._do(ref, lambda draft: people.terminate(draft, reason, request_id))

    async def replay(self, ref: Ref, reopen: tuple[str, ...], request_id: str) -> Done:
        """Reopen an ended workflow."""
        return await self._do(ref, lambda draft: people.replay(draft, reopen, request_id))

    async def resolve(self, ref: Ref, step: str, resolution: Completed | Failed | None, request_id: str, *, retry: bool) -> Done:
        """Decide about a held step, or pass a hook."""
        return await self._do(ref, lambda draft: people.resolve(draft, step, resolution, request_id, retry=retry))

    async def _do(self, ref: Ref, act: Callable[[Draft], bool]) -> Done:
        duplicate, workflow = await self._mailboxes.submit(ref.key.workflow_id, VerbCommand(ref, act))
        return Done(workflow, duplicate)
