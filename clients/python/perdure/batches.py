"""Batches on the server: one deed on many workflows, in the background, at a bounded rate."""

import uuid
from collections.abc import AsyncIterator, Iterable
from typing import Literal, TypeAlias

from perdure.batch_values import Batch, BatchOperation, BatchStart, BatchState, batch_of
from perdure.calls import Calls
from perdure.filtering import Filter
from perdure.pages import pages
from perdure.steps import StepName, step_names
from perdure.v1 import admin_service_pb2, resource_pb2
from perdure.view import WorkflowRef

PayloadKind: TypeAlias = Literal["INPUT", "OUTPUT", "CHECKPOINT", "SIGNAL", "FAILURE", "FRAME"]


class Batches:
    """The batches of one namespace; `client.batches`."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def start(
        self,
        where: Filter,
        operation: BatchOperation,
        *,
        reason: str = "",
        max_per_second: float = 0.0,
        validate_only: bool = False,
        request_id: str = "",
    ) -> Batch:
        """Does one thing to many workflows, in the background; survives restarts.

        Args:
            where: Which workflows: those that match when it comes to them.
            operation: What to do, such as `BatchOperation.cancel()`.
            reason: Why, for people and the audit trail.
            max_per_second: At most so many workflows per second. 0: the server's limit.
            validate_only: Counts, and starts nothing.
            request_id: Makes a repeat answer the same batch; empty: a new one.

        Raises:
            InvalidRequest: No index serves the filter, or a value is wrong.
        """
        request = admin_service_pb2.StartBatchRequest(
            namespace=self._calls.config.namespace,
            filter=where.to_message(),
            operation=operation.message,
            reason=reason,
            request_id=request_id or uuid.uuid4().hex,
            validate_only=validate_only,
            max_per_second=max_per_second,
        )
        return batch_of((await self._calls.unary(self._calls.admin.StartBatch, request)).batch)

    async def get(self, batch_id: str) -> Batch:
        """One batch, as it is now. Raises NotFound."""
        request = admin_service_pb2.GetBatchRequest(namespace=self._calls.config.namespace, batch_id=batch_id)
        return batch_of((await self._calls.unary(self._calls.admin.GetBatch, request)).batch)

    async def list(self, *, states: Iterable[BatchState] = ()) -> AsyncIterator[Batch]:
        """Batches, newest first; pages are fetched as they are needed.

        Args:
            states: Only those in these states.
        """
        wanted = [resource_pb2.Batch.State.Value(f"STATE_{state}") for state in states]
        request = admin_service_pb2.ListBatchesRequest(namespace=self._calls.config.namespace, states=wanted)
        async for answer in pages(self._calls, self._calls.admin.ListBatches, request):
            for message in answer.batches:
                yield batch_of(message)

    async def stop(self, batch_id: str, *, reason: str = "", request_id: str = "") -> Batch:
        """Stops a batch; what is done stays done. Raises NotFound, NotAllowed (it has ended)."""
        request = admin_service_pb2.StopBatchRequest(
            namespace=self._calls.config.namespace, batch_id=batch_id, reason=reason, request_id=request_id or uuid.uuid4().hex
        )
        return batch_of((await self._calls.unary(self._calls.admin.StopBatch, request)).batch)

    async def purge(
        self, where: Filter, *, reason: str = "", max_per_second: float = 0.0, validate_only: bool = False, request_id: str = ""
    ) -> BatchStart:
        """Deletes ended workflows by filter, in the background; open ones are left alone.

        Args:
            where: Which ones.
            reason: Why, for the audit trail.
            max_per_second: At most so many workflows per second. 0: the server's limit.
            validate_only: Counts, and deletes nothing.
            request_id: Makes a repeat answer the same batch; empty: a new one.
        """
        request = admin_service_pb2.PurgeWorkflowsRequest(
            namespace=self._calls.config.namespace,
            filter=where.to_message(),
            reason=reason,
            request_id=request_id or uuid.uuid4().hex,
            validate_only=validate_only,
            max_per_second=max_per_second,
        )
        answer = await self._calls.unary(self._calls.admin.PurgeWorkflows, request)
        return BatchStart(answer.matched_count, answer.estimate, batch_of(answer.batch) if answer.HasField("batch") else None)

    async def redact(
        self,
        target: WorkflowRef | Filter,
        *,
        kinds: Iterable[PayloadKind] = (),
        steps: Iterable[StepName] = (),
        reason: str = "",
        validate_only: bool = False,
        request_id: str = "",
    ) -> BatchStart:
        """Overwrites payloads with personal data for good; the workflows stay.

        Args:
            target: One workflow with all its rounds, done before this returns; or many, in the background.
            kinds: Which payloads; empty: all.
            steps: Only of these steps; empty: of all, and of the workflow itself.
            reason: Why, for the audit trail.
            validate_only: Counts, and changes nothing.
            request_id: Makes a repeat recognisable; empty: a new one.

        Raises:
            NotFound: There is no such workflow.
            NotAllowed: An open workflow still needs some of them.
        """
        request = admin_service_pb2.RedactPayloadsRequest(
            namespace=self._calls.config.namespace,
            payload_kinds=[resource_pb2.PayloadKind.Value(f"PAYLOAD_KIND_{kind}") for kind in kinds],
            steps=[name for step in steps for name in step_names(step)],
            reason=reason,
            request_id=request_id or uuid.uuid4().hex,
            validate_only=validate_only,
        )
        if isinstance(target, Filter):
            request.filter.CopyFrom(target.to_message())
        else:
            request.workflow.CopyFrom(target.to_message())
            request.workflow.namespace = target.namespace or self._calls.config.namespace
        answer = await self._calls.unary(self._calls.admin.RedactPayloads, request)
        batch = batch_of(answer.batch) if answer.HasField("batch") else None
        return BatchStart(answer.matched_count, answer.estimate, batch, answer.redacted_count)
