"""The public surface as a snapshot: every change of it is seen in review."""

import inspect

import perdure
from perdure.reasons import ErrorReason
from perdure.v1 import errors_pb2

NAMES = """
AccessDenied AlreadyExists Attempt AuditRecord Batch BatchOperation BatchState Blocker Branch CallTimeout Change ChildStep Chosen
ClaimLost Client Codec Condition Conflict Context Count Cron Definition DefinitionRejected End ErrorReason Event Every ExistingSent
Explanation Failure Filter Firing Frame FramesReset Gap HookFacts Idle InvalidRequest ManyEvent ManyIdle MapError MapResult MapStep
Migration Namespace NamespaceLimits NotAllowed NotFound NotImplementedYet Overloaded Page Payload PayloadRejected PayloadUndecodable
PerdureError PermitHolder PolledClaim Queue Rate RegisteredDefinition Replayed Resolution Resource Retry Run Schedule ScheduleTimes
ScheduledStart ServerFault ServerInfo Signalled Snapshot Start StartOver StartSignal Step StepExplanation StepPolicy StepState StepView
Tls Unavailable UnfinishedStep Violation Wait WaitStep Wake Woken Worker WorkerSession Workflow WorkflowCancelled WorkflowChanged
WorkflowFailed WorkflowNotCompleted WorkflowPolicy WorkflowRef WorkflowRemoved WorkflowState WorkflowTerminated
"""


def test_what_is_exported() -> None:
    assert sorted(perdure.__all__) == NAMES.split()
    for name in perdure.__all__:
        assert getattr(perdure, name).__doc__, name


def test_every_public_method_is_documented() -> None:
    for name in perdure.__all__:
        exported = getattr(perdure, name)
        if not inspect.isclass(exported):
            continue
        for member, value in vars(exported).items():
            if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                assert value.__doc__, f"{name}.{member}"


def test_reasons_are_those_of_the_wire() -> None:
    wire = {name.removeprefix("ERROR_REASON_") for name in errors_pb2.ErrorReason.keys()} - {"UNSPECIFIED"}  # noqa: SIM118 -- protobuf's own class
    assert {str(reason) for reason in ErrorReason} == wire
