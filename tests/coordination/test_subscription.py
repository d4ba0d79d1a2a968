"""The buffer between the receiver of wake-ups and their reader."""

import pytest

from perdure_server.coordination import limits
from perdure_server.coordination.subscription import Subscription
from perdure_server.ports.coordination import RE_READ, WakeUp


async def test_a_slow_reader_reads_everything_again() -> None:
    subscription = Subscription()
    subscription.offer([WakeUp("w", b"k", number) for number in range(limits.WAKEUPS_WAITING)])
    subscription.offer([WakeUp("w", b"one too many")])
    subscription.offer([WakeUp("q", b"last")])
    assert [await anext(subscription), await anext(subscription)] == [RE_READ, WakeUp("q", b"last")]


async def test_what_is_there_is_read_before_the_end() -> None:
    subscription = Subscription()
    subscription.offer([RE_READ])
    await subscription.aclose()
    subscription.offer([WakeUp("w", b"late")])
    assert await anext(subscription) == RE_READ
    with pytest.raises(StopAsyncIteration):
        await anext(subscription)
