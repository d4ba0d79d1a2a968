"""Any endpoint that speaks OpenAI's chat completions: llama.cpp, Ollama, vLLM, or a provider's. Off unless you name one."""

import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import Any

import msgspec

from examples.agent.model import Answer, Message, NotCharged, ToolCall, ToolSchema

CALL_TIMEOUT = 120.0


class OpenAiCompatible:
    """`url` up to and with `/v1`; the key is sent as a bearer token, if there is one."""

    def __init__(self, url: str, model: str, key: str = "") -> None:
        self.name = model
        self._url = f"{url.rstrip('/')}/chat/completions"
        self._key = key

    def answer(self, messages: Sequence[Message], tools: Sequence[ToolSchema], most_tokens: int) -> Answer:
        """One call. Raises NotCharged for what the endpoint refuses, OSError for what may have cost something."""
        asked = {
            "model": self.name,
            "messages": [_to_wire(message) for message in messages],
            "tools": [{"type": "function", "function": msgspec.to_builtins(tool)} for tool in tools],
            "max_tokens": most_tokens,
        }
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {self._key}"} if self._key else {})}
        request = urllib.request.Request(self._url, msgspec.json.encode(asked), headers)
        try:
            with urllib.request.urlopen(request, timeout=CALL_TIMEOUT) as response:
                answer = msgspec.json.decode(response.read())
        except urllib.error.HTTPError as error:
            with error:
                if error.code < 500:  # a bad request, a bad key, too many calls
                    raise NotCharged(f"{error.code}: {error.read(500).decode(errors='replace')}") from error
            raise
        except urllib.error.URLError as error:
            if isinstance(error.reason, ConnectionRefusedError):
                raise NotCharged(f"nobody answers at {self._url}") from error
            raise
        return Answer(_from_wire(answer["choices"][0]["message"]), answer["usage"]["total_tokens"])


def _to_wire(message: Message) -> dict[str, Any]:
    wire: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        wire["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}} for call in message.calls
        ]
    if message.call_id:
        wire["tool_call_id"] = message.call_id
    return wire


def _from_wire(wire: dict[str, Any]) -> Message:
    calls = [ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in wire.get("tool_calls") or ()]
    return Message("assistant", wire.get("content") or "", tuple(calls))
