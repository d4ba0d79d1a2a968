"""What a person decides about a step that does not go on by itself."""

from dataclasses import dataclass

from perdure import limits, payloads
from perdure.failure import Failure, cut
from perdure.v1 import resource_pb2


@dataclass(frozen=True, slots=True)
class Resolution:
    """Made by one of its four ways; given to `run.resolve`."""

    message: resource_pb2.StepResolution
    """The wire's form."""

    @staticmethod
    def completed(output: object = None, *, branches: tuple[str, ...] = ()) -> "Resolution":
        """As if it had completed so. Raises PayloadRejected if the output cannot travel."""
        message = resource_pb2.StepResolution()
        message.completed.choose.extend(branches)
        value = payloads.encode(output)
        message.completed.SetInParent()
        if value is not None:
            message.completed.output.CopyFrom(value)
        return Resolution(message)

    @staticmethod
    def failed(failure: Failure) -> "Resolution":
        """As if it had failed for good; `on_exhausted` follows, except hold."""
        message = resource_pb2.StepResolution()
        message.failed.type = cut(failure.type, limits.FAILURE_TYPE_BYTES)
        message.failed.message = cut(failure.message, limits.FAILURE_MESSAGE_BYTES)
        return Resolution(message)

    @staticmethod
    def retry() -> "Resolution":
        """New attempts, from 1."""
        message = resource_pb2.StepResolution()
        message.retry.SetInParent()
        return Resolution(message)

    @staticmethod
    def pass_over() -> "Resolution":
        """Go on without it: a hook is noted and passed, an ordinary step is SKIPPED with what comes after it."""
        message = resource_pb2.StepResolution()
        message.pass_over.SetInParent()
        return Resolution(message)
