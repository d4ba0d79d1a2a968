"""The engine: every use case of the API over the ports. Knows no gRPC, no driver, no Redis."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from perdure_server.engine.addresses import address_of
from perdure_server.engine.aftermath import Aftermath
from perdure_server.engine.catalog import Catalog, DefinitionName
from perdure_server.engine.children import ChildWorkflows
from perdure_server.engine.claimtable import ClaimTable, LocalClaim
from perdure_server.engine.commands import (
    CancelCommand,
    RoundNeeded,
    StartCommand,
)
from perdure_server.engine.desk import Desk
from perdure_server.engine.dispatch import Dispatch
from perdure_server.engine.entropy import Entropy, own_request_id
from perdure_server.engine.explain import Explainer
from perdure_server.engine.frames import ClaimTurns
from perdure_server.engine.hub import DEFINITIONS, LISTEN_LOOP, Hub
from perdure_server.engine.judge import Judge
from perdure_server.engine.mailbox import Mailboxes
from perdure_server.engine.operations import Operations
from perdure_server.engine.parts import Parts
from perdure_server.engine.people import People
from perdure_server.engine.permit_parts import PermitParts
from perdure_server.engine.polls import Polls
from perdure_server.engine.queries import Queries
from perdure_server.engine.queues import QueueBook
from perdure_server.engine.ready_sweep import ReadySweep
from perdure_server.engine.results import Results
from perdure_server.engine.retention import Retention
from perdure_server.engine.rounds import Rounds
from perdure_server.engine.selection import Selection
from perdure_server.engine.settings import EngineSettings
from perdure_server.engine.signalling import Signalling
from perdure_server.engine.spill import Spill
from perdure_server.engine.starters import Starters
from perdure_server.engine.streams import WorkerStream
from perdure_server.engine.subscriptions import Subscriptions
from perdure_server.engine.sweep import Sweep
from perdure_server.engine.tasks import Supervisor
from perdure_server.engine.turn import Turn
from perdure_server.engine.values import (
    CancelAccepted,
    GrantedClaim,
    HeartbeatIn,
    HeartbeatOut,
    HeldIn,
    Hello,
    PoolServed,
    Ref,
    ResultIn,
    Signalled,
    Started,
    WatchItem,
    Welcome,
)
from perdure_server.engine.vitals import vitals
from perdure_server.engine.watch import Watcher
from perdure_server.engine.watch_many import ManyItem, ManyWatcher
from perdure_server.engine.workers import Workers
from perdure_server.kernel import limits
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.outcomes import Released
from perdure_server.kernel.rejection import FieldViolation, Reason, Rejection
from perdure_server.kernel.start import Start
from perdure_server.kernel.tokens import Address
from perdure_server.kernel.values import Paused
from perdure_server.kernel.workflow import Signal, Workflow
from perdure_server.ports.clock import Clock
from perdure_server.ports.coordination import Coordination, WakeUp
from perdure_server.ports.outbox import Outbox
from perdure_server.ports.store import ActiveDefinition, Store
from perdure_server.ports.telemetry import Telemetry

_FINISH_WITHIN = 2 * limits.SECOND
_STALE = limits.MINUTE


class Engine:
    """Built once by main. `open` starts the loops, `drain` stops taking work in, `close` ends everything."""

    def __init__(
        self,
        store: Store,
        coordination: Coordination,
        telemetry: Telemetry,
        clock: Clock,
        *,
        settings: EngineSettings,
        entropy: Entropy | None = None,
        outboxes: Sequence[Outbox] = (),
    ) -> None:
        self.clock, self.settings = clock, settings
        entropy = entropy or Entropy()
        parts = Parts(store, coordination, telemetry, clock, settings, entropy, Supervisor(clock))
        self.store, self.sessions, self.coordination, self.entropy = store, store.sessions, coordination, entropy
        self.supervisor = parts.supervisor
        self.claims = ClaimTable()
        self.turns = ClaimTurns()
        self.desk = Desk(clock, entropy)
        self.catalog = Catalog(store.definitions, clock, settings.renew_interval)
        self.subscriptions = Subscriptions(self.catalog)
        self.mailboxes = Mailboxes(parts, self.catalog, self._make_turn, self._after)
        self.spill = Spill(store.payloads, self.mailboxes.known, clock)
        self.hub = Hub(parts)
        self.dispatch = Dispatch(parts, self.desk, self.mailboxes)
        self.ready_sweep = ReadySweep(parts, self.dispatch, self.catalog)
        self.judge = Judge(parts, self.mailboxes, self.claims)
        self.sweep = Sweep(parts, self.mailboxes, self.judge, self.hub)
        self.duties = self.sweep.duties
        self.workers = Workers(self)
        self.results = Results(self, telemetry)
        self.complete, self.settle, self.conclude = self.results.complete, self.results.settle, self.results.conclude
        self.queues = QueueBook(parts, self.catalog, self.sweep.is_mine)
        self.queries = Queries(store, self.catalog, self.hub, self.queues)
        self.people = People(parts, self.mailboxes, self.queries, self.spill)
        self.signalling = Signalling(clock, self.mailboxes, self.queries, self.spill)
        self.get, self.wait_for_result, self.fetch_payload = self.queries.get, self.queries.wait_for_result, self.queries.fetch_payload
        self.definition, self.versions = self.queries.definition, self.queries.versions
        self.definitions, self.list_workers = store.definitions.list, store.sessions.list
        self.polls = Polls(parts, self.desk, self.subscriptions, self._give_back)
        self.children = ChildWorkflows(parts, self.mailboxes, self.catalog, self.duties, self.spill)
        self.permits = PermitParts(parts, self)
        self.explain = Explainer(parts, self.queries, self.permits.explainer, self.claims).explain
        self._aftermath = Aftermath(parts, self.dispatch, self.hub, self.sweep, self.claims)
        self._aftermath.on_children = self.children.tend_soon
        self.retention = Retention(parts, self.mailboxes, self.duties, self.hub)
        self.remove = self.retention.delete
        self.rounds = Rounds(parts, self.mailboxes, self.catalog, self.duties, self._aftermath.announce)
        self.operations = Operations(parts, self.catalog, self.queues, self)
        self.audit, self.listing = self.operations.audit, self.operations.listing
        self.starters = Starters(self, parts, outboxes)
        self.namespaces, self.schedules, self.quotas = self.starters.namespaces, self.starters.schedules, self.starters.quotas
        self._wire()
        telemetry.observe(lambda: vitals(self))
        self.draining = False

    def _wire(self) -> None:
        """Who hears of what; parts that need one another know nothing of it."""
        self.mailboxes.on_grant_found = self._aftermath.deliver
        self.mailboxes.on_doubt = self._remote_change
        self.mailboxes.on_read = self.workers.reconciliation.noticed
        self.judge.on_dead = self.workers.session_over
        self.hub.claimed, self.hub.known, self.hub.is_changing = self.claims.workflows, self.mailboxes.known, self.mailboxes.is_busy
        self.hub.on_remote_change = self._remote_change
        self.hub.on_session, self.hub.on_definitions = self.workers.superseded, self._definitions_changed
        self.operations.definition_removal.tell = self._tell_definitions

    async def open(self) -> None:
        """Start the background loops. Raises StoreUnavailable."""
        await self.namespaces.refresh()
        loops = {
            "due": self.sweep.due_step,
            "timers": self.sweep.timers_step,
            "retention": self.retention.step,
            "expiry": self.judge.expiry_step,
            "hold": self.judge.hold_step,
            "take": self.dispatch.take_step,
            "await": self.dispatch.await_step,
            "view": self.dispatch.view_step,
            "ready": self.ready_sweep.step,
            "queues": self.queues.look_step,
            "refresh": self.workers.refresh_step,
            **self.operations.loops(),
            **self.starters.loops(),
            **self.permits.loops(),
            LISTEN_LOOP: self.hub.listen_step,
            "poll": self.hub.poll_step,
        }
        for name, step in loops.items():
            self.supervisor.loop(step, name)
        self.sweep.tell_others()

    async def drain(self, grace: int) -> None:
        """No more grants; every worker is asked to leave within `grace` ms."""
        self.draining = True
        self.desk.closed = True
        self.operations.leave()
        self.workers.go_away(grace)

    async def close(self) -> None:
        """Let what is under way finish, results and mailboxes too, then end all loops."""
        self.operations.leave()
        await self.supervisor.finish(_FINISH_WITHIN)
        await self.supervisor.close()

    @property
    def ready(self) -> bool:
        """Whether calls can be served: the store is reached, nobody drains, and every background loop comes round (case C56)."""
        return not self.draining and self.clock.may_judge(0) and max(self.supervisor.ages().values(), default=0) < _STALE

    async def start(self, command: Start, fingerprint: str = "", validate_only: bool = False) -> Started:
        """Start a workflow, or meet the one that has its key. Raises Rejection, StoreUnavailable."""
        self._accepting()
        key, name = command.key, (command.key.namespace, command.key.workflow_type)
        definition = await (self.catalog.usable(*name, fingerprint) if fingerprint else self.catalog.active(*name))
        unknown = sorted(set(command.step_queues) - set(definition.by_name))
        if unknown:
            raise FieldViolation([(f"step_queues[{name!r}]", "names no step of the definition") for name in unknown])
        command = self.namespaces.completed(command, definition)
        if validate_only:
            return await self.rounds.check(command, definition)
        if (limit := self.namespaces.limited(key.namespace)) is not None:
            await self.quotas.admit_start(command, limit, partial(self.rounds.check, command, definition))
        started = await self._start(replace(command, wake_secret=self.entropy.hex(16)), definition)
        if command.signals and not started.created:
            await self.signalling.carry(command, started.workflow)
        return started

    async def _start(self, command: Start, definition: Definition) -> Started:
        workflow_id = command.key.workflow_id
        if self.spill.needed(workflow_id, [command.input, *(signal.payload for signal in command.signals)]):
            command = await self.spill.start(workflow_id, command)
        try:
            created, workflow = await self.mailboxes.submit(workflow_id, StartCommand(command, definition, self.clock.now()))
        except RoundNeeded:
            return await self.rounds.open(command, definition)
        if workflow.run_id != command.run_id:
            workflow = await self.rounds.answer(command, workflow)
        return Started(workflow, created)

    async def signal(self, target: Ref | str, signal: Signal) -> Signalled:
        """Store a signal. A str target is a wake token. Raises Rejection, StoreUnavailable."""
        self._accepting()
        if self.namespaces.byte_limits:
            await self.quotas.bytes.admit_signal(self, target, signal)
        return await self.signalling.send(target, signal)

    async def cancel(self, ref: Ref, reason: str, request_id: str, etag: str = "", actor: str = "") -> CancelAccepted:
        """Ask a workflow to cancel. Raises Rejection, StoreUnavailable."""
        command = CancelCommand(ref, (reason, actor), request_id, own_request_id(self.entropy), etag)
        duplicate, workflow = await self.mailboxes.submit(ref.key.workflow_id, command)
        return CancelAccepted(workflow, duplicate)

    def watch(self, ref: Ref, resume_token: str, include_frames: bool, follow: bool) -> AsyncIterator[list[WatchItem]]:
        """Batches of what happens. Raises Rejection, StoreUnavailable."""
        watcher = Watcher(self.hub, self.store.workflows, self.catalog, self.coordination, include_frames)
        return self.quotas.watched(ref.key.namespace, watcher.run(ref, resume_token, follow))

    def watch_many(self, selection: Selection, resume_token: str, skip_existing: bool) -> AsyncIterator[list[ManyItem]]:
        """Batches of what happens to those that match. Raises Rejection, StoreUnavailable."""
        watcher = ManyWatcher(self.hub, self.listing, self.store.workflows, self.clock)
        return self.quotas.watched(selection.query.namespace, watcher.run(selection, resume_token, skip_existing))

    async def heartbeat(self, heartbeat: HeartbeatIn) -> HeartbeatOut:
        """Checkpoint, frames, sign of life. Raises Rejection, StoreUnavailable."""
        return await self.workers.heartbeat(heartbeat)

    async def connect(self, hello: Hello) -> tuple[Welcome, WorkerStream]:
        """A worker's stream. Raises StoreUnavailable, Rejection DRAINING."""
        self._accepting()
        return await self.workers.connect(hello)

    async def poll(self, hello: Hello, max_claims: int, wait: int) -> tuple[tuple[PoolServed, ...], tuple[GrantedClaim, ...], int]:
        """Unary claims, acknowledged from the start. Raises StoreUnavailable, Rejection DRAINING."""
        self._accepting()
        return await self.polls.poll(hello, max_claims, wait)

    async def renew_claims(self, held: Sequence[HeldIn], lease: int) -> Sequence[tuple[str, int, bool, Exception | None]]:
        """Renew the sessions of these unary claims: (token, lease remaining in ms, cancel requested, error)."""
        return await asyncio.gather(*(self.workers.renew_claim(item, lease) for item in held))

    async def register(
        self, definition: Definition, activate: bool, only_if_none: bool, validate_only: bool
    ) -> tuple[Definition, ActiveDefinition | None]:
        """Validate, compute contracts, store. Raises FieldViolation, StoreUnavailable."""
        prepared = await self.catalog.admit(definition)
        if validate_only:
            return prepared, await self.store.definitions.active(prepared.namespace, prepared.workflow_type)
        found = await self.catalog.register(prepared, activate, only_if_none)
        self._tell_definitions()
        return found

    async def activate(self, namespace: str, workflow_type: str, fingerprint: str) -> ActiveDefinition:
        """Make a fingerprint the one for new starts. Raises Rejection, StoreUnavailable."""
        active = await self.catalog.activate(namespace, workflow_type, fingerprint)
        self._tell_definitions()
        return active

    async def pause_definitions(self, name: DefinitionName, paused: Paused | None) -> list[tuple[Definition, bool]]:
        """Pause them, or, with None, let them go on: each with whether it is the active one. Raises Rejection, StoreUnavailable."""
        try:
            return await self.catalog.pause(name, paused)
        finally:
            self._tell_definitions()

    async def change_policies(self, known: Definition, changed: Definition) -> Definition | None:
        """Store policies over those of `known`; None = others are stored by now. Raises FieldViolation, StoreUnavailable."""
        stored = await self.catalog.change(known, self.catalog.prepare(changed))
        self._tell_definitions()
        return stored

    def verdict(self, kind: str, claim: LocalClaim) -> None:
        """Store what was found out about a local claim."""
        self.supervisor.run(self._verdict(kind, claim), "verdict")

    async def inspect(self, token: str) -> bool:
        """Raise Rejection CLAIM_LOST unless the token is current; True = asked to cancel."""
        return await self.workers.inspect(address_of(token))

    def description(self) -> Mapping[str, str]:
        """Facts for GetServerInfo."""
        found = {f"store_{key}": value for key, value in self.store.description().items()}
        found |= {f"coordination_{key}": value for key, value in self.coordination.description().items()}
        return found

    def _accepting(self) -> None:
        if self.draining:
            raise Rejection(Reason.DRAINING, "This server is shutting down; try another one.")

    def _make_turn(self, definition: Definition, workflow: Workflow) -> Turn:
        now = self.clock.now()
        return Turn(Draft(definition, workflow, now, self.judge.judging(self.clock.unshifted_at(now))), self.desk, self.entropy)

    def _after(self, workflow: Workflow, definition: Definition, turns: Sequence[Turn]) -> None:
        self._aftermath.follow(workflow, definition, turns)

    async def _verdict(self, kind: str, claim: LocalClaim) -> None:
        address = Address(claim.workflow_id, claim.run_id, claim.step, claim.nonce)
        if not await self.judge.verdict(kind, address) and self.claims.get(claim.nonce) is claim and not claim.settling:
            self.claims.remove(claim.nonce)  # settled another way, by a call that was cancelled

    def _give_back(self, claim: GrantedClaim) -> None:
        # It counts as acknowledged, so only an outcome can bring it back uncharged.
        self.supervisor.run(self._release(claim), "give back")

    async def _release(self, claim: GrantedClaim) -> None:
        await self.settle(ResultIn(claim.token, Released()), None)

    def _remote_change(self, workflow_id: bytes) -> None:
        self.mailboxes.forget(workflow_id)
        self.workers.reconciliation.ask(workflow_id)

    def _definitions_changed(self) -> None:
        self.catalog.forget()
        self.workers.refresh_soon()

    def _tell_definitions(self) -> None:
        self.workers.refresh_soon()
        self.hub.publish(WakeUp(DEFINITIONS, b""))
