# Made by `python tools/sync_client.py` from perdure/client.py; do not edit.
"""The client: starts workflows, finds them, and makes workers."""

import uuid
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Self

import grpc

from perdure import limits, payloads
from perdure.answers import Signalled, Started
from perdure.config import connection_config
from perdure.definition import Definition
from perdure.starting import OnClosed, OnOpen, StartSignal, output_type, set_policies, set_times, signals_of
from perdure.steps import StepName
from perdure.sync.calls import Calls
from perdure.sync.definitions import Definitions
from perdure.sync.resources import Resources
from perdure.sync.run import Run
from perdure.sync.worker import Worker
from perdure.v1 import admin_service_pb2, filter_pb2, workflow_pb2, workflow_service_pb2
from perdure.view import Workflow, WorkflowRef, WorkflowState, workflow_of, workflow_state
from perdure.worker.plan import WorkerOptions


class Client:
    """Talks to a Perdure server. Without arguments: to PERDURE_ADDRESS, else to `perdure dev` on this machine.

    Use it as `with Client() as client`, or call `close` at the end. Threads may share it.
    Every call has a deadline, `timeout`; until then UNAVAILABLE is tried again, so that a restart of the server is no error.
    A `channel` that is given is used for everything but workers, and stays open.
    Before the first answer that takes no longer than `connect_timeout`: probably no server runs at that address.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        namespace: str | None = None,
        token: str | None = None,
        credentials: grpc.ChannelCredentials | None = None,
        channel: grpc.Channel | None = None,
        timeout: timedelta = timedelta(seconds=limits.CALL_TIMEOUT),
        connect_timeout: timedelta = timedelta(seconds=limits.FIRST_CONTACT_TIMEOUT),
    ) -> None:
        self.config = connection_config(address, namespace, token)
        """Where the server is and who asks."""
        self._calls = Calls(self.config, timeout.total_seconds(), connect_timeout.total_seconds(), credentials, channel)
        self.definitions = Definitions(self._calls)
        """The definitions of the namespace."""
        self.resources = Resources(self._calls)
        """The resources of the namespace, whose permits steps hold."""

    def __repr__(self) -> str:
        return f"<Client {self.config.address} {self.config.namespace}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection; calls that still run end."""
        self._calls.close()

    def worker(
        self,
        *definitions: Definition,
        slots: Mapping[str, int] | int | None = None,
        steps: Iterable[StepName] | None = None,
        worker_id: str = "",
        lease: timedelta | None = None,
        grace: timedelta = timedelta(seconds=limits.STOP_GRACE),
        register: bool = True,
        handle_signals: bool = True,
        labels: Mapping[str, str] | None = None,
    ) -> Worker:
        """A worker for the steps of these definitions; it works inside `with worker`, or by `worker.run()`.

        Args:
            definitions: What it can run.
            slots: How many activities of a step may run at once, by step name (`transcribe`, or `note.transcribe`); or one
                number for all. Steps that are not named share 100 slots (`async def`), a thread (`def`) or a process per core.
            steps: Serve only these. None: all that have code here.
            worker_id: For people; empty: host name and process id.
            lease: Wish for the session's lease. None: the server's default, 30 s.
            grace: How long running activities may go on after a stop was asked for, before their claims are given back.
            register: Register the definitions, and activate those whose type has no active one.
            handle_signals: SIGTERM leaves the `async with` block; a second one ends the grace.
            labels: Free facts about the worker, for people.

        Raises:
            ValueError: `slots` or `steps` names no step.
            DefinitionRejected: An annotation cannot be resolved or decoded.
        """
        options = WorkerOptions(slots, steps, worker_id, lease, grace, register, handle_signals, labels or {})
        return Worker(self._calls, definitions, options)

    def start(
        self,
        workflow: Definition | str,
        *,
        key: str,
        input: object = None,
        labels: Mapping[str, str] | None = None,
        request_id: str = "",
        on_open: OnOpen | None = None,
        on_closed: OnClosed | None = None,
        start_at: datetime | None = None,
        signals: Iterable[StartSignal] = (),
        priority: int | None = None,
        queue: str = "",
        step_queues: Mapping[str, str] | None = None,
        fairness_key: str = "",
        fairness_weight: float | None = None,
        workflow_timeout: timedelta | None = None,
        retention: timedelta | None = None,
        definition_fingerprint: str = "",
        expected_fence: int | None = None,
        validate_only: bool = False,
    ) -> Run:
        """Accepts a piece of work, once per key: a repeat gives the same workflow, `run.created` False. Returns when it is stored.

        Args:
            workflow: Its definition, or the name of its type.
            key: The caller's own name of the business object.
            input: What it is about.
            labels: To find it by.
            request_id: Makes a repeat of this very request recognisable; empty: a new one.
            on_open: What if the key has an open round. None: `use_existing`.
            on_closed: What if the key's last round has ended. None: `use_existing`.
            start_at: The first step waits until then; it must know its time zone.
            signals: Signals stored in the same write.
            priority: 0 to 9, higher sooner. None: 5.
            queue: Queue of all steps, instead of their policies'.
            step_queues: Step name to queue, stronger than `queue`.
            fairness_key: Work of one key shares a queue fairly with that of others.
            fairness_weight: Share of this fairness key.
            workflow_timeout: Instead of the definition's.
            retention: Instead of the definition's.
            definition_fingerprint: Which registered definition; empty: the active one.
            expected_fence: That of the round before; if it is another, Conflict.
            validate_only: Checks everything and stores nothing.

        Raises:
            AlreadyExists: The key has another input, or the policy says `reject`.
            NotFound: The type has no active definition.
            InvalidRequest: A value is wrong; `violations` names each.
        """
        workflow_type = workflow if isinstance(workflow, str) else workflow.workflow_type
        request = workflow_service_pb2.StartWorkflowRequest(
            workflow=WorkflowRef(workflow_type, key, self.config.namespace, expected_fence=expected_fence).to_message(),
            input=payloads.encode(input),
            request_id=request_id or uuid.uuid4().hex,
            labels=labels,
            priority=priority,
            queue=queue,
            step_queues=step_queues,
            fairness_key=fairness_key,
            fairness_weight=fairness_weight,
            definition_fingerprint=definition_fingerprint,
            validate_only=validate_only,
            signals=signals_of(signals),
        )
        set_policies(request, on_open, on_closed)
        set_times(request, start_at, workflow_timeout, retention)
        answer = self._calls.unary(self._calls.workflows.StartWorkflow, request)
        started = Started(answer.created, answer.run_id, answer.fence, workflow_state(answer.state), answer.definition_fingerprint)
        ref = WorkflowRef(workflow_type, key, self.config.namespace, answer.workflow.round or None)
        return Run(self._calls, ref, started=started, output_type=output_type(workflow))

    def run(self, workflow: Definition | str, key: str, *, round: int | None = None, expected_fence: int | None = None) -> Run:
        """A handle on a workflow by its name; asks nobody.

        Args:
            workflow: Its definition, or the name of its type.
            key: Its business key.
            round: Which round of the key; None: the current one.
            expected_fence: If the run's fence is another, calls raise Conflict.
        """
        workflow_type = workflow if isinstance(workflow, str) else workflow.workflow_type
        ref = WorkflowRef(workflow_type, key, self.config.namespace, round, expected_fence)
        return Run(self._calls, ref, output_type=output_type(workflow))

    def get(self, workflow: Definition | str, key: str) -> Workflow:
        """A workflow as it is now. Raises NotFound."""
        return self.run(workflow, key).get()

    def list(
        self,
        workflow: Definition | str | None = None,
        *,
        states: Iterable[WorkflowState] = (),
        labels: Mapping[str, str] | None = None,
        keys: Iterable[str] = (),
        started_after: datetime | None = None,
        started_before: datetime | None = None,
        oldest_first: bool = False,
        with_steps: bool = False,
    ) -> Iterator[Workflow]:
        """Workflows that match all that is given, newest first; pages are fetched as they are needed.

        Raises:
            InvalidRequest: No index serves this combination.
        """
        conditions = filter_pb2.WorkflowFilter(labels=labels, business_keys=keys)
        if workflow is not None:
            conditions.workflow_types.append(workflow if isinstance(workflow, str) else workflow.workflow_type)
        conditions.states.extend(workflow_pb2.Workflow.State.Value(f"STATE_{state}") for state in states)
        if started_after is not None:
            conditions.start_time.from_time.FromDatetime(started_after)
        if started_before is not None:
            conditions.start_time.to_time.FromDatetime(started_before)
        order = workflow_service_pb2.ListWorkflowsRequest.Order
        request = workflow_service_pb2.ListWorkflowsRequest(
            namespace=self.config.namespace,
            filter=conditions,
            order_by=order.ORDER_START_TIME_ASC if oldest_first else order.ORDER_START_TIME_DESC,
            view=workflow_pb2.WORKFLOW_VIEW_STEPS if with_steps else workflow_pb2.WORKFLOW_VIEW_BASIC,
        )
        while True:
            answer = self._calls.unary(self._calls.workflows.ListWorkflows, request)
            for message in answer.workflows:
                yield workflow_of(message)
            if not answer.next_page_token:
                return
            request.page_token = answer.next_page_token

    def signal(self, wake_token: str, name: str, payload: object = None, *, signal_id: str = "") -> Signalled:
        """Signals by a claim's wake_token, as a webhook does; by name use `client.run(...).signal`.

        Raises:
            InvalidRequest: The token is not readable.
            Conflict: The token is of another round.
            NotFound: The workflow is gone.
        """
        request = workflow_service_pb2.SignalRequest(
            wake_token=wake_token, signal_name=name, payload=payloads.encode(payload), signal_id=signal_id or uuid.uuid4().hex
        )
        answer = self._calls.unary(self._calls.workflows.Signal, request)
        return Signalled(answer.duplicate, answer.consumed, request.signal_id)

    def server_info(self) -> admin_service_pb2.GetServerInfoResponse:
        """The server that answers: version, defaults, limits, store, coordination."""
        return self._calls.unary(self._calls.admin.GetServerInfo, admin_service_pb2.GetServerInfoRequest())
