"""What follows a stored change: claims are delivered, ready steps offered, losers and watchers told, spans exported."""

import logging
from collections.abc import Callable, Sequence

from perdure_server.engine.claimtable import ClaimTable
from perdure_server.engine.dispatch import Dispatch
from perdure_server.engine.grants import build_claim, has_refs, resolve_claim
from perdure_server.engine.hub import Hub
from perdure_server.engine.measures import Measures, moves
from perdure_server.engine.parts import Parts
from perdure_server.engine.spans import Spans
from perdure_server.engine.subject import about
from perdure_server.engine.sweep import Sweep
from perdure_server.engine.turn import Grant, Turn
from perdure_server.engine.values import CancelOut, GrantedClaim, why_cancelled
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.effects import (
    AttemptEnded,
    CancelRequested,
    ChildrenOpened,
    ClaimLost,
    DutyTaken,
    Effect,
    PermitsFreed,
    StepReady,
    StepRequeued,
    TimerSet,
    WaitWon,
    WorkflowEnded,
    WorkflowStarted,
)
from perdure_server.kernel.workflow import StepState, Workflow, WorkflowState
from perdure_server.ports.errors import StoreUnavailable

logger = logging.getLogger(__name__)


class Aftermath:
    """Performs effects. None of them decides anything; all may be lost."""

    def __init__(self, parts: Parts, dispatch: Dispatch, hub: Hub, sweep: Sweep, claims: ClaimTable) -> None:
        self._desk = dispatch.desk
        self._dispatch = dispatch
        self._hub = hub
        self._sweep = sweep
        self._claims = claims
        self._payloads = parts.store.payloads
        self._measures = Measures(parts.telemetry)
        self._spans = Spans(parts.telemetry)
        self._supervisor = parts.supervisor
        self._clock = parts.clock
        self.on_children: Callable[[Workflow, str], None] = lambda _workflow, _step: None

    def follow(self, workflow: Workflow, definition: Definition, turns: Sequence[Turn]) -> None:
        """Called once after each stored change."""
        for turn in turns:
            for made in turn.grants:
                if not made.stands(workflow):
                    self._desk.release(made.slot)  # taken away again by a later command of the same write
                    continue
                self._measures.granted(workflow, definition, turn, made)
                if not made.returned:
                    self.deliver(workflow, definition, made)
            if logger.isEnabledFor(logging.DEBUG):
                _note(workflow, turn)
            moved = moves(turn)
            self._measures.moved(moved)
            if self._spans.wanted(workflow):
                self._spans.turned(workflow, turn, moved)
            for effect in turn.draft.effects:
                self._perform(workflow, definition, effect)
        self._hub.changed(workflow)

    def announce(self, workflow: Workflow, definition: Definition, effects: Sequence[Effect]) -> None:
        """The same for an instance that was stored as a whole, by no turn."""
        for effect in effects:
            self._perform(workflow, definition, effect)
        self._hub.changed(workflow)

    def deliver(self, workflow: Workflow, definition: Definition, made: Grant) -> None:
        """Send a claim that the instance has to the pool whose slot it took."""
        claim = build_claim(definition, workflow, made.step, made.slot.pool, self._clock.now())
        made.slot.gone = True
        if has_refs(claim):
            self._supervisor.run(self._deliver_resolved(workflow, claim, made), "deliver")
        else:
            made.slot.pool.deliver([claim])

    async def _deliver_resolved(self, workflow: Workflow, claim: GrantedClaim, made: Grant) -> None:
        try:
            claim = await resolve_claim(self._payloads, claim)
        except StoreUnavailable:
            logger.warning("a claim goes out with refs: its payloads cannot be read now", extra=about(workflow, made.step, claim.claim_no))
        made.slot.pool.deliver([claim])
        known = self._hub.known(workflow.workflow_id)
        if known is None or known.revision != workflow.revision:
            self._hub.on_remote_change(workflow.workflow_id)  # what happened to the claim meanwhile was told to nobody

    def _perform(self, workflow: Workflow, definition: Definition, effect: Effect) -> None:
        match effect:
            case StepReady(step):
                self._dispatch.offer(definition, workflow, step)
            case StepRequeued(step, queue):
                self._dispatch.requeue(definition, workflow, step, queue)
            case TimerSet(due):
                self._sweep.set_timer(workflow.workflow_id, due)
            case DutyTaken(duty):
                self._sweep.duties.begin(workflow, duty)
            case ChildrenOpened(step):
                self.on_children(workflow, step)
            case CancelRequested(_, claim):
                local = self._claims.get(claim.nonce)
                if local is not None and not local.cancelled:
                    local.cancelled = True
                    local.stream.tell(CancelOut(local.token, definition.cancel_grace, why_cancelled(workflow)))
            case ClaimLost():
                self._lost(workflow, effect)
            case PermitsFreed(claim):
                self._dispatch.permits_freed(workflow, claim)
            case AttemptEnded() | WorkflowStarted() | WorkflowEnded():
                self._tell(workflow, effect)
            case WaitWon():
                pass  # for the spans, which look at the turn as a whole

    def _lost(self, workflow: Workflow, effect: ClaimLost) -> None:
        self._measures.claim_lost(workflow, effect)
        local = self._claims.get(effect.claim.nonce)
        if local is not None:
            local.stream.lose(local, effect.cause)

    def _tell(self, workflow: Workflow, effect: AttemptEnded | WorkflowStarted | WorkflowEnded) -> None:
        traced = self._spans.wanted(workflow)
        if isinstance(effect, AttemptEnded):
            self._measures.attempt_ended(workflow, effect)
            if traced:
                self._spans.attempt_ended(workflow, effect)
        elif isinstance(effect, WorkflowStarted):
            self._measures.started(workflow)
            if traced:
                self._spans.started(workflow)
        else:
            self._measures.ended(workflow)
            if traced:
                self._spans.ended(workflow)


def _note(workflow: Workflow, turn: Turn) -> None:
    """Every stored event, for those who look very closely."""
    for event in turn.draft.events:
        state = StepState(event.state) if event.step else WorkflowState(event.state)
        logger.debug("%s: %s", event.reason, state.name, extra=about(workflow, event.step, event.claim_no))
