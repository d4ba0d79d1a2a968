"""RedactPayloads for one workflow: all its rounds, their large payloads, their frames; done before the answer.

The state is written first, then what it no longer refers to is removed, so a crash in between leaves only orphans, and the same request
removes those, too.
"""

from msgspec import Struct, msgpack

from perdure_server.engine.batch_verbs import Item, Verb
from perdure_server.engine.mailbox import Mailboxes
from perdure_server.engine.parts import Parts
from perdure_server.engine.people import Conditions, VerbCommand
from perdure_server.engine.queries import Queries
from perdure_server.engine.rounds import Rounds
from perdure_server.engine.values import Ref
from perdure_server.kernel import limits
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.redaction import PayloadKind, kinds_of, redact, refs_in
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.workflow import Workflow
from perdure_server.ports.errors import CoordinationUnavailable, StoreUnavailable

_ROUNDS = 100


class RedactArguments(Struct, frozen=True):
    """What a batch overwrites in each: kinds as numbered on the wire (none = all), and steps (none = all)."""

    kinds: tuple[int, ...] = ()
    steps: tuple[str, ...] = ()


class Redaction:
    """All methods raise Rejection and StoreUnavailable."""

    def __init__(self, parts: Parts, mailboxes: Mailboxes, queries: Queries, rounds: Rounds) -> None:
        self._payloads = parts.store.payloads
        self._coordination = parts.coordination
        self._clock = parts.clock
        self._mailboxes = mailboxes
        self._queries = queries
        self._rounds = rounds

    async def redact(self, ref: Ref, what: RedactArguments, conditions: Conditions) -> int:
        """Overwrite, and return how many payloads; of a round, if the ref names one, else of all of them."""
        if ref.round is not None:
            return await self._one(await self._queries.load(ref.key.workflow_id, ref), ref, what, conditions)
        count = 0
        below: int | None = None
        current = True
        while True:
            rounds, below = await self._rounds.kept(ref.key, below, _ROUNDS)
            for workflow in rounds:
                count += await self._one(workflow, ref if current else Ref(ref.key), what, conditions)
                current = False
            if below is None:
                return count

    def verb(self) -> Verb:
        """The same as a batch does it."""

        async def perform(item: Item, arguments: bytes) -> object:
            return await self.redact(item.ref, msgpack.decode(arguments, type=RedactArguments), Conditions(item.request_id))

        return Verb("RedactPayloads", perform)

    async def _one(self, workflow: Workflow, ref: Ref, what: RedactArguments, conditions: Conditions) -> int:
        kinds = kinds_of(what.kinds)
        found: list[int] = []

        def act(draft: Draft, request_id: str) -> bool:
            found[:] = [redact(draft, kinds, what.steps, request_id, conditions.content)]
            return bool(found[0])

        command = VerbCommand(Ref(ref.key, None, ref.expected_fence), "redact", conditions, act)
        if conditions.validate_only:
            view = await self._queries.view(workflow)
            command.decide(Draft(view.definition, view.workflow, self._clock.now()), is_first=True)
            return found[0] if found else 0
        begun = self._clock.now()
        before = refs_in(workflow)
        try:
            _, after = await self._mailboxes.submit(workflow.workflow_id, command)
        except Rejection as error:
            if workflow.archived and error.reason is Reason.WORKFLOW_NOT_FOUND:
                return 0  # it was removed meanwhile
            raise
        await self._clear(after, before, begun)
        if PayloadKind.FRAME in kinds:
            await self._drop_frames(workflow.run_id)
        return found[0] if found else 0

    async def _clear(self, workflow: Workflow, before: set[str], begun: int) -> None:
        """Remove what it no longer refers to, and what nothing ever will: a state is given up 60 s after its payloads."""
        kept = refs_in(workflow)
        if before - kept and workflow.is_ended:
            await self._payloads.remove(workflow.run_id, sorted(before - kept))
        await self._payloads.retain(workflow.run_id, sorted(kept), begun - limits.PAYLOAD_UNUSED)

    async def _drop_frames(self, run_id: str) -> None:
        try:
            await self._coordination.drop_frames(run_id)
        except CoordinationUnavailable as error:
            raise StoreUnavailable("the frames cannot be dropped now") from error
