"""Requests of a client."""

import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

from opentelemetry import context as contexts
from opentelemetry import propagate

from conformance.lines import Line, Unusable, duration, given, moment, present, put
from conformance.raw_calls import RawCalls
from conformance.views import attempt_line, definition_line, explanation_line, workflow_line
from perdure import Client, Filter, Payload, Run, StartSignal, Tls, Workflow, WorkflowState
from perdure.config import key_file_codec
from perdure.definition_file import parse_definition
from perdure.v1 import payload_pb2

PLAIN = ("labels", "request_id", "on_open", "on_closed", "priority", "queue", "step_queues", "fairness_key", "fairness_weight")
FACTS = ("definition_fingerprint", "expected_fence", "validate_only")
"""Fields of a start that the library is given as they come."""


class OpenClient:
    """One client, with its raw calls."""

    def __init__(self, fields: Line) -> None:
        tls = fields.get("tls")
        options: Any = present(
            namespace=fields.get("namespace"),
            token=fields.get("token"),
            token_file=fields.get("token_file"),
            tls=Tls(**tls) if isinstance(tls, dict) else tls,
            codec=key_file_codec(fields.get("codec_keys", "")),
            timeout=duration(fields, "timeout_ms"),
            connect_timeout=duration(fields, "connect_timeout_ms"),
        )
        self.client = Client(fields["address"], **options)
        self.raw = RawCalls(self.client)
        self._timeout = fields.get("timeout_ms", 30_000) / 1000

    async def close(self) -> None:
        """Closes both."""
        await self.raw.close()
        await self.client.close()

    def run(self, fields: Line) -> Run:
        """The workflow that a request names."""
        return self.client.run(fields["type"], fields["key"], round=fields.get("round"), expected_fence=fields.get("expected_fence"))

    async def start(self, fields: Line) -> Line:
        """Request `start`."""
        spans = {name: duration(fields, f"{name}_ms") for name in ("workflow_timeout", "retention")}
        options: Any = present(**{name: fields.get(name) for name in PLAIN + FACTS}, **spans, start_at=moment(fields, "start_at"))
        options["signals"] = [
            StartSignal(item["name"], given(item, "value"), item.get("signal_id", "")) for item in fields.get("signals", [])
        ]
        with _under(fields.get("traceparent", "")):
            run = await self.client.start(fields["type"], key=fields["key"], input=given(fields, "input"), **options)
        started = run.started
        if started is None:
            raise Unusable("the library told nothing of the start")
        return {
            "created": started.created,
            "run_id": started.run_id,
            "round": run.ref.round or 0,
            "fence": started.fence,
            "state": started.state,
            "definition_fingerprint": started.definition_fingerprint,
        }

    async def signal(self, fields: Line) -> Line:
        """Request `signal`."""
        options: Any = present(signal_id=fields.get("signal_id"))
        if "wake_token" in fields:
            answer = await self.client.signal(fields["wake_token"], fields["name"], given(fields, "value"), **options)
        else:
            answer = await self.run(fields).signal(fields["name"], given(fields, "value"), **options)
        return {"duplicate": answer.duplicate, "consumed": answer.consumed, "signal_id": answer.signal_id}

    async def result(self, fields: Line) -> Line:
        """Request `result`."""
        line: Line = {}
        put(line, "value", await self.run(fields).result(Payload, timeout=duration(fields, "timeout_ms")))
        return line

    async def get(self, fields: Line) -> Line:
        """Request `get`."""
        run = self.run(fields)

        async def fetch(payload: payload_pb2.Payload) -> Payload:
            fetched: Payload = await run.fetch(payload, Payload)
            return fetched

        return await workflow_line(await run.get(), fetch)

    async def list(self, fields: Line) -> Line:
        """Request `list`."""
        states = [WorkflowState(state) for state in fields.get("states", [])]
        found = self.client.list(
            fields.get("type"),
            states=states,
            labels=fields.get("labels"),
            keys=fields.get("keys", ()),
            oldest_first=fields.get("oldest_first", False),
        )
        return {"workflows": await _brief(found)}

    async def children(self, fields: Line) -> Line:
        """Request `children`."""
        return {"workflows": await _brief(self.run(fields).children(fields.get("step", "")))}

    async def attempts(self, fields: Line) -> Line:
        """Request `attempts`."""
        return {"attempts": [attempt_line(attempt) async for attempt in self.run(fields).attempts(fields.get("step", ""))]}

    async def count(self, fields: Line) -> Line:
        """Request `count`."""
        states = [WorkflowState(state) for state in fields.get("states", [])]
        where = Filter(workflow=fields.get("type", ()), states=states, labels=fields.get("labels", {}))
        found = await self.client.count(where)
        return {"count": found.count, "is_estimate": found.is_estimate}

    async def explain(self, fields: Line) -> Line:
        """Request `explain`."""
        return explanation_line(await self.run(fields).explain(fields.get("step", "")))

    async def cancel(self, fields: Line) -> Line:
        """Request `cancel`."""
        return {"state": await self.run(fields).cancel(fields.get("reason", ""), **_id(fields))}

    async def terminate(self, fields: Line) -> Line:
        """Request `terminate`."""
        await self.run(fields).terminate(fields.get("reason", ""), **_id(fields))
        return {}

    async def pause(self, fields: Line) -> Line:
        """Request `pause`."""
        await self.run(fields).pause(fields.get("reason", ""), **_id(fields))
        return {}

    async def resume(self, fields: Line) -> Line:
        """Request `resume`."""
        await self.run(fields).resume(fields.get("reason", ""), **_id(fields))
        return {}

    async def replay(self, fields: Line) -> Line:
        """Request `replay`."""
        done = await self.run(fields).replay(reopen=fields.get("reopen", ()), reason=fields.get("reason", ""), **_id(fields))
        return {"reopened_steps": list(done.reopened)}

    async def delete(self, fields: Line) -> Line:
        """Request `delete`."""
        await self.run(fields).delete(fields.get("reason", ""), **_id(fields))
        return {}

    async def apply(self, fields: Line) -> Line:
        """Request `apply`."""
        options: Any = present(activate=fields.get("activate"), update_policy=fields.get("update_policy"))
        return definition_line(await self.client.definitions.register(parse_definition(fields["definition"]), **options))

    async def validate(self, fields: Line) -> Line:
        """Request `validate`."""
        return definition_line(await self.client.definitions.register(parse_definition(fields["definition"]), validate_only=True))

    async def call(self, fields: Line) -> Line:
        """Request `call`."""
        return await self.raw.call(fields, fields["timeout_ms"] / 1000 if "timeout_ms" in fields else self._timeout)


async def _brief(found: AsyncIterator[Workflow]) -> list[Line]:
    return [await workflow_line(workflow, values=False) async for workflow in found]


def _id(fields: Line) -> Any:
    return present(request_id=fields.get("request_id"))


@contextlib.contextmanager
def _under(traceparent: str) -> Iterator[None]:
    if not traceparent:
        yield
        return
    token = contexts.attach(propagate.extract({"traceparent": traceparent}))
    try:
        yield
    finally:
        contexts.detach(token)
