"""The relay's steps in Python, and what is handed on. Other languages have one step each, which does the same."""

import asyncio
import json
from dataclasses import dataclass, field

from perdure import Context, Definition


@dataclass(frozen=True)
class Baton:
    """Input and output of every step."""

    number: int
    """One more with every step; begins above 2**53, where a double would lose it."""
    hold: str = ""
    """The step whose first claim never ends: its worker will be killed."""
    path: list[str] = field(default_factory=list)
    """`STEP:LANGUAGE` of every step so far."""


async def run(ctx: Context[None], *batons: Baton) -> Baton:
    """What every step does, in every language."""
    facts = {"event": "began", "key": ctx.business_key, "step": ctx.step, "claim_no": ctx.claim_no}
    print(json.dumps(facts | {"trace_id": ctx.traceparent.split("-")[1]}), flush=True)
    hold = batons[0].hold
    if hold == ctx.step and ctx.claim_no == 1:
        await asyncio.Event().wait()
    path = dict.fromkeys(place for baton in batons for place in baton.path)
    return Baton(max(baton.number for baton in batons) + 1, hold, [*path, f"{ctx.step}:python"])


def relay(*, signed: bool) -> Definition:
    """The definition of relay.yaml; signed: of relay_signed.yaml."""
    made = Definition("relay", version="1")

    @made.step()
    async def fetch(ctx: Context[None], input: Baton) -> Baton:
        return await run(ctx, input)

    @made.step()
    async def count(ctx: Context[None], fetch: Baton) -> Baton:
        return await run(ctx, fetch)

    @made.step()
    async def shout(ctx: Context[None], fetch: Baton) -> Baton:
        return await run(ctx, fetch)

    @made.step()
    async def weigh(ctx: Context[None], fetch: Baton) -> Baton:
        return await run(ctx, fetch)

    @made.step()
    async def report(ctx: Context[None], count: Baton, shout: Baton, weigh: Baton) -> Baton:
        return await run(ctx, count, shout, weigh)

    if signed:

        @made.step()
        async def sign(ctx: Context[None], report: Baton) -> Baton:
            return await run(ctx, report)

    return made
