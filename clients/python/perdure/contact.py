"""How a client stays in contact: deadlines, what is tried again and when, and what every call says of itself. No transport."""

import random
import time

import grpc

from perdure import tracing
from perdure.config import ConnectionConfig
from perdure.errors import PerdureError, Unavailable


def call_metadata(config: ConnectionConfig) -> list[tuple[str, str]]:
    """Metadata of every call: the bearer token, and the caller's trace context."""
    token = [("authorization", f"Bearer {config.token}")] if config.token else []
    return token + tracing.outgoing()


def jittered(interval: float) -> float:
    """Between half the interval and all of it, so that many clients do not come back in step."""
    return interval * random.uniform(0.5, 1.0)  # noqa: S311 -- spreads load, guards nothing


class Contact:
    """What a client knows of its server, whatever it calls it by."""

    def __init__(
        self, config: ConnectionConfig, timeout: float, connect_timeout: float, credentials: grpc.ChannelCredentials | None
    ) -> None:
        self.config = config
        self.timeout = timeout
        self.connect_timeout = connect_timeout
        self.credentials = credentials
        self._reached = False

    def metadata(self) -> list[tuple[str, str]]:
        """Metadata of a call that begins now."""
        return call_metadata(self.config)

    @property
    def reached(self) -> bool:
        """Whether a server has ever answered."""
        return self._reached

    def note_reached(self) -> None:
        """A server has answered: from now on UNAVAILABLE is worth waiting for."""
        self._reached = True

    def explained(self, error: PerdureError) -> PerdureError:
        """The error; where no server was reached, with what to do about it."""
        if not error.reason:
            error.message = f"no server at {self.config.address}: {error.message}; start one by `perdure dev`, or set PERDURE_ADDRESS"
        return error

    def pause(self, error: PerdureError, began: float, allowed: float, interval: float) -> float | None:
        """How long to wait before the next try; None: there is none."""
        if not isinstance(error, Unavailable):
            self._reached = True
            return None
        self._reached = self._reached or bool(error.reason)
        bound = allowed if self._reached else min(allowed, self.connect_timeout)
        asked = error.retry_after.total_seconds() if error.retry_after is not None else 0.0
        pause = max(jittered(interval), asked)
        if time.monotonic() + pause >= began + bound:
            self.explained(error)
            return None
        return pause
