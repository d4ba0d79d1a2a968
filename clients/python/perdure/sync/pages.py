# Made by `python tools/sync_client.py` from perdure/pages.py; do not edit.
"""Lists that come in pages."""

from collections.abc import Iterator
from typing import Protocol, TypeVar

from perdure.sync.calls import Calls, Method


class PageRequest(Protocol):
    """A request for one page."""

    page_token: str


class PageAnswer(Protocol):
    """One page."""

    next_page_token: str


Q = TypeVar("Q", bound=PageRequest)
A = TypeVar("A", bound=PageAnswer)


def pages(calls: Calls, method: Method[Q, A], request: Q) -> Iterator[A]:
    """Every page, each fetched when the one before has been used up. Raises PerdureError."""
    while True:
        answer = calls.unary(method, request)
        yield answer
        if not answer.next_page_token:
            return
        request.page_token = answer.next_page_token
