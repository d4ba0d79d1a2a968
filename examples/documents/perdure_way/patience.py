"""Calls that are made again while the server is away: every call of the demo is one that may be repeated."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import grpc

from examples.documents.config import LONGEST_SECONDS, LOOK_SECONDS
from perdure import CallTimeout, Unavailable

T = TypeVar("T")


async def insist(call: Callable[[], Awaitable[T]]) -> T:
    """The answer of a call of the client. Raises Unavailable or CallTimeout if the server is away for good."""
    deadline = time.monotonic() + LONGEST_SECONDS
    while True:
        try:
            return await call()
        except (Unavailable, CallTimeout):
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(LOOK_SECONDS)


async def repeat(method: Callable[..., Awaitable[T]], request: object) -> T:
    """The answer of a generated stub's method. Raises AioRpcError, UNAVAILABLE only if the server is away for good."""
    deadline = time.monotonic() + LONGEST_SECONDS
    while True:
        try:
            return await method(request, wait_for_ready=True, timeout=LONGEST_SECONDS)
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.UNAVAILABLE or time.monotonic() > deadline:
                raise
            await asyncio.sleep(LOOK_SECONDS)
