"""The TCP proxy between drivers and a server, on a thread of its own."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from tests.coordination.proxy import Proxy

T = TypeVar("T")


class Cutter:
    """Passes connections on to a port of this machine until it is told to cut or freeze them."""

    def __init__(self, port: int) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="cutter", daemon=True)
        self._thread.start()
        self._proxy = Proxy(port)
        self._run(self._proxy.__aenter__())
        self.address = f"127.0.0.1:{self._proxy.port}"

    def cut(self) -> None:
        """Resets every connection; new ones are taken."""
        self._run(self._cut())

    def freeze(self) -> None:
        """Nothing passes any more, new connections neither; nobody is told."""
        self._run(self._freeze())

    def thaw(self) -> None:
        """Resets what was frozen; new connections pass again."""
        self._run(self._thaw())

    def close(self) -> None:
        """Ends the proxy and its thread."""
        self._run(self._proxy.__aexit__(None, None, None))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _cut(self) -> None:
        self._proxy.drop()

    async def _freeze(self) -> None:
        self._proxy.freeze()

    async def _thaw(self) -> None:
        self._proxy.frozen = False
        self._proxy.drop()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()
