"""How an attempt ended, as the message that says so."""

import asyncio
import traceback
from typing import cast

from perdure import limits, payloads
from perdure.branches import Chosen
from perdure.codec import FAILURE_PREFIX, Codec
from perdure.errors import PayloadRejected, PayloadUndecodable, PerdureError
from perdure.failure import Failure, cut, failure_type
from perdure.fan_out import Page
from perdure.sealing import seal
from perdure.v1 import payload_pb2, worker_service_pb2
from perdure.waits import KEEP, Wait
from perdure.worker.claims import Held

REFUSED = "perdure.result_refused"
"""Failure type of an attempt whose result the server did not take, such as one that is too large."""


def of_value(value: object) -> worker_service_pb2.Result:
    """What an activity returned: an output, a choice, or a wait. Raises PayloadRejected if it cannot travel."""
    if isinstance(value, worker_service_pb2.Result):
        return value  # made in the activity's own process
    result = worker_service_pb2.Result()
    if isinstance(value, Wait):
        result.waiting.wait.CopyFrom(value.to_message())
        if value.checkpoint is not KEEP:
            result.waiting.checkpoint.CopyFrom(payloads.encode(value.checkpoint) or payloads.NO_VALUE)
        return result
    if isinstance(value, Page):
        result.page.children.extend(payloads.encode(child) or payloads.NO_VALUE for child in value.children)
        cursor = payloads.encode(value.cursor)
        if cursor is not None:
            result.page.cursor.CopyFrom(cursor)
        return result
    result.completed.SetInParent()
    if isinstance(value, Chosen):
        value = cast("Chosen[object]", value)
        result.completed.choose.extend([value.branches] if isinstance(value.branches, str) else value.branches)
        value = value.output
    output = payloads.encode(value)
    if output is not None:
        result.completed.output.CopyFrom(output)
    return result


def of_exception(error: BaseException) -> worker_service_pb2.Result:
    """What an activity raised."""
    result = worker_service_pb2.Result()
    result.failed.CopyFrom(failure_message(error))
    return result


def released() -> worker_service_pb2.Result:
    """The claim is given back unharmed, its checkpoint kept."""
    result = worker_service_pb2.Result()
    result.released.SetInParent()
    return result


def cancelled() -> worker_service_pb2.Result:
    """The activity stopped because it was asked to."""
    result = worker_service_pb2.Result()
    result.cancelled.SetInParent()
    return result


def refused(error: PerdureError) -> worker_service_pb2.Result:
    """Instead of a result that the server did not take: the attempt failed, with the server's words."""
    return of_exception(Failure(REFUSED, str(error)))


def addressed(result: worker_service_pb2.Result, held: Held, codec: Codec | None = None) -> worker_service_pb2.Result:
    """The result of this very claim, its checkpoint behind those that were saved before."""
    if codec is not None:
        try:
            seal(result, codec)  # the activity's side has sealed its own; what is made on this side is small
        except Exception as error:  # noqa: BLE001 -- the program's own code; the claim must have a result all the same
            result = _not_encoded(error)
    result.claim_token = held.token
    result.last_frame_seq = held.last_frame_seq
    if result.HasField("waiting") and result.waiting.HasField("checkpoint"):
        held.checkpoint_no += 1
        result.waiting.checkpoint_no = held.checkpoint_no
    return result


def _not_encoded(error: Exception) -> worker_service_pb2.Result:
    """Tried again by policy, but not at once. It names the exception's class alone: a text may hold values, and nothing can be encoded."""
    result = worker_service_pb2.Result()
    result.failed.type = f"{FAILURE_PREFIX}failed"
    result.failed.message = f"the codec raised {failure_type(type(error))}"
    result.failed.retry_after.FromMilliseconds(int(limits.CODEC_RETRY_INTERVAL * 1000))
    return result


def failure_message(error: BaseException) -> payload_pb2.Failure:
    """The wire's failure of an exception, with its stack trace in the details."""
    if isinstance(error, Failure):
        message = payload_pb2.Failure(type=cut(error.type, limits.FAILURE_TYPE_BYTES) or "Failure", non_retryable=error.non_retryable)
        message.message = cut(error.message, limits.FAILURE_MESSAGE_BYTES)
        if error.retry_after is not None:
            message.retry_after.FromTimedelta(error.retry_after)
        details = error.details
    elif isinstance(error, PayloadUndecodable):
        # Another worker may have the key, or this one may get it: tried again by policy, but not at once.
        message = payload_pb2.Failure(type=FAILURE_PREFIX + error.cause, message=cut(error.message, limits.FAILURE_MESSAGE_BYTES))
        message.retry_after.FromMilliseconds(int(limits.CODEC_RETRY_INTERVAL * 1000))
        details = None
    else:
        text = "the activity raised CancelledError by itself" if isinstance(error, asyncio.CancelledError) else str(error)
        message = payload_pb2.Failure(type=failure_type(type(error)), message=cut(text, limits.FAILURE_MESSAGE_BYTES))
        message.non_retryable = isinstance(error, PayloadRejected)  # the same value fails the same way in every attempt
        details = None
    message.details.CopyFrom(_details(error, details))
    return message


def _details(error: BaseException, details: object) -> payload_pb2.Payload:
    lines = "".join(traceback.format_exception(error))
    # The end of a trace says where it happened.
    stack = lines.encode(errors="replace")[-limits.FAILURE_STACK_BYTES :].decode(errors="ignore")
    if details is None:
        return payload_pb2.Payload(json=payloads.to_json({"stack": stack}))
    if isinstance(details, bytes | payloads.Payload):
        return payloads.encode(details) or payloads.NO_VALUE
    return payload_pb2.Payload(json=payloads.to_json({"stack": stack, "details": details}))
