"""A worker written by hand on the generated code: says what it is told to say, and keeps what it hears."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from perdure.v1 import worker_service_pb2 as wire
from perdure.v1.claim_pb2 import Claim, Pool
from perdure_server.rpc.transport import EOF
from tests.rpc.conftest import Served

EVERYTHING = ("cancel", "lost", "heartbeats", "go_away", "pools", "refs", "begin_after_renewed")


class Worker:
    """One Claim stream."""

    def __init__(self, call: Any) -> None:
        self.call = call
        self.welcome = wire.Welcome()

    async def say(self, **message: Any) -> None:
        await self.call.write(wire.ClaimRequest(**message))

    async def hear(self) -> Any:
        """The next message, or EOF."""
        return await asyncio.wait_for(self.call.read(), 10)

    async def hear_one(self, kind: str) -> Any:
        """The next message, which must be of this kind."""
        message = await self.hear()
        assert message is not EOF, f"the stream ended instead of {kind}: {await self.call.code()}"
        assert message.WhichOneof("message") == kind, str(message)
        return getattr(message, kind)

    async def hello(self, pools: list[Pool] | None = None, **fields: Any) -> wire.Welcome:
        pool = Pool(pool="p", workflow_type="note", any_contract=True)
        fields.setdefault("capabilities", EVERYTHING)
        await self.say(hello=wire.Hello(worker_id="w", pools=pools or [pool], **fields))
        self.welcome = await self.hear_one("welcome")
        return self.welcome

    async def claim(self, pool: str = "p") -> Claim:
        """One claim for one credit."""
        await self.say(credit=wire.Credit(pool=pool, count=1))
        claims: wire.Claims = await self.hear_one("claims")
        return claims.claims[0]

    async def complete(self, claim: Claim, json: str = "1", result_id: int = 1, want_next: bool = False) -> wire.Settled:
        result = wire.Result(claim_token=claim.claim_token, result_id=result_id, want_next=want_next)
        result.completed.output.json = json
        await self.say(results=wire.Results(results=[result]))
        answers: wire.SettledResults = await self.hear_one("settled")
        return answers.settled[0]


@asynccontextmanager
async def connected(served: Served, **hello: Any) -> AsyncIterator[Worker]:
    """A worker that has said hello; its stream is cancelled at the end unless it has ended."""
    stub: Any = served.workers
    worker = Worker(stub.Claim())
    await worker.hello(**hello)
    try:
        yield worker
    finally:
        worker.call.cancel()
