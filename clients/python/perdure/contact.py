"""How a client stays in contact: deadlines, what is tried again and when, and what every call says of itself. No transport."""

import random
import time

import grpc

from perdure import tracing
from perdure.config import ConnectionConfig
from perdure.errors import PerdureError, Unavailable
from perdure.security import handshake_fault, is_definite

Credentials = grpc.ChannelCredentials | None


def call_metadata(config: ConnectionConfig) -> list[tuple[str, str]]:
    """Metadata of every call: the bearer token, and the caller's trace context."""
    token = config.bearer()
    return ([("authorization", f"Bearer {token}")] if token else []) + tracing.outgoing()


def channel_credentials(config: ConnectionConfig, given: Credentials) -> tuple[Credentials, list[tuple[str, str]]]:
    """Credentials of a channel that opens now (None: plain text), and the options that go with them. Raises InvalidRequest."""
    if given is not None or config.tls is None:
        return given, []
    name = config.tls.server_name
    return config.tls.credentials(), [("grpc.ssl_target_name_override", name)] if name else []


def handshake_explained(error: PerdureError, config: ConnectionConfig, *, reached: bool) -> bool:
    """Says in the error what went wrong in the handshake, if that is known; `reached`: a server has answered before."""
    if not isinstance(error, Unavailable) or error.reason:
        return False
    fault = handshake_fault(error.message, None if reached else config.tls is not None)
    if fault:
        error.message = f"{config.address}: {fault} ({error.message})"
    return bool(fault)


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
        self._shown: tuple[object, ...] = ()

    def certificate_replaced(self) -> bool:
        """Whether the client's certificate is another than when this was asked before: gRPC keeps that of a channel's beginning."""
        if self.config.tls is None:
            return False
        before, self._shown = self._shown, self.config.tls.stamp()
        return bool(before) and before != self._shown

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
        if handshake_explained(error, self.config, reached=self._reached):
            return error
        if not error.reason:
            error.message = f"no server at {self.config.address}: {error.message}; start one by `perdure dev`, or set PERDURE_ADDRESS"
        return error

    def pause(self, error: PerdureError, began: float, allowed: float, interval: float) -> float | None:
        """How long to wait before the next try; None: there is none."""
        if not isinstance(error, Unavailable):
            self._reached = True
            return None
        self._reached = self._reached or bool(error.reason)
        if not error.reason and is_definite(error.message):
            self.explained(error)
            return None
        bound = allowed if self._reached else min(allowed, self.connect_timeout)
        asked = error.retry_after.total_seconds() if error.retry_after is not None else 0.0
        pause = max(jittered(interval), asked)
        if time.monotonic() + pause >= began + bound:
            self.explained(error)
            return None
        return pause
