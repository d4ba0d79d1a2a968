# Made by `python tools/sync_client.py` from perdure/run.py; do not edit.
"""A handle on one workflow: watch it, signal it, wait for it."""

import time
import uuid
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar, overload

from perdure import limits, payloads
from perdure.answers import Replayed, Signalled, Started
from perdure.batch_values import policy_update
from perdure.errors import CallTimeout, WorkflowCancelled, WorkflowFailed, WorkflowTerminated
from perdure.known_types import KnownTypes
from perdure.resolution import Resolution
from perdure.steps import StepName, StepPolicy, step_names
from perdure.sync.calls import Calls
from perdure.sync.reading import WorkflowReader
from perdure.sync.watching import Watching
from perdure.v1 import admin_service_pb2, workflow_service_pb2
from perdure.view import WorkflowRef, WorkflowState, failure_of, workflow_state

T = TypeVar("T")


def _known(request_id: str) -> str:
    """The caller's id, or a new one: the client's own retries must be recognised."""
    return request_id or uuid.uuid4().hex


class Run(WorkflowReader):
    """One workflow, by name. Making a handle asks nobody; every method asks the server."""

    def __init__(self, calls: Calls, ref: WorkflowRef, *, started: Started | None = None, known: KnownTypes | None = None) -> None:
        self._calls = calls
        self._known = known or KnownTypes()
        self.ref = ref
        """Its name; with the round if the handle comes from a start."""
        self.started = started
        """What the start answered; None if the handle does not come from one."""

    def __repr__(self) -> str:
        return f"<Run {self.ref.workflow_type}/{self.ref.business_key}{f' round {self.ref.round}' if self.ref.round else ''}>"

    @property
    def created(self) -> bool:
        """Whether the start that made this handle began the workflow; False for repeats and for other handles."""
        return self.started is not None and self.started.created

    @property
    def key(self) -> str:
        """The business key."""
        return self.ref.business_key

    def expecting(self, fence: int | None) -> "Run":
        """The same workflow, if its fence is this one: else calls raise Conflict. None: whatever its fence is."""
        return Run(self._calls, replace(self.ref, expected_fence=fence), known=self._known)

    @overload
    def result(self, *, timeout: timedelta | None = None) -> Any: ...
    @overload
    def result(self, as_type: type[T], *, timeout: timedelta | None = None) -> T: ...
    def result(self, as_type: Any = None, *, timeout: timedelta | None = None) -> Any:
        """Waits for the end, however long it takes, and gives the output.

        Args:
            as_type: What to decode it to; None: the type that the definition's output step is annotated with, else plain JSON.
            timeout: How long to wait at most; None: for ever.

        Raises:
            WorkflowFailed: It FAILED; has the failure.
            WorkflowCancelled: It was CANCELLED.
            WorkflowTerminated: It was TERMINATED.
            CallTimeout: The timeout is over; the workflow goes on.
            NotFound: There is no such workflow.
        """
        end = None if timeout is None else time.monotonic() + timeout.total_seconds()
        while True:
            wait = limits.RESULT_WAIT_TIMEOUT if end is None else min(limits.RESULT_WAIT_TIMEOUT, max(0.0, end - time.monotonic()))
            request = workflow_service_pb2.WaitForResultRequest(workflow=self._ref())
            request.timeout.FromTimedelta(timedelta(seconds=wait))
            answer = self._calls.unary(
                self._calls.workflows.WaitForResult, request, wait + max(self._calls.timeout, limits.CALL_MARGIN_TIMEOUT)
            )
            if answer.done:
                return self._outcome(answer, self._known.output() if as_type is None else as_type)
            if end is not None and time.monotonic() >= end:
                raise CallTimeout(f"{self!r} has not ended within {timeout}: it is {workflow_state(answer.state)}")

    def watch(self, *, frames: bool = True, follow: bool = False, resume_token: str = "", idle: bool = False) -> Watching:
        """A snapshot, then changes and frames until the end. Opens itself again after a cut, without repeats.

        Use it as `for event in run.watch()`; events are defined in perdure.events.

        Args:
            frames: Also progress frames.
            follow: Go on into the next rounds instead of ending with this one.
            resume_token: `resume_token` of an earlier event, to go on behind it.
            idle: Also an Idle event, after 15 s without another and whenever a lost connection is tried again: a moment to look
                whether somebody still reads what you pass on.

        The iterator raises NotFound if there is no such workflow, and Unavailable if no server was reached at all.
        """
        request = workflow_service_pb2.WatchRequest(workflow=self._ref(), resume_token=resume_token, include_frames=frames, follow=follow)
        if follow:
            request.workflow.ClearField("round")
        return Watching(self._calls, request, idle=idle)

    def signal(self, name: str, payload: object = None, *, signal_id: str = "") -> Signalled:
        """Sends a signal; returns when it is stored.

        Args:
            name: Which wait it is for.
            payload: What it carries. If the handle was made with the definition, and not only the name of the type, its type is checked.
            signal_id: Makes it count once however often it is sent; empty: a new one.

        Raises:
            InvalidRequest: By the definition the signal carries another type; it was not sent.
            NotFound: There is no such workflow.
            NotAllowed: It has ended, or its inbox is full.
            AlreadyExists: The signal_id was used with another name or payload.
        """
        carried = payloads.encode(payload)
        self._known.check_signal(name, carried)
        request = workflow_service_pb2.SignalRequest(
            workflow=self._ref(), signal_name=name, payload=carried, signal_id=signal_id or uuid.uuid4().hex
        )
        answer = self._calls.unary(self._calls.workflows.Signal, request)
        return Signalled(answer.duplicate, answer.consumed, request.signal_id)

    def cancel(self, reason: str = "", *, request_id: str = "") -> WorkflowState:
        """Asks for a cancel; returns the state that follows, CANCELLING or CANCELLED.

        Args:
            reason: Why, for people.
            request_id: Makes a repeat recognisable; empty: a new one.

        Raises:
            NotFound: There is no such workflow.
            NotAllowed: It is failing, or has ended.
        """
        request = workflow_service_pb2.CancelWorkflowRequest(workflow=self._ref(), reason=reason, request_id=_known(request_id))
        return workflow_state((self._calls.unary(self._calls.workflows.CancelWorkflow, request)).state)

    def terminate(self, reason: str = "", *, request_id: str = "") -> None:
        """Ends it at once: its claims are fenced, no hook runs.

        Args:
            reason: Why, for people.
            request_id: Makes a repeat recognisable; empty: a new one.

        Raises:
            NotFound: There is no such workflow.
            NotAllowed: It has ended.
        """
        request = workflow_service_pb2.TerminateWorkflowRequest(workflow=self._ref(), reason=reason, request_id=_known(request_id))
        self._calls.unary(self._calls.workflows.TerminateWorkflow, request)

    def pause(self, reason: str = "", *, request_id: str = "") -> None:
        """No step is begun any more until `resume`; what runs goes on. Only while RUNNING.

        Raises:
            NotFound: There is no such workflow.
            NotAllowed: It is not RUNNING.
        """
        request = workflow_service_pb2.PauseWorkflowRequest(workflow=self._ref(), reason=reason, request_id=_known(request_id))
        self._calls.unary(self._calls.workflows.PauseWorkflow, request)

    def resume(self, reason: str = "", *, request_id: str = "") -> None:
        """Ends a pause; queue, step and workflow timeouts move by its length.

        Raises:
            NotFound: There is no such workflow.
            NotAllowed: It is not RUNNING.
        """
        request = workflow_service_pb2.ResumeWorkflowRequest(workflow=self._ref(), reason=reason, request_id=_known(request_id))
        self._calls.unary(self._calls.workflows.ResumeWorkflow, request)

    def replay(self, *, reopen: StepName | Iterable[StepName] = (), reason: str = "", request_id: str = "") -> Replayed:
        """Lets an ended workflow go on: what did not complete is done again.

        With `client.run(..., expected_fence=...)` it happens once, however often it is sent.

        Args:
            reopen: Completed steps to do again, with all that comes after them.
            reason: Why, for people.
            request_id: Makes a repeat recognisable; empty: a new one.

        Raises:
            NotFound: There is no such workflow.
            NotAllowed: It has not ended.
            Conflict: It has another fence than expected.
        """
        request = workflow_service_pb2.ReplayWorkflowRequest(
            workflow=self._ref(), reopen_steps=step_names(reopen), reason=reason, request_id=_known(request_id)
        )
        answer = self._calls.unary(self._calls.workflows.ReplayWorkflow, request)
        return Replayed(tuple(answer.reopened_steps), tuple(answer.in_doubt_steps))

    def resolve(self, step: StepName, resolution: Resolution, *, reason: str, request_id: str = "") -> None:
        """Decides about a step that needs a person: held, backing off, waiting, or a hook that does not succeed.

        Args:
            step: Which step.
            resolution: `Resolution.retry()`, `.completed(output)`, `.failed(failure)` or `.pass_over()`.
            reason: Why, for people; required.
            request_id: Makes a repeat recognisable; empty: a new one.

        Raises:
            NotFound: There is no such workflow.
            NotAllowed: The step is in no such state.
            InvalidRequest: No reason is given.
        """
        (name,) = step_names(step)
        request = admin_service_pb2.ResolveStepRequest(workflow=self._ref(), step=name, reason=reason, request_id=_known(request_id))
        request.resolution.CopyFrom(resolution.message)
        self._calls.unary(self._calls.admin.ResolveStep, request)

    def update_step(self, step: StepName, policy: StepPolicy, *, reset: Iterable[str] = (), reason: str = "", request_id: str = "") -> None:
        """Changes the policy of one step, in this workflow only; timeouts that run already are moved at once.

        Args:
            step: Which step.
            policy: New values; what is not set stays as it is.
            reset: Fields that return to their defaults, such as "retry".
            reason: Why, for the audit trail.
            request_id: Makes a repeat recognisable; empty: a new one.

        Raises:
            NotFound: There is no such workflow, or no such step.
            NotAllowed: The workflow has ended.
            InvalidRequest: A value is not possible.
        """
        request = admin_service_pb2.UpdateStepOptionsRequest(
            workflow=self._ref(), update=policy_update(step, policy, reset), reason=reason, request_id=_known(request_id)
        )
        self._calls.unary(self._calls.admin.UpdateStepOptions, request)

    def delete(self, reason: str = "", *, request_id: str = "") -> None:
        """Removes an ended workflow, all its rounds and values.

        Raises:
            NotFound: There is no such workflow.
            NotAllowed: It has not ended.
        """
        whole = self._ref()
        whole.ClearField("round")  # a handle from `start` names its round, and the key goes with all of them
        request = workflow_service_pb2.DeleteWorkflowRequest(workflow=whole, reason=reason, request_id=_known(request_id))
        self._calls.unary(self._calls.workflows.DeleteWorkflow, request)

    def _outcome(self, answer: workflow_service_pb2.WaitForResultResponse, as_type: Any) -> Any:
        state = workflow_state(answer.state)
        if state is WorkflowState.COMPLETED:
            return payloads.decode(self._whole(answer.output) if answer.HasField("output") else None, as_type)
        name = f"{self.ref.workflow_type}/{self.ref.business_key}"
        if state is WorkflowState.FAILED:
            failure = failure_of(answer.failure)
            where = f" in {answer.failed_step}" if answer.failed_step else ""
            raise WorkflowFailed(f"{name} failed{where}: {failure}", failure, answer.failed_step)
        told = f": {answer.reason}" if answer.reason else ""
        if state is WorkflowState.CANCELLED:
            raise WorkflowCancelled(f"{name} was cancelled{told}", reason=state)
        raise WorkflowTerminated(f"{name} was terminated{told}", reason=state)
