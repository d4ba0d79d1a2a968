"""An activity that plays operations, and tells what it sees."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from opentelemetry import propagate, trace

from conformance.lines import Line, error_line, failure_line, given, present, put, value_of, write
from perdure import Chosen, Condition, Context, Failure, HookFacts, Page, Payload, PerdureError, Wait
from perdure.payloads import Payload as Raw
from perdure.v1 import payload_pb2
from perdure.waits import KEEP, WAIT_RESULT_TYPE, parse_wait_result

NO_SCRIPT: Final = "driver.no_script"


class Gates:
    """Where activities hold, and who lets them go on."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[str, str, asyncio.Event]] = deque()
        self._early: Counter[tuple[str, str]] = Counter()

    def hold(self, step: str, key: str) -> asyncio.Event:
        """A gate that opens by `go_on`; open already if one came early."""
        gate = asyncio.Event()
        for told in ((step, key), (step, "")):
            if self._early[told]:
                self._early[told] -= 1
                gate.set()
                return gate
        self._waiting.append((step, key, gate))
        return gate

    def go_on(self, step: str, key: str) -> None:
        """Opens the oldest gate of the step (of this key, unless that is empty), or the next one."""
        for waiting in self._waiting:
            if waiting[0] == step and key in {"", waiting[1]} and not waiting[2].is_set():
                self._waiting.remove(waiting)
                waiting[2].set()
                return
        self._early[step, key] += 1

    def leave(self, gate: asyncio.Event) -> None:
        """Nobody waits at the gate any more."""
        self._waiting = deque(waiting for waiting in self._waiting if waiting[2] is not gate)


class Player:
    """Plays the behaviour of one worker."""

    def __init__(self, worker: str, behaviour: Sequence[Line]) -> None:
        self.gates = Gates()
        self._worker = worker
        self._behaviour = behaviour

    async def play(self, context: Context[Payload], inputs: dict[str, object]) -> object:
        """The handler of every step."""
        facts = context.facts
        activity = f"{self._worker}:{facts.workflow_type}/{facts.business_key}/{facts.round}/{facts.step}/{facts.claim_no}"
        playing = Playing(context, inputs, self.gates, self._teller(activity))
        playing.tell("began", **playing.seen())
        try:
            result = await playing.run(self._script(context))
        except asyncio.CancelledError:
            if not playing.told_to_stop:
                playing.tell("cancelled", reason=context.cancel_reason)
            playing.tell("ended", outcome="stopped")
            raise
        except PerdureError as error:
            playing.tell("ended", outcome="error", error=error_line(error))
            raise
        except Exception:
            playing.tell("ended", outcome="failed")
            raise
        playing.tell("ended", outcome="returned")
        return result

    def _teller(self, activity: str) -> Callable[[str, Line], None]:
        def tell(event: str, more: Line) -> None:
            write({"event": event, "worker": self._worker, "activity": activity} | more)

        return tell

    def _script(self, context: Context[Payload]) -> Sequence[Line]:
        facts = {"step": context.step, "key": context.business_key, "attempt": context.attempt, "claim_no": context.claim_no}
        for script in self._behaviour:
            if all(script.get(name, fact) == fact for name, fact in facts.items()):
                operations: Sequence[Line] = script["operations"]
                return operations
        return [{"op": "fail", "type": NO_SCRIPT, "message": str(facts), "non_retryable": True}]


class Playing:
    """One activity."""

    def __init__(self, context: Context[Payload], inputs: dict[str, object], gates: Gates, teller: Callable[[str, Line], None]) -> None:
        self._context = context
        self._inputs = inputs
        self._gates = gates
        self._teller = teller
        self.told_to_stop = False

    def tell(self, event: str, **more: object) -> None:
        """An event of this activity."""
        self._teller(event, more)

    def seen(self) -> Line:
        """All that it sees. Raises PayloadUndecodable."""
        context = self._context
        line: Line = {
            "namespace": context.namespace,
            "type": context.workflow_type,
            "key": context.business_key,
            "round": context.round,
            "step": context.step,
            "claim_no": context.claim_no,
            "attempt": context.attempt,
            "fence": context.fence,
            "idempotency_key": context.idempotency_key,
            "wake_token": context.wake_token,
            "traceparent": _traceparent(context),
            "labels": dict(context.labels),
            "inputs": {},
            "wakes": _wakes(context),
        }
        for name, value in self._inputs.items():
            _put_input(line["inputs"], name, value)
        put(line, "checkpoint", context.checkpoint)
        if context.cursor is not None:
            line["cursor"] = context.cursor
        failure = context.facts.last_failure
        hook = _hook_line(context.hook) if context.hook is not None else None
        return line | present(last_failure=failure_line(failure) if failure is not None else None, hook=hook)

    async def run(self, operations: Sequence[Line]) -> object:
        """Plays the operations until one gives the result."""
        for operation in operations:
            end = getattr(self, f"end_by_{operation['op']}", None)
            if end is not None:
                return end(operation)
            await getattr(self, f"do_{operation['op']}")(operation)
        return None

    # ---- operations that go on

    async def do_save(self, operation: Line) -> None:
        """Operation `save`."""
        checkpoint: Any = given(operation, "value")
        await self._context.save(checkpoint)
        self.tell("saved", **({"checkpoint": operation["value"]} if "value" in operation else {}))

    async def do_frame(self, operation: Line) -> None:
        """Operation `frame`."""
        self._context.frame(operation["text"])

    async def do_progress(self, operation: Line) -> None:
        """Operation `progress`."""
        more = {name: operation[name] for name in ("unit", "message") if name in operation}
        self._context.progress(operation["done"], operation.get("total"), **more)

    async def do_log(self, operation: Line) -> None:
        """Operation `log`."""
        self._context.log(operation["text"])

    async def do_alive(self, _: Line) -> None:
        """Operation `alive`."""
        self._context.alive()

    async def do_hold(self, operation: Line) -> None:
        """Operation `hold`."""
        gate = self._gates.hold(self._context.step, self._context.business_key)
        self.tell("held")
        try:
            while not gate.is_set():
                await self._wait(gate, is_deaf=operation.get("on_cancel") == "ignore")
        finally:
            self._gates.leave(gate)

    async def _wait(self, gate: asyncio.Event, *, is_deaf: bool) -> None:
        try:
            await gate.wait()
        except asyncio.CancelledError:
            self.told_to_stop = True
            self.tell("cancelled", reason=self._context.cancel_reason)
            if not is_deaf:
                raise

    async def do_block(self, operation: Line) -> None:
        """Operation `block`."""
        time.sleep(operation["ms"] / 1000)  # noqa: ASYNC251 -- a handler that blocks the loop is what is tried here

    # ---- operations that end it

    def end_by_return(self, operation: Line) -> object:
        """Operation `return`."""
        return given(operation, "value")

    def end_by_echo(self, operation: Line) -> object:
        """Operation `echo`."""
        return self._inputs[operation["input"]]

    def end_by_raise(self, operation: Line) -> object:
        """Operation `raise`."""
        raise RuntimeError(operation["message"])

    def end_by_fail(self, operation: Line) -> object:
        """Operation `fail`."""
        after = operation.get("retry_after_ms")
        raise Failure(
            operation["type"],
            operation.get("message", ""),
            details=given(operation, "details"),
            non_retryable=operation.get("non_retryable", False),
            retry_after=None if after is None else timedelta(milliseconds=after),
        )

    def end_by_wait(self, operation: Line) -> object:
        """Operation `wait`."""
        checkpoint: object = None if operation.get("clear_checkpoint") else KEEP
        if "checkpoint" in operation:
            checkpoint = value_of(operation["checkpoint"])
        return Wait(tuple(_condition(item) for item in operation["any_of"]), checkpoint)

    def end_by_choose(self, operation: Line) -> object:
        """Operation `choose`."""
        return Chosen(tuple(operation["branches"]), given(operation, "value"))

    def end_by_page(self, operation: Line) -> object:
        """Operation `page`."""
        return Page([value_of(child) for child in operation["children"]], given(operation, "cursor"))


def _condition(item: Line) -> Condition:
    return Condition(
        item.get("signal", ""),
        timedelta(milliseconds=item["after_ms"]) if "after_ms" in item else None,
        datetime.fromisoformat(item["at"]) if "at" in item else None,
        item.get("count", 1),
        item.get("name", ""),
    )


def _put_input(inputs: Line, name: str, value: object) -> None:
    if isinstance(value, Failure):
        inputs[name] = {"$failure": failure_line(value)}
    elif isinstance(value, Raw) and value.content_type == WAIT_RESULT_TYPE:
        result = parse_wait_result(value.to_message())
        inputs[name] = {"condition": result.condition, "wakes": [_wake_line(wake) for wake in result.wakes]}
    elif isinstance(value, Raw):
        put(inputs, name, value)


def _wakes(context: Context[Payload]) -> list[Line]:
    woken = context.woken(Payload)
    if woken is None:
        return []
    lines: list[Line] = []
    for wake in woken.wakes:
        line: Line = {"condition": wake.condition, "signal_name": wake.signal_name}
        line |= present(signal_id=wake.signal_id)
        put(line, "value", wake.value)
        lines.append(line)
    return lines


def _wake_line(wake: Any) -> Line:
    line: Line = {"condition": wake.condition, "signal_name": wake.signal_name}
    if wake.HasField("signal_id"):
        line["signal_id"] = wake.signal_id
    carried: payload_pb2.Payload | None = wake.payload if wake.HasField("payload") else None
    put(line, "value", carried)
    return line


def _hook_line(hook: HookFacts) -> Line:
    line: Line = {
        "kind": hook.kind,
        "compensates": hook.compensates,
        "in_doubt": hook.in_doubt,
        "failed_step": hook.failed_step,
        "cancel_reason": hook.cancel_reason,
        "unfinished": [],
    }
    line |= present(failure=failure_line(hook.failure) if hook.failure is not None else None)
    for step in hook.unfinished:
        told: Line = {"step": step.step, "state": step.state}
        put(told, "checkpoint", step.checkpoint(Payload))
        line["unfinished"].append(told)
    put(line, "compensated_output", hook.compensated_output(Payload))
    return line


def _traceparent(context: Context[Payload]) -> str:
    if not trace.get_current_span().get_span_context().is_valid:
        return context.traceparent
    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    return carrier.get("traceparent", "")
