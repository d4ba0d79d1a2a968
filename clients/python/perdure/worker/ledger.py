"""What becomes of each claim: the rules between what the server says and what the activities do. No input or output of its own.

All methods run on the session's thread; activities come in through the session's mailbox, and are told through the runner's.
"""

import logging
import time
from collections.abc import Callable, Iterable
from typing import Protocol

from perdure import limits
from perdure.codec import Codec
from perdure.context import FrameKind
from perdure.errors import ClaimLost, NotAllowed, Overloaded, PerdureError, ServerFault, Unavailable
from perdure.reasons import ErrorReason
from perdure.statuses import claim_lost, error_of_status
from perdure.v1 import claim_pb2, payload_pb2, worker_service_pb2
from perdure.worker import results
from perdure.worker.claims import ClaimTable, Held, Phase, Pool, Reply, Save
from perdure.worker.mailbox import Mailbox
from perdure.worker.outgoing import Outgoing, Sent
from perdure.worker.plan import PoolPlan
from perdure.worker.subject import about

_log = logging.getLogger("perdure.worker")

_REFUSALS_MAX = 5


class Runner(Protocol):
    """Who runs activities. Called on the runner's own loop."""

    def begin(self, held: Held) -> None:
        """Runs the claim's activity."""

    def cancel(self, token: str, reason: str) -> None:
        """Asks an activity to stop; its result counts."""

    def lose(self, token: str, cause: str) -> None:
        """Stops an activity whose result does not count any more."""


class Services(Protocol):
    """What the session does for the ledger."""

    def wake(self) -> None:
        """There is something to say to the server."""

    def later(self, delay: float, call: Callable[[], None]) -> None:
        """Runs `call` after `delay` seconds."""

    def send_large_result(self, held: Held) -> None:
        """Settles a claim by a unary call."""

    def send_large_checkpoint(self, held: Held, save: Save) -> None:
        """Stores a checkpoint by a unary call."""


class Ledger:
    """The claims, the pools, and what is to be said of them."""

    def __init__(
        self, plans: Iterable[PoolPlan], services: Services, runner: Runner, to_runner: Mailbox, codec: Codec | None = None
    ) -> None:
        self.claims = ClaimTable()
        self.pools = {plan.name: Pool(plan) for plan in plans}
        self.outgoing = Outgoing(self.claims, self.pools)
        self.draining = self._acknowledging = False
        self.is_lease_over = False  # the session says when it goes on
        self._services = services
        self._runner = runner
        self._to_runner = to_runner
        self._codec = codec

    # ---- from the server

    def take(self, claims: Iterable[claim_pb2.Claim], connection_no: int) -> None:
        """Claims that the current stream granted."""
        unacknowledged = False
        for claim in claims:
            pool = self.pools.get(claim.pool)
            if pool is None:
                _log.error("no pool is called %r: a claim of %s is not taken", claim.pool, claim.step, extra=about(claim))
                continue
            if claim.claim_token in self.claims:
                continue
            pool.offered = max(0, pool.offered - 1)
            held = Held(claim, pool, connection_no)
            self.claims.add(held)
            unacknowledged = True
            if self._is_wanted(held):
                self._place(held)
            else:
                self._settle_unbegun(held, results.released())
        if unacknowledged:
            self._acknowledge_later()
        self._services.wake()

    def acknowledge(self) -> None:
        """Claims that still run and were not named yet are acknowledged by a renew, however many, once."""
        self._acknowledging = False
        waiting = [held.received_at for held in self.claims.current() if not held.acknowledged]
        # The younger ones are named too, but do not ask for it: most of them will have a result before their time comes.
        if waiting and time.monotonic() - min(waiting) >= limits.ACKNOWLEDGE_DELAY / 2:
            self.outgoing.renew_wanted = True
            self._services.wake()
        elif waiting:
            self._acknowledge_later()

    def _acknowledge_later(self) -> None:
        if not self._acknowledging:
            self._acknowledging = True
            self._services.later(limits.ACKNOWLEDGE_DELAY, self.acknowledge)

    def cancel(self, token: str, reason: str) -> None:
        """An activity should stop."""
        held = self.claims.get(token)
        if held is None or held.cancel_reason or held.phase is Phase.SETTLING:
            return
        held.cancel_reason = reason or "WORKFLOW_CANCELLED"
        if held.phase is Phase.RUNNING:
            self._to_runner.put(self._runner.cancel, token, held.cancel_reason)
        else:
            self._settle_unbegun(held, results.cancelled())

    def lose(self, token: str, cause: str) -> None:
        """A claim is not this worker's any more. What has been sent of it is still answered, and has offered its slot."""
        held = self.claims.get(token)
        if held is None:
            return
        if held.phase is not Phase.SETTLING and not held.is_lost:
            self._drop(held, cause)

    def lose_all(self, cause: str) -> None:
        """The session is dead: all that still runs is lost; results that are on the way may still count."""
        for held in self.claims:
            self.lose(held.token, cause)

    def lease_is_over(self) -> None:
        """The own lease has ended: activities that hold permits stop; the others go on until they are told otherwise."""
        self.is_lease_over = True
        for held in self.claims:
            if held.claim.stop_at_lease_end and held.phase is not Phase.SETTLING:
                _log.warning("the lease ended without a renewal: %s stops", held, extra=about(held.claim))
                self.lose(held.token, "EXPIRED")

    def renewed(self, renew_id: int) -> None:
        """A renewal is stored: what waited for it begins."""
        for held in self.claims:
            if held.must_be_renewed and 0 < held.named_in <= renew_id:
                held.must_be_renewed = False
                if held.phase is Phase.HELD_BACK and held.has_slot and not held.is_lost:
                    self._begin(held)

    def settled(self, answer: worker_service_pb2.Settled, connection_no: int) -> None:
        """The answer to a result on the stream."""
        held = self.outgoing.sent_results.pop(answer.result_id, None)
        if held is not None:
            error = error_of_status(answer.status) if answer.HasField("status") else None
            self.conclude(held, error)
        self.take(answer.next_claims, connection_no) if answer.next_claims else self._services.wake()

    def conclude(self, held: Held, error: PerdureError | None) -> None:
        """A result is answered: done, to be said again, or never to be taken."""
        if held.token not in self.claims:
            return
        if error is None:
            self.claims.remove(held)
        elif isinstance(error, ClaimLost):
            _log.info("the result of %s came too late: %s", held, error.cause, extra=about(held.claim))
            self._drop(held, error.cause)
        elif isinstance(error, Unavailable | Overloaded | ServerFault) and held.refusals < _REFUSALS_MAX:
            held.refusals += isinstance(error, ServerFault)
            pause = error.retry_after.total_seconds() if error.retry_after is not None else limits.RETRY_MAX_INTERVAL / 4
            self._services.later(pause, lambda: self._send_result(held))
        elif held.refusals or (isinstance(error, NotAllowed) and error.reason == ErrorReason.CLAIM_ALREADY_SETTLED):
            _log.error("the result of %s is not taken, and is dropped: %s", held, error, extra=about(held.claim))
            self._drop(held, "UNKNOWN")
        else:
            _log.error("the result of %s is not taken; the attempt fails instead: %s", held, error, extra=about(held.claim))
            held.refusals = 1
            held.result = results.addressed(results.refused(error), held, self._codec)
            self._send_result(held)
        self._services.wake()

    def heartbeat_answered(self, answer: worker_service_pb2.HeartbeatAnswer) -> None:
        """A checkpoint is stored, or not."""
        sent = self.outgoing.sent_heartbeats.pop(answer.heartbeat_id, None)
        error = error_of_status(answer.status) if answer.HasField("status") else None
        if sent is not None:
            if isinstance(error, Unavailable | Overloaded):
                pause = error.retry_after.total_seconds() if error.retry_after is not None else limits.RETRY_MAX_INTERVAL / 4
                self.outgoing.pause(sent)
                self._services.later(pause, lambda: self._send_again(sent))
                return
            sent.held.frames_open -= len(sent.heartbeat.frames)
        token = sent.held.token if sent is not None else answer.claim_token
        if isinstance(error, ClaimLost):
            self.lose(token, error.cause)  # before the reply, which may end the activity: then nobody would tell of the loss
        elif error is not None:
            _log.warning("a checkpoint or frame was not taken: %s", error)
        if sent is not None and sent.reply is not None:
            sent.reply(error)
        if answer.cancel_requested:
            self.cancel(token, "")

    def accept(self, statuses: Iterable[claim_pb2.PoolStatus]) -> None:
        """What the server makes of the pools: the contracts that claims must have."""
        for status in statuses:
            pool = self.pools.get(status.pool)
            if pool is None:
                continue
            pool.contracts = {step.step: step.step_contract for step in status.steps}
            for problem, what in [(status.status, "pool"), *((step.status, f"step {step.step}") for step in status.steps)]:
                error = error_of_status(problem)
                if error is not None:
                    _log.warning("pool %s: %s is not served for now: %s", pool.name, what, error)

    # ---- from the activities

    def finished(self, held: Held, result: worker_service_pb2.Result | None) -> None:
        """An activity has ended. None: nothing is to be reported."""
        if held.phase is Phase.SETTLING:
            return
        held.phase = Phase.SETTLING
        self._free_slot(held)
        if held.is_lost or result is None:
            self.claims.remove(held)
            self._services.wake()
            return
        held.result = results.addressed(result, held, self._codec)
        self._send_result(held)

    def save(self, held: Held, checkpoint: payload_pb2.Payload, reply: Reply) -> None:
        """An activity stores a checkpoint."""
        if held.is_lost:
            reply(claim_lost("UNKNOWN"))
            return
        held.alive_at = time.monotonic()
        held.checkpoint_no += 1
        save = Save(checkpoint, held.checkpoint_no, reply)
        if checkpoint.ByteSize() > limits.STREAM_RESULT_BYTES:
            self._services.send_large_checkpoint(held, save)
            return
        held.saves.append(save)
        self.outgoing.activity(held)
        self._services.wake()

    def frame(self, held: Held, kind: FrameKind, payload: payload_pb2.Payload) -> None:
        """An activity sends progress."""
        held.alive_at = time.monotonic()
        if held.is_lost or held.frames_open >= limits.FRAME_BACKLOG:
            return  # not numbered either, so that watchers see no hole
        held.frames_open += 1
        held.last_frame_seq += 1
        held.frames.append(claim_pb2.FrameUpload(seq=held.last_frame_seq, kind=kind, payload=payload))
        self.outgoing.activity(held)
        self._services.wake()

    # ---- from the worker

    def drain(self, grace: float) -> None:
        """No more claims; those that have not begun are given back."""
        self.draining = True
        self.outgoing.drain_wanted = grace
        for held in self.claims:
            if held.phase is Phase.HELD_BACK and not held.is_lost:
                self._settle_unbegun(held, results.released())
        self._services.wake()

    def fail_saves(self, error: PerdureError) -> None:
        """The session ends: nobody waits any longer for an answer that cannot come."""
        for held in self.claims:
            self.outgoing.forget(held, error)

    # ---- inner rules

    def _is_wanted(self, held: Held) -> bool:
        claim = held.claim
        if self.draining:
            return False
        contract = held.pool.contracts.get(claim.step)
        if contract is None or (contract and contract != claim.step_contract):
            facts = (held, claim.step_contract, contract)
            _log.error("a claim of %s has contract %s, but this worker was built for %s", *facts, extra=about(claim))
            return False
        return True

    def _place(self, held: Held) -> None:
        if held.claim.cancel_requested:
            held.cancel_reason = "WORKFLOW_CANCELLED"
            self._settle_unbegun(held, results.cancelled())
            return
        if not held.pool.has_room:
            held.pool.waiting.append(held)
            return
        held.has_slot = True
        held.pool.running += 1
        if held.must_be_renewed:
            self.outgoing.renew_wanted = True
        else:
            self._begin(held)

    def _begin(self, held: Held) -> None:
        if held.claim.stop_at_lease_end and self.is_lease_over:
            self.lose(held.token, "EXPIRED")
            return
        held.phase = Phase.RUNNING
        held.alive_at = time.monotonic()
        self._to_runner.put(self._runner.begin, held)

    def _settle_unbegun(self, held: Held, result: worker_service_pb2.Result) -> None:
        held.phase = Phase.SETTLING
        self._free_slot(held)
        held.result = results.addressed(result, held, self._codec)
        self._send_result(held)

    def _send_result(self, held: Held) -> None:
        if held.token not in self.claims or held.result is None:
            return
        if held.result.ByteSize() > limits.STREAM_RESULT_BYTES:
            self._services.send_large_result(held)
        else:
            self.outgoing.result(held)
        self._services.wake()

    def _send_again(self, sent: Sent) -> None:
        self.outgoing.again(sent)
        self._services.wake()

    def _drop(self, held: Held, cause: str) -> None:
        held.is_lost = True
        self.outgoing.forget(held, claim_lost(cause))
        if held.phase is Phase.RUNNING:
            self._to_runner.put(self._runner.lose, held.token, cause)
            return  # its slot is free when the activity has ended
        self._free_slot(held)
        self.claims.remove(held)
        self._services.wake()

    def _free_slot(self, held: Held) -> None:
        pool = held.pool
        if held in pool.waiting:
            pool.waiting.remove(held)
        if not held.has_slot:
            return
        held.has_slot = False
        pool.running -= 1
        if pool.waiting and pool.has_room and not self.draining:
            self._place(pool.waiting.popleft())
