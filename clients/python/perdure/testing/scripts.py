"""How attempts end when nobody runs them: for `TestServer.script` and `client.definitions.test`.

    completes("transcribe", "some text", takes=timedelta(minutes=2))
    fails("compose", "llm.quota", attempt=1)

The first script that matches an attempt is used. Of each: `attempt` from 1, 0 = any; `key` = only this business key; `times` = how often it
may be used, 0 = always; `takes` = how long the attempt takes on the test's clock.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from perdure import payloads
from perdure.failure import Failure
from perdure.steps import BaseStep
from perdure.v1 import claim_pb2, payload_pb2, scripted_pb2
from perdure.waits import KEEP, Wait

Scripted = scripted_pb2.ScriptedOutcome
"""One script, as the wire has it."""

_AT_ONCE = timedelta()


def completes(
    step: BaseStep | str = "",
    output: object = None,
    *,
    choose: Iterable[str] = (),
    attempt: int = 0,
    key: str = "",
    times: int = 0,
    takes: timedelta = _AT_ONCE,
) -> Scripted:
    """The step is done, with this output and these branches. An empty step: any."""
    return _scripted(step, attempt, key, times, takes=takes, completed=claim_pb2.Completed(output=payloads.encode(output), choose=choose))


def fails(
    step: BaseStep | str = "",
    failure: Failure | str = "test.failed",
    *,
    attempt: int = 0,
    key: str = "",
    times: int = 0,
    takes: timedelta = _AT_ONCE,
) -> Scripted:
    """The attempt fails, and is retried by policy."""
    told = failure if isinstance(failure, Failure) else Failure(failure, "as the test says")
    message = payload_pb2.Failure(
        type=told.type, message=told.message, details=payloads.encode(told.details), non_retryable=told.non_retryable
    )
    if told.retry_after is not None:
        message.retry_after.FromTimedelta(told.retry_after)
    return _scripted(step, attempt, key, times, takes=takes, failed=message)


def waits(
    step: BaseStep | str,
    wait: Wait,
    *,
    attempt: int = 0,
    key: str = "",
    times: int = 1,
    takes: timedelta = _AT_ONCE,
) -> Scripted:
    """The step waits durably, as an activity that returns a Wait; the claim after it takes the next script. Once, unless told otherwise."""
    message = claim_pb2.Waiting(wait=wait.to_message())
    if wait.checkpoint is not KEEP:
        message.checkpoint.CopyFrom(payloads.encode(wait.checkpoint) or payload_pb2.Payload())
    return _scripted(step, attempt, key, times, takes=takes, waiting=message)


def never_ends(step: BaseStep | str = "", *, attempt: int = 0, key: str = "", times: int = 0) -> Scripted:
    """The attempt gives no result: a timeout ends it."""
    return _scripted(step, attempt, key, times, never=scripted_pb2.NeverSettled())


def loses_worker(step: BaseStep | str = "", *, attempt: int = 0, key: str = "", times: int = 1, takes: timedelta = _AT_ONCE) -> Scripted:
    """The worker vanishes in the middle of it. Once, unless told otherwise."""
    return _scripted(step, attempt, key, times, takes=takes, lost=scripted_pb2.WorkerLost())


def _scripted(step: BaseStep | str, attempt: int, key: str, times: int, *, takes: timedelta = _AT_ONCE, **outcome: Any) -> Scripted:
    name = step if isinstance(step, str) else step.name
    made = Scripted(step=name, attempt=attempt, business_key=key, times=times, **outcome)
    if takes:
        made.duration.FromTimedelta(takes)
    return made
