"""The driver's main: reads requests, runs each in a task, writes answers."""

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Mapping
from importlib.metadata import version

from conformance.clients import OpenClient
from conformance.lines import Line, Unusable, error_line, parse, write
from conformance.views import event_line
from conformance.workers import PoolEvents, Serving
from perdure import Payload, PerdureError
from perdure.v1 import payload_pb2
from perdure.watching import Watching

PROTOCOL = 1
LINE_LENGTH = 256 * 1024 * 1024
"""Longest line that is read, in characters."""

Handler = Callable[[Line], Awaitable[Line]]


class Driver:
    """Everything that is open."""

    def __init__(self) -> None:
        self._clients: dict[str, OpenClient] = {}
        self._workers: dict[str, Serving] = {}
        self._watches: dict[str, tuple[Watching, asyncio.Task[None]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._handlers: Mapping[str, Handler] = {
            "hello": self._hello,
            "open": self._open,
            "close": self._close,
            "watch": self._watch,
            "unwatch": self._unwatch,
            "work": self._work,
            "drain": self._drain,
            "stop": self._stop,
            "go_on": self._go_on,
            "resume_call": self._resume_call,
        }
        logging.getLogger("perdure.worker").addHandler(PoolEvents(self._workers))

    async def serve(self, lines: asyncio.StreamReader) -> None:
        """Until the end of the input."""
        while line := await lines.readline():
            task = asyncio.create_task(self._answer(parse(line)))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        await self._end()

    async def _answer(self, fields: Line) -> None:
        try:
            answer = {"ok": await self._handle(fields)}
        except Exception as error:
            if not isinstance(error, PerdureError | Unusable):
                logging.getLogger("conformance").exception("request %s", fields.get("do"))
            answer = {"error": error_line(error)}
        write({"id": fields["id"]} | answer)

    async def _handle(self, fields: Line) -> Line:
        name = fields["do"]
        handler: Handler | None = self._handlers.get(name)
        if handler is None and name in _OF_CLIENT:
            handler = getattr(self._client(fields), name)
        if handler is None:
            raise Unusable(f"unknown request {name!r}")
        return await handler(fields)

    async def _hello(self, _: Line) -> Line:
        return {"language": "python", "library": version("perdure"), "protocol": PROTOCOL}

    async def _open(self, fields: Line) -> Line:
        self._clients[fields["client"]] = OpenClient(fields)
        return {}

    async def _close(self, fields: Line) -> Line:
        await self._clients.pop(fields["client"]).close()
        return {}

    async def _watch(self, fields: Line) -> Line:
        run = self._client(fields).run(fields)
        options = {name: fields[name] for name in ("frames", "follow", "resume_token") if name in fields}
        watching = run.watch(**options)

        async def fetch(payload: payload_pb2.Payload) -> Payload:
            fetched: Payload = await run.fetch(payload, Payload)
            return fetched

        async def read() -> None:
            told: Line = {"event": "watch", "watch": fields["watch"]}
            token = ""
            try:
                async for event in watching:
                    token = event.resume_token
                    write(told | await event_line(event, fetch))
            except PerdureError as error:
                write(told | {"kind": "error", "resume_token": token, "error": error_line(error)})
            else:
                write(told | {"kind": "closed", "resume_token": token})

        self._watches[fields["watch"]] = watching, asyncio.create_task(read())
        return {}

    async def _unwatch(self, fields: Line) -> Line:
        watching, reading = self._watches.pop(fields["watch"])
        reading.cancel()
        await asyncio.wait([reading])
        await watching.aclose()
        return {}

    async def _work(self, fields: Line) -> Line:
        serving = Serving(self._client(fields).client, fields)
        self._workers[fields["worker"]] = serving
        try:
            await serving.open()
        except PerdureError:
            del self._workers[fields["worker"]]
            raise
        return {}

    async def _drain(self, fields: Line) -> Line:
        self._workers[fields["worker"]].drain()
        return {}

    async def _stop(self, fields: Line) -> Line:
        serving = self._workers[fields["worker"]]
        await serving.stop(hurry=fields.get("hurry", False))
        self._workers.pop(fields["worker"], None)
        return {}

    async def _go_on(self, fields: Line) -> Line:
        self._workers[fields["worker"]].player.gates.go_on(fields["step"], fields.get("key", ""))
        return {}

    async def _resume_call(self, fields: Line) -> Line:
        for client in self._clients.values():
            if client.raw.resume(fields["call"]):
                return {}
        raise Unusable("no such call is held")

    def _client(self, fields: Line) -> OpenClient:
        try:
            return self._clients[fields["client"]]
        except KeyError:
            raise Unusable(f"no client {fields.get('client')!r} is open") from None

    async def _end(self) -> None:
        await asyncio.gather(*(worker.stop(hurry=True) for worker in self._workers.values()))
        for watch in list(self._watches):
            await self._unwatch({"watch": watch})
        for client in self._clients.values():
            await client.close()
        for task in self._tasks:
            task.cancel()


_OF_CLIENT = frozenset(
    {"start", "signal", "result", "get", "list", "children", "attempts", "count", "explain", "cancel", "terminate", "pause", "resume"}
    | {"replay", "delete", "apply", "validate", "call"}
)


async def main() -> None:
    """Serves standard input."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    lines = asyncio.StreamReader(limit=LINE_LENGTH)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    await Driver().serve(lines)


if __name__ == "__main__":
    asyncio.run(main())
