"""What a browser does with a sample's pages, over real HTTP."""

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

PATIENCE_SECONDS = 30.0
PIECE_BYTES = 65_536


@dataclass(frozen=True)
class Message:
    """One server-sent event."""

    id: str
    event: str
    data: Any


async def request(url: str, body: object = None, method: str = "") -> tuple[int, Any]:
    """Status, and the JSON of the answer; None where it has none."""

    def ask() -> tuple[int, Any]:
        data = None if body is None else json.dumps(body).encode()
        asked = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method or None)
        try:
            with urllib.request.urlopen(asked, timeout=PATIENCE_SECONDS) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            with error:
                kind = error.headers.get_content_type()
                return error.code, json.loads(error.read()) if kind == "application/json" else None

    return await asyncio.to_thread(ask)


async def events(port: int, path: str, last_event_id: str = "") -> AsyncGenerator[Message, None]:
    """As EventSource reads them, until the server ends; leaving the loop closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        head = [f"GET {path} HTTP/1.1", "Host: localhost", "Accept: text/event-stream"]
        head += [f"Last-Event-ID: {last_event_id}"] if last_event_id else []
        writer.write(("\r\n".join(head) + "\r\n\r\n").encode())
        status = await reader.readline()
        assert b" 200 " in status, status
        headers = await reader.readuntil(b"\r\n\r\n")
        body = _chunks(reader) if b"chunked" in headers.lower() else _pieces(reader)
        async for block in _blocks(body):
            fields = dict(line.split(": ", 1) for line in block.splitlines() if line and line[0] != ":")
            if fields:
                yield Message(fields.get("id", ""), fields.get("event", "message"), json.loads(fields["data"]))
    finally:
        writer.close()


async def read(port: int, path: str, last_event_id: str = "", until: int = 0) -> list[Message]:
    """All events to the end, or the first `until`."""
    found: list[Message] = []
    async with asyncio.timeout(PATIENCE_SECONDS), aclosing(events(port, path, last_event_id)) as messages:
        async for message in messages:
            found.append(message)
            if until and len(found) >= until:
                break
    return found


async def _chunks(reader: asyncio.StreamReader) -> AsyncGenerator[bytes, None]:
    while size := int(await reader.readline() or b"0", 16):
        yield (await reader.readexactly(size + 2))[:-2]


async def _pieces(reader: asyncio.StreamReader) -> AsyncGenerator[bytes, None]:
    while piece := await reader.read(PIECE_BYTES):
        yield piece


async def _blocks(body: AsyncGenerator[bytes, None]) -> AsyncGenerator[str, None]:
    rest = b""
    async for piece in body:
        *whole, rest = (rest + piece).split(b"\n\n")
        for block in whole:
            yield block.decode()
