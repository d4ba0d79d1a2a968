"""A scripted model: it stands in where no model is installed. It is a list of answers, some of them bad, and no model at all."""

import json
import time
from collections.abc import Sequence

from examples.agent.model import Answer, Message, ToolCall, ToolSchema

SCRIPT = (
    # Not allowed: it is told so, and nothing happens.
    Message("assistant", calls=(ToolCall("c1", "refund_now", '{"number": 17, "cents": 4900}'),)),
    Message("assistant", calls=(ToolCall("c2", "find_order", '{"number": 17}'),)),
    Message("assistant", calls=(ToolCall("c3", "track_parcel", '{"parcel": "P-88"}'),)),
    # No valid draft: an apology is not worth more than the order.
    Message("assistant", json.dumps({"to": "ada@example.org", "text": "Dear Ada, sorry, here is your money.", "refund_cents": 99_000})),
    Message(
        "assistant",
        json.dumps(
            {
                "to": "ada@example.org",
                "text": "Dear Ada, your parcel P-88 is in Bremen since Monday. We give back the postage, and look again on Friday.",
                "refund_cents": 490,
            }
        ),
    ),
)


class ScriptedModel:
    """Gives the answers of the script in order, whatever it is asked; a call takes `pause_seconds`."""

    name = "scripted model"

    def __init__(self, pause_seconds: float = 0.0) -> None:
        self._pause_seconds = pause_seconds

    def answer(self, messages: Sequence[Message], tools: Sequence[ToolSchema], most_tokens: int) -> Answer:
        """The next of the script, by how many answers the conversation has already."""
        del tools, most_tokens
        time.sleep(self._pause_seconds)
        told = sum(message.role == "assistant" for message in messages)
        return Answer(SCRIPT[min(told, len(SCRIPT) - 1)], 100 + 20 * told)
