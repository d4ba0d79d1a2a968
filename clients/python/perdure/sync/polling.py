# Made by `python tools/sync_client.py` from perdure/polling.py; do not edit.
"""Claims without a worker: a script, a cloud function or a person takes one, does it, and settles it. See `client.poll`."""

from collections.abc import Awaitable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from perdure import limits, payloads
from perdure.context import ClaimFacts, Context, FrameKind
from perdure.definition import Definition
from perdure.statuses import error_of_status
from perdure.steps import Step
from perdure.sync.calls import Calls
from perdure.v1 import claim_pb2, payload_pb2, worker_service_pb2, workflow_service_pb2
from perdure.worker import results
from perdure.worker.inputs import facts_of, prepare, refs_of
from perdure.worker.plan import WorkerOptions, plan_worker


class NoLink:
    """The context of a polled claim only knows facts: it is the claim that saves."""

    def save(self, payload: payload_pb2.Payload) -> Awaitable[None]:
        """Refused."""
        raise RuntimeError("a polled claim has no worker: use its `save`")

    def save_blocking(self, payload: payload_pb2.Payload) -> None:
        """Refused."""
        raise RuntimeError("a polled claim has no worker: use its `save`")

    def frame(self, kind: FrameKind, payload: payload_pb2.Payload) -> None:
        """Refused."""
        raise RuntimeError("a polled claim sends no frames")

    def alive(self) -> None:
        """Refused."""
        raise RuntimeError("a polled claim has no worker: use its `renew`")

    def cancel_reason(self) -> str:
        """`renew` tells."""
        return ""


class PolledClaim:
    """The right to run one step once. Settle it by `complete`, `fail` or `release`; nobody renews its lease but you, by `renew`.

    When the lease is over the step is handed out again, the attempt stays charged, and what you send then is refused (ClaimLost).
    """

    def __init__(self, calls: Calls, message: claim_pb2.Claim, step: Step[..., Any], lease: timedelta) -> None:
        self._calls = calls
        self._message = message
        self._step = step
        self.facts: ClaimFacts = facts_of(message)
        """Workflow, step, attempt, fence, idempotency_key, wake_token and so on."""
        self.lease = lease
        """How long it was yours when it came."""

    def __repr__(self) -> str:
        return f"<PolledClaim {self.facts.workflow_type}/{self.facts.business_key} {self.facts.step} attempt {self.facts.attempt}>"

    @property
    def step(self) -> Step[..., Any]:
        """Which step it is."""
        return self._step

    def inputs(self) -> Mapping[str, Any]:
        """What the step needs, by the names of its function's parameters and decoded as these are annotated.

        Raises:
            PayloadRejected: A value is of another type. Say so by `fail`.
        """
        return (self._prepared())[1]

    def checkpoint(self) -> Any:
        """What was saved last, by this attempt or one before; None: nothing. Raises PayloadRejected."""
        return (self._prepared())[0].checkpoint

    def save(self, checkpoint: object) -> bool:
        """Stores a checkpoint, and renews. True: the step should stop, since its workflow is being cancelled.

        Raises:
            ClaimLost: It is not yours any more: drop the work.
            PayloadRejected: The value cannot travel, or is too large.
        """
        value = payloads.encode(checkpoint) or payloads.NO_VALUE
        self._message.checkpoint.CopyFrom(value)
        request = worker_service_pb2.HeartbeatRequest(claim_token=self._message.claim_token, checkpoint=value)
        return (self._calls.unary(self._calls.workers.Heartbeat, request)).cancel_requested

    def renew(self, lease: timedelta | None = None) -> bool:
        """Makes its lease begin anew. True: the step should stop, since its workflow is being cancelled.

        Args:
            lease: How long from now, at most 10 min; None: as before.

        Raises:
            ClaimLost: It is not yours any more: drop the work.
        """
        request = worker_service_pb2.RenewClaimsRequest()
        request.held.add(claim_token=self._message.claim_token)
        if lease is not None:
            request.lease.FromTimedelta(lease)
        (answer,) = (self._calls.unary(self._calls.workers.RenewClaims, request)).claims
        error = error_of_status(answer.status)
        if error is not None:
            raise error
        return answer.cancel_requested

    def complete(self, value: object = None) -> None:
        """Settles it with what the step's function would return: an output, a Wait, a Chosen or a Page.

        Raises:
            ClaimLost: It is not yours any more: drop the work.
            NotAllowed: It was settled in another way.
            PayloadRejected: The value cannot travel, or is too large.
        """
        self._settle(results.of_value(value))

    def fail(self, error: Exception) -> None:
        """The attempt failed, as if the step's function had raised this; its retry policy decides what follows. Raises ClaimLost."""
        self._settle(results.of_exception(error))

    def release(self) -> None:
        """Gives it back: the step is ready again, and the attempt is not charged. Raises ClaimLost."""
        self._settle(results.released())

    def cancelled(self) -> None:
        """You stopped because you were asked to. Raises ClaimLost."""
        self._settle(results.cancelled())

    def _settle(self, result: worker_service_pb2.Result) -> None:
        request = worker_service_pb2.CompleteRequest()
        # Same fields and numbers by design.
        request.MergeFromString(result.SerializeToString())
        request.claim_token = self._message.claim_token
        self._calls.unary(self._calls.workers.Complete, request)

    def _prepared(self) -> tuple[Context[Any], dict[str, Any]]:
        for payload in refs_of(self._message):
            request = workflow_service_pb2.FetchPayloadRequest(claim_token=self._message.claim_token, payload_id=payload.ref.payload_id)
            payload.CopyFrom((self._calls.unary(self._calls.workflows.FetchPayload, request)).payload)
        return prepare(self._message, self._step, NoLink())


def poll(
    calls: Calls, definitions: Sequence[Definition], options: WorkerOptions, max_claims: int, wait: timedelta
) -> Sequence[PolledClaim]:
    """As `client.poll` says."""
    plan = plan_worker(definitions, calls.config.namespace, options)
    hello = plan.hello()
    request = worker_service_pb2.PollClaimsRequest(
        worker_id=plan.worker_id,
        client_name=hello.client_name,
        client_version=hello.client_version,
        pools=hello.pools,
        max_claims=max_claims,
        capabilities=["refs"],
        definitions=hello.definitions,
        namespace=plan.namespace,
    )
    request.wait_time.FromTimedelta(wait)
    if options.lease is not None:
        request.lease.CopyFrom(hello.lease)
    answer = calls.unary(calls.workers.PollClaims, request, wait.total_seconds() + max(calls.timeout, limits.CALL_MARGIN_TIMEOUT))
    refusals = [error_of_status(status.status) for status in answer.pools]
    if refusals and refusals[0] is not None and None not in refusals:
        raise refusals[0]
    lease = answer.lease_duration.ToTimedelta()
    return [PolledClaim(calls, claim, plan.activities[claim.workflow.workflow_type, claim.step], lease) for claim in answer.claims]
