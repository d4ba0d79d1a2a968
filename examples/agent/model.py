"""What the agent needs of a model. For yours, write one class with `name` and `answer`; openai_compatible.py is such a class."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol


@dataclass(frozen=True)
class ToolCall:
    """The model's wish to use a tool."""

    id: str
    name: str
    arguments: str
    """JSON, as the model wrote it: to be checked."""


@dataclass(frozen=True)
class Message:
    role: Literal["system", "user", "assistant", "tool"]
    content: str = ""
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    """Of a tool's answer: which call it answers."""


@dataclass(frozen=True)
class ToolSchema:
    """What the model is told about a tool."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON schema."""


@dataclass(frozen=True)
class Answer:
    message: Message
    tokens: int
    """What the call cost, question and answer."""


class NotCharged(Exception):
    """The call was refused before anything was spent. Any other exception may have cost something."""


class Model(Protocol):
    """A model that can use tools."""

    name: str

    def answer(self, messages: Sequence[Message], tools: Sequence[ToolSchema], most_tokens: int) -> Answer:
        """One call, which may block. `most_tokens` bounds the answer alone. Raises NotCharged."""
