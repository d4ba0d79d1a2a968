"""Lists that come in pages."""

from collections.abc import AsyncIterator
from typing import Protocol, TypeVar

from perdure.calls import Calls, Method


class PageRequest(Protocol):
    """A request for one page."""

    page_token: str


class PageAnswer(Protocol):
    """One page."""

    next_page_token: str


Q = TypeVar("Q", bound=PageRequest)
A = TypeVar("A", bound=PageAnswer)


async def pages(calls: Calls, method: Method[Q, A], request: Q) -> AsyncIterator[A]:
    """Every page, each fetched when the one before has been used up. Raises PerdureError."""
    while True:
        answer = await calls.unary(method, request)
        yield answer
        if not answer.next_page_token:
            return
        request.page_token = answer.next_page_token
