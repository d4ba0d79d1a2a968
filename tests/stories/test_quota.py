"""Quota is reserved and a later step fails: the finalizer gives it back, however often it has to try; a replay reserves it again."""

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from perdure import Client, Context, Definition, Failure, Retry, StepPolicy, WorkflowFailed, WorkflowState
from tests.conftest import Eventually
from tests.stories.conftest import Working

pytestmark = pytest.mark.slow

AT_ONCE = Retry(max_attempts=1)
SOON = StepPolicy(retry=Retry(initial_interval=timedelta(milliseconds=50), max_interval=timedelta(milliseconds=50)))


@dataclass
class Books:
    """The quota service downstream."""

    reserved: set[str] = field(default_factory=set)
    log: list[str] = field(default_factory=list)
    outages: int = 3
    crawler_works: bool = False
    away: asyncio.Event = field(default_factory=asyncio.Event)


def crawl_with(books: Books) -> Definition:
    crawl = Definition("crawl")

    @crawl.step()
    async def reserve(ctx: Context[None], input: str) -> str:
        books.reserved.add(input)
        books.log.append("reserve")
        return input

    @crawl.step(retry=AT_ONCE)
    async def fetch(ctx: Context[None], reserve: str) -> str:
        if not books.crawler_works:
            raise Failure("crawler.blocked", "the site blocks us", non_retryable=True)
        return f"pages of {reserve}"

    @crawl.hook("failure_finalizer", policy=SOON)
    async def give_back(ctx: Context[None], input: str) -> None:
        assert ctx.hook is not None
        assert (ctx.hook.kind, ctx.hook.failed_step) == ("FAILURE_FINALIZER", "fetch")
        assert ctx.hook.failure is not None
        assert ctx.hook.failure.type == "crawler.blocked"
        if books.outages:
            books.outages -= 1
            books.log.append("finalizer fails")
            raise Failure("books.away", "the quota service is away")
        await books.away.wait()
        books.reserved.discard(input)
        books.log.append("give back")

    @crawl.hook("prepare_replay")
    async def reserve_again(ctx: Context[None], input: str) -> None:
        books.reserved.add(input)
        books.log.append("reserve again")

    return crawl


async def test_quota_is_given_back_before_failed_is_stored_and_reserved_again_by_a_replay(
    client: Client, working: Working, eventually: Eventually
) -> None:
    books = Books()
    crawl = crawl_with(books)
    async with working(crawl):
        run = await client.start(crawl, key="site-1", input="site-1")
        await eventually(lambda: not books.outages)
        assert (await run.get()).state is WorkflowState.FAILING, "FAILED is stored only when the quota is given back"
        assert books.reserved == {"site-1"}
        books.away.set()
        with pytest.raises(WorkflowFailed, match="blocks us"):
            await run.result(timeout=timedelta(seconds=20))
        assert (books.reserved, books.log) == (set(), ["reserve", *["finalizer fails"] * 3, "give back"])

        books.crawler_works = True
        fence = (await run.get()).fence
        once = client.run(crawl, "site-1", expected_fence=fence)
        assert (await once.replay(reason="the site lets us in again", request_id="r-1")).reopened == ("fetch",)
        assert await client.run(crawl, "site-1").result(timeout=timedelta(seconds=20)) == "pages of site-1"
    assert books.reserved == {"site-1"}
    assert books.log[5:] == ["reserve again"], "the step that had completed was not run again"
    assert (await run.get()).fence > fence
