"""What people ask of one workflow: pause, resume, terminate, replay, resolve a step, delete."""

from collections.abc import Callable
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from perdure_server.engine.commands import require_etag, require_ref
from perdure_server.engine.entropy import own_request_id
from perdure_server.engine.mailbox import Mailboxes
from perdure_server.engine.parts import Parts
from perdure_server.engine.queries import Queries
from perdure_server.engine.spill import TRIES, Spill, SpilledElsewhere, require_home
from perdure_server.engine.turn import Turn
from perdure_server.engine.values import Ref
from perdure_server.kernel import people
from perdure_server.kernel.definition import Definition, StepOptions
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.options import update_options
from perdure_server.kernel.outcomes import Completed, Failed
from perdure_server.kernel.reopening import left_in_doubt, reopened
from perdure_server.kernel.resolving import Resolution, resolve
from perdure_server.kernel.workflow import Paused, Workflow
from perdure_server.ports.errors import StoreUnavailable

_ALSO_ARCHIVED = "resolve"  # or the finalizer of an archived round could not be passed


class Done(Struct, frozen=True):
    """The answer to a verb. Of a replay, not of its repeat: `reopened` is done again, `in_doubt` is not, though it may be undone."""

    workflow: Workflow
    duplicate: bool
    definition: Definition
    reopened: tuple[str, ...] = ()
    in_doubt: tuple[str, ...] = ()


class Conditions(Struct, frozen=True):
    """What must hold for a verb: `etag` "" = whatever has changed. `validate_only`: say what would be, and store nothing.

    `content`: a digest of what is asked for beside the verb; a repeat of the `request_id` with another is refused.
    """

    request_id: str = ""
    etag: str = ""
    validate_only: bool = False
    content: str = ""


Act = Callable[[Draft, str], bool]
"""Does the verb, and remembers the request id that it is given. False = a repeat."""


class VerbCommand:
    """A verb on one workflow. Answers whether it was a repeat, and the definition by which it was decided."""

    def __init__(self, ref: Ref, verb: str, conditions: Conditions, act: Act) -> None:
        self._ref = ref
        self.verb = verb
        self._request_id, self._content = conditions.request_id, conditions.content
        self._etag = conditions.etag
        self._act = act

    def begin(self) -> tuple[Definition, Workflow] | None:
        """A verb needs an instance that is there."""
        return None

    def shrink(self) -> bool:
        """A verb brings nothing that could be left out."""
        return False

    def apply(self, turn: Turn) -> tuple[bool, Definition]:
        """True = nothing new."""
        done = self.decide(turn.draft, turn.is_first)
        turn.grant_ready(None, returned=False)
        return not done, turn.draft.definition

    def decide(self, draft: Draft, is_first: bool) -> bool:
        """False = a repeat. `is_first`: nothing else has changed the instance since the revision that its etag names."""
        if people.is_repeat(draft.workflow, self.verb, self._request_id, self._content):
            return False  # before fence and etag are compared: the verb itself has changed them
        require_ref(draft.workflow, self._ref)
        require_etag(draft.workflow, self._etag, is_first)
        return self._act(draft, self._request_id)


class People:
    """All methods raise Rejection, FieldViolation and StoreUnavailable; a `request_id` that is remembered makes a repeat of a call one.

    A call without one is given its own, so that it recognises its effect after an unknown result.
    """

    def __init__(self, parts: Parts, mailboxes: Mailboxes, queries: Queries, spill: Spill) -> None:
        self._clock = parts.clock
        self._mailboxes = mailboxes
        self._queries = queries
        self._entropy = parts.entropy
        self._spill = spill

    async def pause(self, ref: Ref, paused: Paused, conditions: Conditions) -> Done:
        """No grants until somebody resumes."""
        return await self._do(ref, "pause", conditions, lambda draft, own: people.pause(draft, paused, own))

    async def resume(self, ref: Ref, conditions: Conditions) -> Done:
        """Grants again."""
        return await self._do(ref, "resume", conditions, people.resume)

    async def terminate(self, ref: Ref, reason: str, conditions: Conditions) -> Done:
        """End at once, without hooks."""
        return await self._do(ref, "terminate", conditions, lambda draft, own: people.terminate(draft, reason, own))

    async def replay(self, ref: Ref, reopen: tuple[str, ...], conditions: Conditions) -> Done:
        """Reopen an ended workflow."""
        again: list[str] = []
        doubtful: list[str] = []

        def act(draft: Draft, request_id: str) -> bool:
            done = people.replay(draft, reopen, request_id, conditions.content)
            before = Draft(draft.definition, draft.workflow, draft.now)
            found = reopened(before, reopen)
            again[:] = [name for name in draft.definition.ordinary if name in found]
            doubtful[:] = left_in_doubt(before, found)
            return done

        done = await self._do(ref, "replay", conditions, act)
        if done.duplicate:
            return done
        return Done(done.workflow, done.duplicate, done.definition, tuple(again), tuple(doubtful))

    async def resolve(self, ref: Ref, step: str, resolution: Resolution, conditions: Conditions) -> Done:
        """Decide about a held step, or pass a hook."""
        for _ in range(TRIES):
            decided, home = resolution, ""
            if isinstance(resolution, Completed | Failed) and not conditions.validate_only:
                decided, home = await self._spilled(ref, resolution)
            try:
                return await self._do(ref, "resolve", conditions, partial(_resolve, (step, decided, home, conditions.content)))
            except SpilledElsewhere:
                continue
        raise StoreUnavailable("rounds of this key begin faster than a decision is stored")

    async def update_options(self, ref: Ref, step: str, options: StepOptions, conditions: Conditions) -> Done:
        """Change fields of a step's policy for this workflow."""
        return await self._do(ref, "options", conditions, lambda draft, own: update_options(draft, step, options, own, conditions.content))

    async def _do(self, ref: Ref, verb: str, conditions: Conditions, act: Act) -> Done:
        request_id = conditions.request_id or own_request_id(self._entropy)
        command = VerbCommand(ref, verb, replace(conditions, request_id=request_id), act)
        if conditions.validate_only:
            return await self._try(ref, command)
        workflow_id = await self._place(ref) if verb == _ALSO_ARCHIVED else ref.key.workflow_id
        (duplicate, definition), workflow = await self._mailboxes.submit(workflow_id, command)
        return Done(workflow, duplicate, definition)

    async def _place(self, ref: Ref) -> bytes:
        """The `_id` of the document that is meant; an archived one if its round is named."""
        return ref.key.workflow_id if ref.round is None else (await self._queries.load(ref.key.workflow_id, ref)).workflow_id

    async def _try(self, ref: Ref, command: VerbCommand) -> Done:
        view = await self._queries.view(await self._queries.load(ref.key.workflow_id, ref if command.verb == _ALSO_ARCHIVED else None))
        draft = Draft(view.definition, view.workflow, self._clock.now())
        done = command.decide(draft, is_first=True)
        return Done(draft.finish(), not done, draft.definition)

    async def _spilled(self, ref: Ref, resolution: Completed | Failed) -> tuple[Completed | Failed, str]:
        """With its payload put down, and the run that it is put down for; "" = it has none that must be."""
        workflow_id = await self._place(ref)
        payload = resolution.output if isinstance(resolution, Completed) else resolution.failure.details
        if not self._spill.needed(workflow_id, [payload]):
            return resolution, ""
        owner = await self._queries.load(ref.key.workflow_id, ref)
        spilled = await self._spill.outcome(workflow_id, owner.run_id, resolution)
        assert isinstance(spilled, Completed | Failed), "an outcome keeps its kind"
        return spilled, owner.run_id


def _resolve(what: tuple[str, Resolution, str, str], draft: Draft, request_id: str) -> bool:
    step, resolution, home, content = what
    require_home(draft.workflow, home)
    return resolve(draft, step, resolution, request_id, content)
