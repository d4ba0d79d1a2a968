# Made by `python tools/sync_client.py` from perdure/reading.py; do not edit.
"""What can be read about one workflow: itself, its children, rounds and attempts, and why it is where it is."""

from collections.abc import Iterable, Iterator
from typing import Any

from perdure import payloads
from perdure.attempts import Attempt, attempt_of
from perdure.explanation import Explanation, explanation_of
from perdure.steps import StepName, step_names
from perdure.sync.calls import Calls
from perdure.sync.pages import pages
from perdure.v1 import admin_service_pb2, payload_pb2, workflow_pb2, workflow_service_pb2
from perdure.view import Workflow, WorkflowRef, WorkflowState, workflow_of


class WorkflowReader:
    """Reads of one workflow, by name; a Run is one."""

    _calls: Calls
    ref: WorkflowRef

    def get(self, *, with_values: bool = True) -> Workflow:
        """The workflow now, with its steps and, unless told otherwise, its values. Raises NotFound."""
        view = workflow_pb2.WORKFLOW_VIEW_FULL if with_values else workflow_pb2.WORKFLOW_VIEW_STEPS
        request = workflow_service_pb2.GetWorkflowRequest(workflow=self._ref(), view=view)
        return workflow_of((self._calls.unary(self._calls.workflows.GetWorkflow, request)).workflow)

    def children(self, step: StepName = "", *, states: Iterable[WorkflowState] = (), with_values: bool = False) -> Iterator[Workflow]:
        """The workflows that its map and child steps run, by step and index; pages are fetched as they are needed.

        Args:
            step: Only those of this step.
            states: Only those in these states.
            with_values: With inputs, outputs and steps.

        Raises:
            NotFound: There is no such workflow, or no such step.
        """
        request = workflow_service_pb2.ListChildrenRequest(
            workflow=self._ref(),
            step=step_names(step)[0] if step else "",
            states=[workflow_pb2.Workflow.State.Value(f"STATE_{state}") for state in states],
            view=workflow_pb2.WORKFLOW_VIEW_FULL if with_values else workflow_pb2.WORKFLOW_VIEW_BASIC,
        )
        for answer in pages(self._calls, self._calls.workflows.ListChildren, request):
            for message in answer.children:
                yield workflow_of(message)

    def rounds(self, *, with_values: bool = False) -> Iterator[Workflow]:
        """The rounds of its key that are kept, newest first; pages are fetched as they are needed. Raises NotFound.

        Args:
            with_values: With inputs, outputs and steps.
        """
        request = workflow_service_pb2.ListRoundsRequest(
            workflow=self._ref(), view=workflow_pb2.WORKFLOW_VIEW_FULL if with_values else workflow_pb2.WORKFLOW_VIEW_BASIC
        )
        for answer in pages(self._calls, self._calls.workflows.ListRounds, request):
            for message in answer.rounds:
                yield workflow_of(message)

    def attempts(self, step: StepName = "") -> Iterator[Attempt]:
        """The last claims of its steps, newest first: 10 of each step are kept. Raises NotFound.

        Args:
            step: Only those of this step.
        """
        request = workflow_service_pb2.ListAttemptsRequest(workflow=self._ref(), step=step_names(step)[0] if step else "")
        for answer in pages(self._calls, self._calls.workflows.ListAttempts, request):
            for message in answer.attempts:
                yield attempt_of(message)

    def explain(self, step: StepName = "") -> Explanation:
        """Why it is where it is: what each step that has not ended waits for, since when, what would move it. Raises NotFound.

        Args:
            step: Only this one; empty: all.
        """
        (name,) = step_names(step)
        request = workflow_service_pb2.ExplainWorkflowRequest(workflow=self._ref(), step=name)
        return explanation_of(self._calls.unary(self._calls.workflows.ExplainWorkflow, request))

    def export(self, *, with_payloads: bool = True, with_rounds: bool = False) -> Iterator[bytes]:
        """The workflow with all that belongs to it, as a file in pieces, for a report of a fault; `client.import_workflow` takes it.

        The file is lines of JSON; the first says format and version, the last has a digest. It holds no token or secret.

        Args:
            with_payloads: False: payloads are left out; their sizes and digests stay.
            with_rounds: Also the archived rounds of the key.

        Raises:
            NotFound: There is no such workflow.
        """
        request = admin_service_pb2.ExportWorkflowRequest(workflow=self._ref(), omit_payloads=not with_payloads, include_rounds=with_rounds)
        for answer in self._calls.export(request):
            yield answer.chunk

    def fetch(self, payload: payload_pb2.Payload, as_type: Any = Any) -> Any:
        """The value of a payload of this workflow's, read from its own place if it was too large to travel along.

        Raises:
            NotFound: It was freed or redacted.
            PayloadRejected: It is not of that type.
        """
        return payloads.decode(self._whole(payload), as_type)

    def _ref(self) -> workflow_pb2.WorkflowRef:
        message = self.ref.to_message()
        message.namespace = message.namespace or self._calls.config.namespace
        return message

    def _whole(self, payload: payload_pb2.Payload) -> payload_pb2.Payload:
        if payload.WhichOneof("data") != "ref":
            return payload
        request = workflow_service_pb2.FetchPayloadRequest(workflow=self._ref(), payload_id=payload.ref.payload_id)
        return (self._calls.unary(self._calls.workflows.FetchPayload, request)).payload
