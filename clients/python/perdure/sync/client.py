# Made by `python tools/sync_client.py` from perdure/client.py; do not edit.
"""The client: starts workflows, finds them, and makes workers."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Self

import grpc

from perdure import limits, payloads
from perdure.answers import Signalled, Started
from perdure.codec import Codec
from perdure.config import Security, connection_config
from perdure.definition import Definition
from perdure.errors import PerdureError
from perdure.known_types import KnownTypes
from perdure.operation_values import ServerInfo, server_info_of
from perdure.security import Tls
from perdure.starting import OnClosed, OnOpen, Start, StartSignal
from perdure.statuses import error_of_status
from perdure.steps import StepName
from perdure.sync.batches import Batches
from perdure.sync.calls import Calls
from perdure.sync.definitions import Definitions
from perdure.sync.finding import WorkflowFinder
from perdure.sync.namespaces import Namespaces
from perdure.sync.operations import Operations
from perdure.sync.polling import PolledClaim, poll
from perdure.sync.resources import Resources
from perdure.sync.run import Run
from perdure.sync.schedules import Schedules
from perdure.sync.worker import Worker
from perdure.v1 import admin_service_pb2, workflow_service_pb2
from perdure.view import Workflow, WorkflowRef, workflow_of, workflow_state
from perdure.worker.plan import WorkerOptions


class Client(WorkflowFinder):
    """Talks to a Perdure server. Without arguments: to PERDURE_ADDRESS, else to `perdure dev` on this machine.

    Use it as `with Client() as client`, or call `close` at the end. Threads may share it.
    Every call has a deadline, `timeout`; until then UNAVAILABLE is tried again, so that a restart of the server is no error.
    A `channel` that is given is used for everything but workers, and stays open.
    Before the first answer that takes no longer than `connect_timeout`: probably no server runs at that address.
    `tls=True` trusts the CAs of the system, `tls=Tls(ca_file=..., cert_file=..., key_file=...)` says more; `credentials` are gRPC's own,
    instead. A `token_file` is read again when it changes, certificates with each new connection of a worker. Without these, PERDURE_TLS,
    PERDURE_TLS_CA_FILE, PERDURE_TOKEN_FILE and the like count (perdure/config.py), also from a `profile`.
    With a `codec` (None: that of the key file in PERDURE_CODEC_KEYS, if any) all values leave and are stored encrypted.
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
        codec: Codec | None = None,
        token_file: str | None = None,
        tls: Tls | bool | None = None,
        profile: str | None = None,
    ) -> None:
        self.config = connection_config(address, namespace, token, security=Security(token_file, tls, profile), codec=codec)
        """Where the server is and who asks."""
        self._calls = Calls(self.config, timeout.total_seconds(), connect_timeout.total_seconds(), credentials, channel)
        self.definitions = Definitions(self._calls)
        """The definitions of the namespace."""
        self.resources = Resources(self._calls)
        """The resources of the namespace, whose permits steps hold."""
        self.schedules = Schedules(self._calls)
        """Starts by the clock."""
        self.batches = Batches(self._calls)
        """One deed on many workflows; purges and redactions."""
        self.namespaces = Namespaces(self._calls)
        """All namespaces of the server."""
        self.operations = Operations(self._calls)
        """Queues, workers, the audit trail."""

    def __repr__(self) -> str:
        return f"<Client {self.config.address} {self.config.namespace}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection; calls that still run end."""
        self._calls.close()

    @property
    def is_encrypted(self) -> bool:
        """Whether its connections use TLS."""
        return self._calls.credentials is not None or self.config.tls is not None

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

    def poll(
        self,
        *definitions: Definition,
        max_claims: int = 1,
        wait: timedelta = timedelta(seconds=limits.POLL_WAIT),
        steps: Iterable[StepName] | None = None,
        lease: timedelta | None = None,
        worker_id: str = "",
    ) -> Sequence[PolledClaim]:
        """Takes steps that are ready, without a worker: for a function that runs now and then. Whatever stays running uses `worker`.

        Each claim is yours for its lease, and you settle each. If the answer is lost on its way, they come again after their lease.

        Args:
            definitions: What you can do; they must be registered.
            max_claims: At most so many, up to 100.
            wait: How long for the first one, at most 60 s.
            steps: Only these. None: all that have code here.
            lease: How long each is yours without `renew`, at most 10 min. None: 30 s.
            worker_id: For people; empty: host name and process id.

        Returns:
            Claims; none if nothing was ready in time.

        Raises:
            ValueError: `steps` names no step.
            NotFound: The definition is not registered.
            NotAllowed: It is registered with other contracts only.
        """
        options = WorkerOptions(None, steps, worker_id, lease, register=False)
        return poll(self._calls, definitions, options, max_claims, wait)

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
            workflow: Its definition, or the name of its type. By the definition the types of input and signals are checked here; by the
                name they are not, and a wrong one fails in the worker.
            key: The caller's own name of the business object.
            input: What it is about.
            labels: To find it by.
            request_id: Makes a repeat of this very request recognisable; empty: a new one.
            on_open: What if the key has an open round. None: `use_existing`.
            on_closed: What if the key's last round has ended. None: `use_existing`.
            start_at: The first step waits until then; it must know its time zone.
            signals: Signals stored in the same write; if the key has an open workflow, sent to that, each counted once.
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
            InvalidRequest: A value is wrong, or by the definition of another type; `violations` names each.
        """
        start = Start(
            workflow=workflow,
            key=key,
            input=input,
            labels=labels,
            request_id=request_id,
            on_open=on_open,
            on_closed=on_closed,
            start_at=start_at,
            signals=signals,
            priority=priority,
            queue=queue,
            step_queues=step_queues,
            fairness_key=fairness_key,
            fairness_weight=fairness_weight,
            workflow_timeout=workflow_timeout,
            retention=retention,
            definition_fingerprint=definition_fingerprint,
            expected_fence=expected_fence,
            validate_only=validate_only,
        )
        request = start.to_message(self.config.namespace)
        return self._started(start, self._calls.start(request))

    def start_many(self, starts: Iterable[Start]) -> Sequence[Run | PerdureError]:
        """Several starts in one call, each on its own: one that fails does not touch the others.

        Args:
            starts: 1 to 500; two of one key are applied in order.

        Returns:
            For each start, in order, its Run; or the error that `client.start` would have raised.
        """
        given = tuple(starts)
        checked = [self._checked(start) for start in given]
        request = workflow_service_pb2.StartWorkflowsRequest(requests=[found for found in checked if not isinstance(found, PerdureError)])
        answered = bool(request.requests) or not given
        results = list((self._calls.unary(self._calls.workflows.StartWorkflows, request)).results if answered else ())
        told: list[Run | PerdureError] = []
        for start, found in zip(given, checked, strict=True):
            if isinstance(found, PerdureError):
                told.append(found)
            elif results:
                told.append(self._told(start, results.pop(0)))
        return told

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
        return Run(self._calls, ref, known=KnownTypes(workflow))

    def get(self, workflow: Definition | str, key: str) -> Workflow:
        """A workflow as it is now. Raises NotFound."""
        return self.run(workflow, key).get()

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

    def import_workflow(self, file: bytes, *, key: str = "", validate_only: bool = False, request_id: str = "") -> Workflow:
        """Puts an exported workflow into the namespace, paused, with a new run id and fence.

        Args:
            file: All that `run.export` gave.
            key: Its key here; empty: as exported.
            validate_only: Checks and stores nothing.
            request_id: Makes a repeat recognisable; empty: a new one.

        Raises:
            InvalidRequest: The file is damaged, or of another version.
            AlreadyExists: The key is in use.
        """
        options = admin_service_pb2.ImportOptions(
            namespace=self.config.namespace, business_key=key, request_id=request_id or uuid.uuid4().hex, validate_only=validate_only
        )
        return workflow_of((self._calls.import_workflow(options, file)).workflow)

    def server_info(self) -> ServerInfo:
        """The server that answers: version, defaults, limits, store, coordination, and what it found wrong."""
        return server_info_of(self._calls.unary(self._calls.admin.GetServerInfo, admin_service_pb2.GetServerInfoRequest()))

    def _checked(self, start: Start) -> workflow_service_pb2.StartWorkflowRequest | PerdureError:
        try:
            return start.to_message(self.config.namespace)
        except PerdureError as error:
            return error

    def _told(self, start: Start, result: workflow_service_pb2.StartWorkflowResult) -> Run | PerdureError:
        return error_of_status(result.status) or self._started(start, result.response)

    def _started(self, start: Start, answer: workflow_service_pb2.StartWorkflowResponse) -> Run:
        started = Started(answer.created, answer.run_id, answer.fence, workflow_state(answer.state), answer.definition_fingerprint)
        ref = WorkflowRef(start.workflow_type, start.key, self.config.namespace, answer.workflow.round or None)
        return Run(self._calls, ref, started=started, known=KnownTypes(start.workflow))
