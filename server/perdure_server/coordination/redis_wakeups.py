"""The WakeUps port on Redis: one pub/sub channel, batches of wake-ups as MessagePack."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from weakref import WeakSet

import msgspec

from perdure_server.coordination.commands import Commands
from perdure_server.coordination.endpoint import Endpoint
from perdure_server.coordination.keys import Keys
from perdure_server.coordination.limits import IDLE_PING, WAKEUPS_PER_MESSAGE
from perdure_server.coordination.link import Link
from perdure_server.coordination.subscription import Subscription
from perdure_server.coordination.wire import Wire
from perdure_server.ports.coordination import RE_READ, WakeUp

_log = logging.getLogger(__name__)
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(tuple[WakeUp, ...])


class RedisWakeUps:
    """See the port. One connection per process, whatever the number of subscriptions."""

    def __init__(self, commands: Commands, endpoint: Endpoint, keys: Keys, timeout: int) -> None:
        self._subscription_link = Link("subscription", self._receive)
        self._publish_commands = commands
        self._subscription_endpoint = endpoint
        self._channel = keys.wakeups
        self._receive_timeout = timeout
        self._subscriptions: WeakSet[Subscription] = WeakSet()

    async def publish(self, wakeups: Sequence[WakeUp]) -> None:
        """See the port."""
        chunks = [wakeups[start : start + WAKEUPS_PER_MESSAGE] for start in range(0, len(wakeups), WAKEUPS_PER_MESSAGE)]
        if chunks:
            await self._publish_commands.call([("PUBLISH", self._channel, _encoder.encode(chunk)) for chunk in chunks])

    def subscribe(self) -> AsyncIterator[WakeUp]:
        """See the port."""
        subscription = Subscription()
        if self._subscription_link.is_up:
            subscription.offer((RE_READ,))
        self._subscriptions.add(subscription)
        return subscription

    def _broadcast(self, wakeups: Sequence[WakeUp]) -> None:
        for subscription in list(self._subscriptions):
            subscription.offer(wakeups)

    def _close_subscriptions(self) -> None:
        for subscription in list(self._subscriptions):
            subscription.close()

    async def _receive(self) -> None:
        async with asyncio.timeout(self._receive_timeout / 1_000):
            wire = await self._subscription_endpoint.wire()
        try:
            await wire.send("SUBSCRIBE", self._channel)
            if await wire.receive(self._receive_timeout) is None:
                raise TimeoutError("no answer to SUBSCRIBE")
            self._subscription_link.up()
            self._broadcast((RE_READ,))
            await self._listen(wire)
        finally:
            self._subscription_link.lost()
            await wire.close()

    async def _listen(self, wire: Wire) -> None:
        asked = False
        while True:
            message = await wire.receive(self._receive_timeout if asked else IDLE_PING)
            if message is not None:
                asked = False
                if message[0] == b"message":
                    self._broadcast(_decode(message[2]))
            elif asked:
                # Silence alone is no sign of life: a half-open connection is silent too.
                raise TimeoutError("no answer to PING")
            else:
                await wire.send("PING")
                asked = True


def _decode(data: bytes) -> Sequence[WakeUp]:
    try:
        return _decoder.decode(data)
    except msgspec.DecodeError:
        _log.warning("a wake-up message does not decode; everything is read again", exc_info=True)
        return (RE_READ,)
