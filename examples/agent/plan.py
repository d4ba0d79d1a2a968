"""The agent as a workflow: think and draft, wait for a person, act."""

import hashlib
from dataclasses import dataclass
from datetime import timedelta as td

import msgspec

from examples.agent import shop
from examples.agent.ledger import Ledger
from examples.agent.model import Answer, Message, Model
from examples.agent.shop import Draft, Outbox
from perdure import Context, Definition, Failure, Retry, Woken

MOST_TURNS = 12
ANSWER_TOKENS = 500
RULES = "You answer customers of a shop. Look up what you need. Then answer with one JSON object, and nothing else, of this schema: "


@dataclass(frozen=True)
class Task:
    """The input."""

    letter: str
    budget_tokens: int = 20_000


@dataclass(frozen=True)
class Decision:
    """What the signal `confirm` carries."""

    approve: bool
    draft: str
    """Which draft was read, by `draft_id`: after a replay there may be another."""
    by: str


def draft_id(draft: Draft) -> str:
    return hashlib.sha256(msgspec.json.encode(draft)).hexdigest()[:12]


def agent_definition(model: Model, ledger: Ledger, outbox: Outbox) -> Definition:
    """The definition, with what its steps work on."""
    agent = Definition("agent", version="1")

    @agent.step(attempt_timeout=td(minutes=10), retry=Retry(max_attempts=5))
    def prepare(ctx: Context[list[Message]], input: Task) -> Draft:
        # The checkpoint keeps what tools have answered; the ledger keeps what the model has answered, beyond this step's life.
        messages = ctx.checkpoint or [Message("system", RULES + _schema()), Message("user", input.letter)]
        for _ in range(MOST_TURNS):
            ctx.raise_if_cancelled()
            said = _ask(ctx, input, model, ledger, messages)
            messages = [*messages, said]
            if not said.calls:
                try:
                    return msgspec.json.decode(said.content, type=Draft)
                except msgspec.MsgspecError as error:
                    ctx.log(f"draft refused: {error}")
                    messages.append(Message("user", f"This is no valid draft: {error}"))
            for call in said.calls:
                answer = shop.use(call)
                ctx.log(f"{call.name}({call.arguments}): {answer}")
                messages.append(Message("tool", answer, call_id=call.id))
            ctx.save_blocking(messages)
        raise Failure("agent.no_draft", f"no valid draft in {MOST_TURNS} turns", non_retryable=True)

    agent.wait("confirm", after=prepare, signal="confirm", payload=Decision, timeout=td(days=2))

    @agent.step()
    def act(ctx: Context[None], prepare: Draft, confirm: Woken[Decision]) -> str:
        decision = confirm.value
        if decision is None:
            return "nothing was sent: nobody decided in time"
        if not decision.approve:
            return f"nothing was sent: {decision.by} said no"
        if decision.draft != draft_id(prepare):
            return f"nothing was sent: {decision.by} has read another draft, {decision.draft}"
        outbox.send(ctx.idempotency_key, prepare)
        return f"sent to {prepare.to}, as {decision.by} said"

    return agent


def _ask(ctx: Context[list[Message]], task: Task, model: Model, ledger: Ledger, messages: list[Message]) -> Message:
    question = msgspec.json.encode([model.name, messages])
    most = len(question) // 2 + ANSWER_TOKENS  # no tokenizer has less than two bytes a token, on the whole
    name = f"{ctx.business_key}/{ctx.round}"

    def ask() -> Answer:
        ctx.log(f"{model.name} is asked")
        return model.answer(messages, shop.schemas(), ANSWER_TOKENS)

    message = ledger.once(name, question, most, task.budget_tokens, ask).message
    ctx.progress(ledger.used(name), task.budget_tokens, unit="tokens")
    return message


def _schema() -> str:
    return msgspec.json.encode(msgspec.json.schema(Draft)).decode()
