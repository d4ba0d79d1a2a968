"""Definitions on the server: register, activate, read."""

import uuid
from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import timedelta

from perdure import payloads
from perdure.answers import RegisteredDefinition, registered
from perdure.batch_values import policy_update
from perdure.calls import Calls
from perdure.counting import Count
from perdure.definition import Definition
from perdure.filtering import Filter
from perdure.migration_values import Migration, migration_of
from perdure.pages import pages
from perdure.sealing import check_definition
from perdure.steps import StepPolicy
from perdure.trial import Trial, TrialCancel, TrialSignal, trial_events, trial_of
from perdure.v1 import admin_service_pb2, definition_pb2, scripted_pb2
from perdure.workflow_policy import WorkflowPolicy


class Definitions:
    """The definitions of one namespace; `client.definitions`."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def register(
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
            DefinitionRejected: It has faults, or needs a look into values that the codec hides; `violations` names each.
        """
        message = definition.to_message() if isinstance(definition, Definition) else definition
        check_definition(message, self._calls.config.codec)
        request = admin_service_pb2.RegisterDefinitionRequest(
            namespace=self._calls.config.namespace,
            definition=message,
            activate=activate,
            validate_only=validate_only,
            update_policy=update_policy,
        )
        answer = await self._calls.unary(self._calls.admin.RegisterDefinition, request)
        warnings = tuple(f"{warning.field}: {warning.description}" for warning in answer.warnings)
        return registered(answer.definition, created=answer.created, warnings=warnings)

    async def test(
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
        return trial_of(await self._calls.unary(self._calls.admin.TestDefinition, request))

    async def activate(self, workflow_type: str, fingerprint: str) -> RegisteredDefinition:
        """Makes a registered definition the one that new starts use. Raises NotFound."""
        request = admin_service_pb2.SetActiveDefinitionRequest(
            namespace=self._calls.config.namespace, workflow_type=workflow_type, definition_fingerprint=fingerprint
        )
        return registered((await self._calls.unary(self._calls.admin.SetActiveDefinition, request)).definition)

    async def get(self, workflow_type: str, fingerprint: str = "") -> RegisteredDefinition:
        """One definition; without a fingerprint the active one. Raises NotFound."""
        request = admin_service_pb2.GetDefinitionRequest(
            namespace=self._calls.config.namespace, workflow_type=workflow_type, definition_fingerprint=fingerprint
        )
        return registered((await self._calls.unary(self._calls.admin.GetDefinition, request)).definition)

    async def list(self, workflow_type: str = "", *, active_only: bool = False) -> AsyncIterator[RegisteredDefinition]:
        """All definitions, or those of one type, by type, newest first; pages are fetched as they are needed."""
        request = admin_service_pb2.ListDefinitionsRequest(
            namespace=self._calls.config.namespace, workflow_type=workflow_type, active_only=active_only
        )
        async for answer in pages(self._calls, self._calls.admin.ListDefinitions, request):
            for message in answer.definitions:
                yield registered(message)

    async def count_open(self, workflow_type: str, fingerprint: str = "") -> Count:
        """Open workflows that run by a definition; without a fingerprint by the active one. Raises NotFound."""
        request = admin_service_pb2.GetDefinitionRequest(
            namespace=self._calls.config.namespace, workflow_type=workflow_type, definition_fingerprint=fingerprint
        )
        answer = await self._calls.unary(self._calls.admin.GetDefinition, request)
        return Count(answer.open_count, answer.open_count_estimate, {})

    async def update_policy(
        self,
        workflow_type: str,
        fingerprint: str = "",
        *,
        policy: WorkflowPolicy | None = None,
        steps: Mapping[str, StepPolicy] | None = None,
        reset: Iterable[str] = (),
        reason: str = "",
        etag: str = "",
        validate_only: bool = False,
        request_id: str = "",
    ) -> RegisteredDefinition:
        """Changes policies of a registered definition, also for its open workflows; without a fingerprint of the active one.

        Args:
            workflow_type: The type.
            fingerprint: Which definition; empty: the active one.
            policy: New values for the workflow as a whole; what is not set stays as it is.
            steps: New values by step; what is not set stays as it is.
            reset: Fields of the workflow's policy that return to their defaults.
            reason: Why, for the audit trail.
            etag: Only if it is unchanged since it was read; empty: always.
            validate_only: Checks and changes nothing.
            request_id: Makes a repeat recognisable; empty: a new one.

        Raises:
            NotFound: There is no such definition.
            InvalidRequest: A value or a step is wrong.
            Conflict: Another has changed it.
        """
        request = admin_service_pb2.UpdatePolicyRequest(
            namespace=self._calls.config.namespace,
            workflow_type=workflow_type,
            definition_fingerprint=fingerprint,
            steps=[policy_update(step, changed, ()) for step, changed in (steps or {}).items()],
            etag=etag,
            request_id=request_id or uuid.uuid4().hex,
            validate_only=validate_only,
            reason=reason,
        )
        if policy is not None:
            request.workflow_policy.CopyFrom(policy.to_message())
        fields = [field.name for field, _ in request.workflow_policy.ListFields()]
        request.update_mask.paths.extend(sorted({*fields, *reset}))
        return registered((await self._calls.unary(self._calls.admin.UpdatePolicy, request)).definition)

    async def delete(
        self, workflow_type: str, fingerprint: str, *, etag: str = "", validate_only: bool = False, request_id: str = ""
    ) -> None:
        """Removes a definition that is not active and has no kept workflow. Raises NotFound, NotAllowed (DEFINITION_IN_USE), Conflict."""
        request = admin_service_pb2.DeleteDefinitionRequest(
            namespace=self._calls.config.namespace,
            workflow_type=workflow_type,
            definition_fingerprint=fingerprint,
            etag=etag,
            validate_only=validate_only,
            request_id=request_id or uuid.uuid4().hex,
        )
        await self._calls.unary(self._calls.admin.DeleteDefinition, request)

    async def pause(self, workflow_type: str, fingerprint: str = "", *, reason: str = "") -> None:
        """Grants no more claims in workflows of a definition; without a fingerprint of all of the type. Raises NotFound."""
        request = admin_service_pb2.PauseDefinitionRequest(
            namespace=self._calls.config.namespace, workflow_type=workflow_type, definition_fingerprint=fingerprint, reason=reason
        )
        await self._calls.unary(self._calls.admin.PauseDefinition, request)

    async def resume(self, workflow_type: str, fingerprint: str = "", *, reason: str = "") -> None:
        """Ends such a pause. Raises NotFound."""
        request = admin_service_pb2.ResumeDefinitionRequest(
            namespace=self._calls.config.namespace, workflow_type=workflow_type, definition_fingerprint=fingerprint, reason=reason
        )
        await self._calls.unary(self._calls.admin.ResumeDefinition, request)

    async def migrate(
        self,
        workflow_type: str,
        from_fingerprint: str,
        to_fingerprint: str,
        *,
        steps: Mapping[str, str] | None = None,
        where: Filter | None = None,
        accept: Iterable[str] = (),
        max_per_second: float = 0.0,
        validate_only: bool = False,
        reason: str = "",
        request_id: str = "",
    ) -> Migration:
        """Moves the open workflows of one definition to another, in the background; what would lose something is left alone and listed.

        Args:
            workflow_type: The type.
            from_fingerprint: Where from.
            to_fingerprint: Where to; registered.
            steps: Old step names to new ones, where they differ; "" drops a step.
            where: Only these; None: all open workflows of `from_fingerprint`.
            accept: Losses that are accepted, such as "COMPLETED_OUTPUT" or "RUNNING_CLAIM".
            max_per_second: At most so many workflows per second. 0: the server's limit.
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
            filter=None if where is None else where.to_message(),
            validate_only=validate_only,
            reason=reason,
            request_id=request_id or uuid.uuid4().hex,
            max_per_second=max_per_second,
        )
        for old, new in (steps or {}).items():
            request.step_mapping.add(from_step=old, to_step=new)
        return migration_of(await self._calls.unary(self._calls.admin.MigrateWorkflows, request))
