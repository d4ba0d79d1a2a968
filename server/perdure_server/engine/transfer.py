"""ExportWorkflow and ImportWorkflow: one workflow with all that belongs to it, as a file; and such a file as a paused workflow."""

import hashlib
from collections.abc import AsyncIterator, Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from perdure_server.engine.catalog import Catalog
from perdure_server.engine.entropy import own_request_id
from perdure_server.engine.export_file import (
    FORMAT,
    VERSION,
    Content,
    DefinitionLine,
    Head,
    PayloadLine,
    RoundLine,
    WorkflowLine,
    Writer,
    invalid,
    read,
    without_payloads,
    without_rights,
)
from perdure_server.engine.hub import Hub
from perdure_server.engine.parts import Parts
from perdure_server.engine.queries import Queries
from perdure_server.engine.rounds import Rounds
from perdure_server.engine.values import Ref, View
from perdure_server.kernel import limits
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.imported import open_children, rest
from perdure_server.kernel.redaction import refs_in
from perdure_server.kernel.rejection import FieldViolation, Reason, Rejection
from perdure_server.kernel.requests import is_known, with_request
from perdure_server.kernel.seal import seal
from perdure_server.kernel.workflow import STEP_ENDS, Paused, Step, StepState, Workflow, WorkflowKey
from perdure_server.ports.store import Read

_IMPORT = "import"
_DIGITS = 32
_ROUNDS = 100
_PAYLOADS = 20


class Destination(Struct, frozen=True, omit_defaults=True):
    """Where a file goes, and who says so. `business_key` "" = as exported."""

    namespace: str
    business_key: str = ""
    request_id: str = ""
    actor: str = ""
    validate_only: bool = False


class Transfer:
    """All methods raise Rejection and StoreUnavailable."""

    def __init__(self, parts: Parts, catalog: Catalog, queries: Queries, *, rounds: Rounds, hub: Hub) -> None:
        self._workflows = parts.store.workflows
        self._payloads = parts.store.payloads
        self._clock = parts.clock
        self._entropy = parts.entropy
        self._catalog = catalog
        self._queries = queries
        self._rounds = rounds
        self._hub = hub
        self.admit: Callable[[str, int], None] | None = None  # raises when the namespace has no room for so many bytes

    async def export(self, ref: Ref, omit_payloads: bool, include_rounds: bool) -> AsyncIterator[bytes]:
        """The lines of the file."""
        current = await self._queries.load(ref.key.workflow_id, ref)
        past = await self._past(current) if include_rounds and not current.archived else []
        key, writer = current.key, Writer()
        now = self._clock.now()
        yield writer.line(
            Head(FORMAT, VERSION, key.namespace, key.workflow_type, key.business_key, current.round, now, not omit_payloads, len(past))
        )
        for definition in await self._definitions([current, *past]):
            yield writer.line(DefinitionLine(definition))
        for workflow in (current, *past):
            shown = without_rights(without_payloads(workflow) if omit_payloads else workflow)
            yield writer.line(WorkflowLine(shown) if workflow is current else RoundLine(shown))
            ids = [] if omit_payloads else sorted(refs_in(workflow))
            for start in range(0, len(ids), _PAYLOADS):
                found = await self._payloads.get(workflow.run_id, ids[start : start + _PAYLOADS])
                for payload_id, payload in found.items():
                    yield writer.line(PayloadLine(workflow.run_id, payload_id, payload))
        yield writer.end()

    async def take_in(self, data: bytes, destination: Destination) -> View:
        """Store the workflow of a file: paused if it had not ended, with a new run id and fence.

        Raises Rejection EXPORT_INVALID, WORKFLOW_ALREADY_EXISTS, REQUEST_ID_REUSED; FieldViolation.
        """
        content = read(data)
        definition = self._prepared(content, destination.namespace)
        business_key = destination.business_key or content.workflow.key.business_key
        key = WorkflowKey(destination.namespace, definition.workflow_type, business_key)
        while True:
            existing = await self._workflows.load(key.workflow_id, Read.LINEARIZABLE, tombstones=True)
            if existing is not None and existing.tombstone is None:
                if is_known(existing.actions, _IMPORT, destination.request_id, _content(data)):
                    return await self._queries.view(existing)
                facts = {"state": existing.state.name, "round": str(existing.round)}
                raise Rejection(Reason.WORKFLOW_ALREADY_EXISTS, "The key is in use: import it under another one.", **facts)
            request = with_request((), _IMPORT, destination.request_id or own_request_id(self._entropy), _content(data))
            # Since its export it has stood still: on resume its timeouts move by all of that.
            still = Paused(min(self._clock.now(), content.head.export_time), destination.actor, "imported")
            made = replace(self._made(content.workflow, definition, (key, existing), still), actions=request)
            if destination.validate_only:
                return View(made, definition)
            if self.admit is not None:
                self.admit(destination.namespace, len(data))
            await self._know(definition)
            await self._store_payloads(content, made)
            if await self._workflows.commit(existing, made):
                self._hub.changed(made)
                return View(made, definition)

    def _prepared(self, content: Content, namespace: str) -> Definition:
        workflow = content.workflow
        found = next((each for each in content.definitions if each.fingerprint == workflow.fingerprint), None)
        if found is None:
            raise invalid("the workflow's definition is not in it")
        try:
            definition = self._catalog.prepare(replace(found, namespace=namespace))
        except FieldViolation as error:
            raise invalid(f"its definition has faults: {error}") from error
        if definition.fingerprint != workflow.fingerprint or definition.workflow_type != workflow.key.workflow_type:
            raise invalid("the workflow's definition is not the one that it names")
        _check(workflow, definition)
        return definition

    def _made(self, workflow: Workflow, definition: Definition, place: tuple[WorkflowKey, Workflow | None], still: Paused) -> Workflow:
        key, before = place
        now = max(self._clock.now(), before.update_time if before is not None else 0)
        fence = max(now, before.fence + 1 if before is not None else 0)
        fresh = replace(
            _until(workflow, now),
            key=key,
            run_id=self._entropy.hex(12),
            wake_secret=self._entropy.hex(16),
            round=before.round + 1 if before is not None else 1,
            fence=fence,
            update_time=now,
            steps={name: _unclaimed(_step_until(step, now), now) for name, step in workflow.steps.items()},
            request_ids=(),
            past_requests=(),
            past_runs=(*before.past_runs, before.run_id)[-limits.PAST_RUNS :] if before is not None else (),
            duties=before.duties if before is not None else (),  # rounds before it may still have to be removed
            parent=None,
            archived=False,
            inert=False,
            tombstone=None,
            expire_time=now + workflow.retention if workflow.is_ended else None,
            wake_time=None,
        )
        if not fresh.is_ended:
            draft = Draft(definition.with_options(fresh.step_options), fresh, now)
            rest(draft, fresh.paused or still)
            fresh = draft.finish()
        sealed = seal(definition, None, fresh, now)
        return sealed if before is None else replace(sealed, revision=before.revision + 1)

    async def _store_payloads(self, content: Content, made: Workflow) -> None:
        needed = refs_in(made)
        mine = [line for line in content.payloads if line.run_id == content.workflow.run_id and line.payload_id in needed]
        stored = await self._payloads.put(made.run_id, [line.value for line in mine], self._clock.now(), made.workflow_id)
        ids = {payload.ref.payload_id for payload in stored if payload.ref is not None}
        if needed - ids:
            raise invalid("a payload that the workflow refers to is not in it, or was changed")

    async def _know(self, definition: Definition) -> None:
        # One that is registered here keeps its policies.
        try:
            await self._catalog.usable(definition.namespace, definition.workflow_type, definition.fingerprint)
        except Rejection:
            await self._catalog.register(definition, activate=False, only_if_none=False)

    async def _past(self, current: Workflow) -> list[Workflow]:
        found: list[Workflow] = []
        below: int | None = current.round
        while below is not None:
            rounds, below = await self._rounds.kept(current.key, below, _ROUNDS)
            found += rounds
        return found

    async def _definitions(self, workflows: Sequence[Workflow]) -> list[Definition]:
        found: dict[str, Definition] = {}
        for workflow in workflows:
            if workflow.fingerprint not in found:
                found[workflow.fingerprint] = (await self._queries.view(workflow)).definition
        return list(found.values())


def _content(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:_DIGITS]


def _check(workflow: Workflow, definition: Definition) -> None:
    if workflow.archived or workflow.tombstone is not None:
        raise invalid("it holds no current round")
    if set(workflow.steps) - set(definition.by_name):
        raise invalid("it has steps that its definition has not")
    for name in open_children(workflow):
        raise invalid(f"step {name!r} has open children, which are workflows of their own: export it when they have ended")
    ended = sum(step.state in STEP_ENDS for name, step in workflow.steps.items() if name not in definition.hook_steps)
    if workflow.remaining != len(definition.ordinary) - ended or workflow.step_count != len(definition.steps):
        raise invalid("its counts of steps do not fit its steps")
    if workflow.is_ended and (workflow.remaining or any(_is_under_way(step) for step in workflow.steps.values())):
        raise invalid(f"it is {workflow.state.name}, and has steps that have not ended")
    if len(workflow.key.business_key.encode()) > limits.KEY_LENGTH:
        raise invalid("its business key is too long")


def _is_under_way(step: Step) -> bool:
    return step.state is not StepState.BLOCKED and step.state not in STEP_ENDS  # a hook whose turn never came stays BLOCKED


def _unclaimed(step: Step, now: int) -> Step:
    """The step without a claim. It is uncharged, as if it had never been delivered; one that was told to stop is left for `rest`."""
    if step.claim is None:
        return replace(step, throttled=None, settled=())
    if step.state is StepState.CANCELLING:
        return replace(step, claim=None, settled=())
    return replace(step, state=StepState.READY, since=now, attempt=max(0, step.attempt - 1), claim=None, settled=(), due=None)


def _until(workflow: Workflow, now: int) -> Workflow:
    """The workflow, its steps aside, with nothing of its past after `now`.

    Another server, or another deployment, may have been ahead, and no instance sees time go back. Order is kept; what is yet to come
    (deadlines, due times) stays.
    """
    return replace(
        workflow,
        start_time=min(workflow.start_time, now),
        end_time=_earlier(workflow.end_time, now),
        cancel_time=_earlier(workflow.cancel_time, now),
        paused=None if workflow.paused is None else replace(workflow.paused, since=min(workflow.paused.since, now)),
        inbox=tuple(replace(signal, time=min(signal.time, now)) for signal in workflow.inbox),
        events=tuple(replace(event, time=min(event.time, now)) for event in workflow.events),
    )


def _step_until(step: Step, now: int) -> Step:
    children = step.children
    return replace(
        step,
        since=min(step.since, now),
        started=_earlier(step.started, now),
        ended=_earlier(step.ended, now),
        errors=tuple(replace(error, time=min(error.time, now)) for error in step.errors),
        wakes=tuple(replace(wake, time=min(wake.time, now)) for wake in step.wakes),
        children=None if children is None else replace(children, told=min(children.told, now)),
    )


def _earlier(time: int | None, now: int) -> int | None:
    return None if time is None else min(time, now)
