"""Telling workers what happened to their claims elsewhere: another server changed the workflow, or the effects of a change were lost.

A read that the store does not answer is tried again until it does: the hint comes only once.
"""

import asyncio
import logging
from typing import TYPE_CHECKING

from perdure_server.engine.claimtable import LocalClaim
from perdure_server.engine.subject import about
from perdure_server.engine.values import CancelOut, why_cancelled
from perdure_server.kernel import limits
from perdure_server.kernel.draft import loss_cause
from perdure_server.kernel.values import LossCause
from perdure_server.kernel.workflow import StepState, Workflow
from perdure_server.ports.errors import StoreUnavailable
from perdure_server.ports.store import Read

if TYPE_CHECKING:
    from perdure_server.engine.service import Engine

logger = logging.getLogger(__name__)

_PAUSE = limits.SECOND


class Reconciliation:
    """Compares the claims of this server's streams with what is stored."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self._waiting: dict[bytes, None] = {}
        self._running = False

    def ask(self, workflow_id: bytes) -> None:
        """Compare this workflow's claims, soon."""
        if not self._engine.claims.of_workflow(workflow_id):
            return
        self._waiting[workflow_id] = None
        if not self._running:
            self._running = True
            self._engine.supervisor.run(self._run(), "reconcile")

    def noticed(self, workflow: Workflow) -> None:
        """A mailbox has read this state. If claims here are not as it says, their workers are to be told; no hint may come any more."""
        workflow_id = workflow.workflow_id
        self._engine.hub.noticed(workflow)
        if any(not claim.settling and _differs(workflow, claim) for claim in self._engine.claims.of_workflow(workflow_id)):
            self.ask(workflow_id)

    async def _run(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = list(self._waiting), {}
                results = await asyncio.gather(*(self._compare(workflow_id) for workflow_id in batch), return_exceptions=True)
                again = self._sort_out(batch, results)
                if again:
                    self._waiting = dict.fromkeys((*again, *self._waiting))
                    await self._engine.clock.sleep(_PAUSE)
        finally:
            self._running = False

    def _sort_out(self, batch: list[bytes], results: list[BaseException | None]) -> list[bytes]:
        again = []
        for workflow_id, result in zip(batch, results, strict=True):
            if isinstance(result, StoreUnavailable):
                again.append(workflow_id)
            elif result is not None:
                known = self._engine.mailboxes.known(workflow_id)
                logger.warning("claims of a workflow cannot be compared with it", exc_info=result, extra=about(known))
        return again

    async def _compare(self, workflow_id: bytes) -> None:
        engine = self._engine
        before = engine.claims.of_workflow(workflow_id)  # what is granted while the answer travels is not in it
        workflow = await engine.store.workflows.load(workflow_id, Read.LINEARIZABLE)
        grace = limits.CANCEL_GRACE
        if workflow is not None:
            engine.hub.saw(workflow)
            key = workflow.key
            grace = (await engine.catalog.get(key.namespace, key.workflow_type, workflow.fingerprint)).cancel_grace
        for claim in before:
            if engine.claims.get(claim.nonce) is claim:
                _reconcile(workflow, claim, grace)


def _differs(workflow: Workflow, claim: LocalClaim) -> bool:
    step = workflow.steps.get(claim.step) if workflow.run_id == claim.run_id else None
    if step is None or step.claim is None or step.claim.nonce != claim.nonce:
        return True
    return step.state is StepState.CANCELLING and not claim.cancelled


def _reconcile(workflow: Workflow | None, claim: LocalClaim, grace: int) -> None:
    step = workflow.steps.get(claim.step) if workflow is not None and workflow.run_id == claim.run_id else None
    if workflow is None or step is None or step.claim is None or step.claim.nonce != claim.nonce:
        if not claim.settling:
            other = workflow is not None and workflow.run_id != claim.run_id
            cause = LossCause.SUPERSEDED if other else LossCause.UNKNOWN
            if workflow is not None and step is not None:
                cause = loss_cause(workflow, step, claim.nonce)
            claim.stream.lose(claim, cause)
    elif step.state is StepState.CANCELLING and not claim.cancelled:
        claim.cancelled = True
        claim.stream.tell(CancelOut(claim.token, grace, why_cancelled(workflow)))
