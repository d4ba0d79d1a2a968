# Made by `python tools/sync_client.py` from perdure/definitions.py; do not edit.
"""Definitions on the server: register, activate, read."""

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta

from perdure import payloads
from perdure.answers import RegisteredDefinition, registered
from perdure.definition import Definition
from perdure.sync.calls import Calls
from perdure.trial import Trial, TrialCancel, TrialSignal, trial_events, trial_of
from perdure.v1 import admin_service_pb2, definition_pb2, resource_pb2, scripted_pb2


class Definitions:
    """The definitions of one namespace; `client.definitions`."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def register(
        self,
        definition: Definition | definition_pb2.Definition,
        *,
        activate: bool = False,
        validate_only: bool = False,
        update_policy: bool = False,
    ) -> RegisteredDefinition:
        """Registers a definition; the same content again changes nothing.

        Args:
            definition: What to register.
            activate: Also make it the one that new starts of its type use.
            validate_only: Names faults, fingerprint and contracts, and stores nothing.
            update_policy: If it is known already and its policies differ, take these.

        Raises:
            DefinitionRejected: It has faults; `violations` names each.
        """
        request = admin_service_pb2.RegisterDefinitionRequest(
            namespace=self._calls.config.namespace,
            definition=definition.to_message() if isinstance(definition, Definition) else definition,
            activate=activate,
            validate_only=validate_only,
            update_policy=update_policy,
        )
        answer = self._calls.unary(self._calls.admin.RegisterDefinition, request)
        warnings = tuple(f"{warning.field}: {warning.description}" for warning in answer.warnings)
        return registered(answer.definition, created=answer.created, warnings=warnings)

    def test(
        self,
        definition: Definition | definition_pb2.Definition | str,
        *scripts: scripted_pb2.ScriptedOutcome,
        input: object = None,
        events: Iterable[TrialSignal | TrialCancel] = (),
        duration: timedelta | None = None,
        seed: int = 0,
        fingerprint: str = "",
    ) -> Trial:
        """Runs a definition in the server's memory, by its rules and a clock of its own. Stores nothing, starts nothing.

        Args:
            definition: What to run; it need not be registered. A name: the registered definition of this type.
            scripts: How attempts end; see perdure.testing.completes and its siblings. Those without one complete without a value.
            input: Input of the workflow.
            events: Signals and cancels on the way.
            duration: Stop after this long on the trial's clock. None: when nothing can move any more.
            seed: Of the jitter. 0: no jitter.
            fingerprint: Which registered definition; empty: the active one.

        Raises:
            DefinitionRejected: It has faults; `violations` names each.
            InvalidRequest: A script fits no step, or no attempt could end by it.
            NotFound: There is no registered definition of that name.
        """
        request = admin_service_pb2.TestDefinitionRequest(
            namespace=self._calls.config.namespace, input=payloads.encode(input), outcomes=scripts, events=trial_events(events), seed=seed
        )
        if isinstance(definition, str):
            request.registered.workflow_type, request.registered.definition_fingerprint = definition, fingerprint
        else:
            request.definition.CopyFrom(definition.to_message() if isinstance(definition, Definition) else definition)
        if duration is not None:
            request.duration.FromTimedelta(duration)
        return trial_of(self._calls.unary(self._calls.admin.TestDefinition, request))

    def activate(self, workflow_type: str, fingerprint: str) -> RegisteredDefinition:
        """Makes a registered definition the one that new starts use. Raises NotFound."""
        request = admin_service_pb2.SetActiveDefinitionRequest(
            namespace=self._calls.config.namespace, workflow_type=workflow_type, definition_fingerprint=fingerprint
        )
        return registered((self._calls.unary(self._calls.admin.SetActiveDefinition, request)).definition)

    def get(self, workflow_type: str, fingerprint: str = "") -> RegisteredDefinition:
        """One definition; without a fingerprint the active one. Raises NotFound."""
        request = admin_service_pb2.GetDefinitionRequest(
            namespace=self._calls.config.namespace, workflow_type=workflow_type, definition_fingerprint=fingerprint
        )
        return registered((self._calls.unary(self._calls.admin.GetDefinition, request)).definition)

    def list(self, workflow_type: str = "", *, active_only: bool = False) -> Iterator[RegisteredDefinition]:
        """All definitions, or those of one type, by type, newest first; pages are fetched as they are needed."""
        request = admin_service_pb2.ListDefinitionsRequest(
            namespace=self._calls.config.namespace, workflow_type=workflow_type, active_only=active_only
        )
        while True:
            answer = self._calls.unary(self._calls.admin.ListDefinitions, request)
            for message in answer.definitions:
                yield registered(message)
            if not answer.next_page_token:
                return
            request.page_token = answer.next_page_token

    def pause(self, workflow_type: str, fingerprint: str = "", *, reason: str = "") -> None:
        """Grants no more claims in workflows of a definition; without a fingerprint of all of the type. Raises NotFound."""
        request = admin_service_pb2.PauseDefinitionRequest(
            namespace=self._calls.config.namespace, workflow_type=workflow_type, definition_fingerprint=fingerprint, reason=reason
        )
        self._calls.unary(self._calls.admin.PauseDefinition, request)

    def resume(self, workflow_type: str, fingerprint: str = "", *, reason: str = "") -> None:
        """Ends such a pause. Raises NotFound."""
        request = admin_service_pb2.ResumeDefinitionRequest(
            namespace=self._calls.config.namespace, workflow_type=workflow_type, definition_fingerprint=fingerprint, reason=reason
        )
        self._calls.unary(self._calls.admin.ResumeDefinition, request)

    def migrate(
        self,
        workflow_type: str,
        from_fingerprint: str,
        to_fingerprint: str,
        *,
        steps: Mapping[str, str] | None = None,
        accept: Iterable[str] = (),
        validate_only: bool = False,
        reason: str = "",
        request_id: str = "",
    ) -> admin_service_pb2.MigrateWorkflowsResponse:
        """Moves the open workflows of one definition to another, in the background; what would lose something is left alone and listed.

        Args:
            workflow_type: The type.
            from_fingerprint: Where from.
            to_fingerprint: Where to; registered.
            steps: Old step names to new ones, where they differ; "" drops a step.
            accept: Losses that are accepted, such as "COMPLETED_OUTPUT" or "RUNNING_CLAIM".
            validate_only: Counts and lists, and changes nothing.
            reason: Why, for the audit trail.
            request_id: Makes a repeat recognisable; empty: a new one.

        Raises:
            NotFound: A definition is not registered.
            InvalidRequest: The mapping does not fit the definitions.
        """
        request = admin_service_pb2.MigrateWorkflowsRequest(
            namespace=self._calls.config.namespace,
            workflow_type=workflow_type,
            from_fingerprint=from_fingerprint,
            to_fingerprint=to_fingerprint,
            accepted_losses=[admin_service_pb2.MigrationLoss.Value(f"MIGRATION_LOSS_{loss}") for loss in accept],
            validate_only=validate_only,
            reason=reason,
            request_id=request_id or uuid.uuid4().hex,
        )
        for old, new in (steps or {}).items():
            request.step_mapping.add(from_step=old, to_step=new)
        return self._calls.unary(self._calls.admin.MigrateWorkflows, request)

    def queues(self, queue: str = "", *, workflow_type: str = "") -> Sequence[resource_pb2.Queue]:
        """All queues with what is ready and running in them, and who serves them."""
        found: list[resource_pb2.Queue] = []
        request = admin_service_pb2.ListQueuesRequest(namespace=self._calls.config.namespace, queue=queue, workflow_type=workflow_type)
        while True:
            answer = self._calls.unary(self._calls.admin.ListQueues, request)
            found += answer.queues
            if not answer.next_page_token:
                return found
            request.page_token = answer.next_page_token
