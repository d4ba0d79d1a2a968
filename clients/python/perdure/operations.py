"""What operators ask about a namespace: its queues, its workers, and who did what."""

from collections.abc import AsyncIterator, Iterable
from datetime import datetime

from perdure.calls import Calls
from perdure.filtering import Phase
from perdure.operation_values import AuditRecord, Queue, WorkerSession, audit_of, queue_of, worker_of
from perdure.pages import pages
from perdure.times import put_times
from perdure.v1 import admin_service_pb2, workflow_pb2
from perdure.view import WorkflowRef


class Operations:
    """Queues, workers and the audit trail of one namespace; `client.operations`."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def queues(self, queue: str = "", *, workflow_type: str = "", phases: Iterable[Phase] = ()) -> AsyncIterator[Queue]:
        """What is ready and running, per queue and step, and who serves it; pages are fetched as they are needed.

        Args:
            queue: Only this one.
            workflow_type: Only this type.
            phases: Only those in these phases, such as "NO_WORKER".
        """
        wanted = [workflow_pb2.Phase.Value(f"PHASE_{phase}") for phase in phases]
        request = admin_service_pb2.ListQueuesRequest(
            namespace=self._calls.config.namespace, queue=queue, workflow_type=workflow_type, phases=wanted
        )
        async for answer in pages(self._calls, self._calls.admin.ListQueues, request):
            for message in answer.queues:
                yield queue_of(message)

    async def workers(self, *, queue: str = "", workflow_type: str = "") -> AsyncIterator[WorkerSession]:
        """Sessions of workers, by worker id; pages are fetched as they are needed.

        Args:
            queue: Only those that serve this queue.
            workflow_type: Only those that serve this type.
        """
        request = admin_service_pb2.ListWorkersRequest(namespace=self._calls.config.namespace, queue=queue, workflow_type=workflow_type)
        async for answer in pages(self._calls, self._calls.admin.ListWorkers, request):
            for message in answer.workers:
                yield worker_of(message)

    async def audit(
        self,
        workflow: WorkflowRef | None = None,
        *,
        actor: str = "",
        methods: Iterable[str] = (),
        after: datetime | None = None,
        before: datetime | None = None,
    ) -> AsyncIterator[AuditRecord]:
        """Who did what, newest first; pages are fetched as they are needed.

        Args:
            workflow: Only on this one; None: all.
            actor: Only by this caller.
            methods: Only these RPCs, such as "TerminateWorkflow".
            after: First moment; with a time zone.
            before: First moment after the last.
        """
        request = admin_service_pb2.ListAuditRecordsRequest(namespace=self._calls.config.namespace, actor=actor, methods=methods)
        if workflow is not None:
            request.workflow.CopyFrom(workflow.to_message())
            request.workflow.namespace = workflow.namespace or self._calls.config.namespace
        if after is not None or before is not None:
            put_times(request.record_time, {"from_time": after, "to_time": before})
        async for answer in pages(self._calls, self._calls.admin.ListAuditRecords, request):
            for message in answer.records:
                yield audit_of(message)
