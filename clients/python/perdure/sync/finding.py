# Made by `python tools/sync_client.py` from perdure/finding.py; do not edit.
"""Finding workflows of a namespace: lists, counts, and a watch of many."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from perdure.counting import Count, GroupBy, count_of, group_value
from perdure.definition import Definition
from perdure.filtering import Filter
from perdure.sync.calls import Calls
from perdure.sync.pages import pages
from perdure.sync.watching_many import WatchingMany
from perdure.v1 import filter_pb2, workflow_pb2, workflow_service_pb2
from perdure.view import Workflow, WorkflowState, workflow_of


class WorkflowFinder:
    """Workflows of one namespace, by filter; a Client is one."""

    _calls: Calls

    def list(
        self,
        workflow: Definition | str | None = None,
        *,
        states: Iterable[WorkflowState] = (),
        labels: Mapping[str, str] | None = None,
        keys: Iterable[str] = (),
        started_after: datetime | None = None,
        started_before: datetime | None = None,
        where: Filter | None = None,
        oldest_first: bool = False,
        with_steps: bool = False,
    ) -> Iterator[Workflow]:
        """Workflows that match all that is given, newest first; pages are fetched as they are needed.

        Args:
            workflow: Its definition, or the name of its type.
            states: Only those in one of these states.
            labels: Only those with these labels.
            keys: Only these business keys.
            started_after: First moment of the start; with a time zone.
            started_before: First moment after the last.
            where: Every other condition; what is given beside it is added to it.
            oldest_first: Instead of newest first.
            with_steps: With their steps; without values.

        Raises:
            InvalidRequest: No index serves this combination.
        """
        conditions = filter_pb2.WorkflowFilter() if where is None else where.to_message()
        short = Filter(
            workflow=() if workflow is None else workflow,
            states=states,
            labels=labels or {},
            keys=keys,
            started_after=started_after,
            started_before=started_before,
        )
        conditions.MergeFrom(short.to_message())
        order = workflow_service_pb2.ListWorkflowsRequest.Order
        request = workflow_service_pb2.ListWorkflowsRequest(
            namespace=self._calls.config.namespace,
            filter=conditions,
            order_by=order.ORDER_START_TIME_ASC if oldest_first else order.ORDER_START_TIME_DESC,
            view=workflow_pb2.WORKFLOW_VIEW_STEPS if with_steps else workflow_pb2.WORKFLOW_VIEW_BASIC,
        )
        for answer in pages(self._calls, self._calls.workflows.ListWorkflows, request):
            for message in answer.workflows:
                yield workflow_of(message)

    def count(self, where: Filter | None = None, *, group_by: GroupBy | None = None) -> Count:
        """How many workflows there are.

        Args:
            where: Which ones; None: all.
            group_by: Also split the number, by "state", "workflow_type" or "phase".

        Raises:
            InvalidRequest: No index serves this combination.
        """
        request = workflow_service_pb2.CountWorkflowsRequest(
            namespace=self._calls.config.namespace, filter=None if where is None else where.to_message(), group_by=group_value(group_by)
        )
        return count_of(self._calls.unary(self._calls.workflows.CountWorkflows, request))

    def watch_many(
        self,
        where: Filter | None = None,
        *,
        with_steps: bool = False,
        skip_existing: bool = False,
        resume_token: str = "",
        idle: bool = False,
    ) -> WatchingMany:
        """What there is, then what changes among many workflows, without frames and without an end. Opens itself again after a cut.

        Use it as `for event in client.watch_many(...)`; events are WorkflowChanged, WorkflowRemoved, ExistingSent and StartOver.

        Args:
            where: Which ones; None: all open ones.
            with_steps: With their steps.
            skip_existing: Only what changes from now on.
            resume_token: `resume_token` of an earlier event, to go on behind it.
            idle: Also a ManyIdle event, after 15 s without another and whenever a lost connection is tried again.

        The iterator raises InvalidRequest if no index serves the filter, and Unavailable if no server was reached at all.
        """
        request = workflow_service_pb2.WatchWorkflowsRequest(
            namespace=self._calls.config.namespace,
            filter=None if where is None else where.to_message(),
            view=workflow_pb2.WORKFLOW_VIEW_STEPS if with_steps else workflow_pb2.WORKFLOW_VIEW_BASIC,
            skip_existing=skip_existing,
            resume_token=resume_token,
        )
        return WatchingMany(self._calls, request, idle=idle)
