"""What the engine is told once, at its start."""

from msgspec import Struct

from perdure_server.kernel import limits


class EngineSettings(Struct, frozen=True):
    """Durations in ms. `server_id` is random per process; it never names a host."""

    server_id: str
    session_lease: int = limits.SESSION_LEASE
    sweep_interval: int = limits.SWEEP_INTERVAL
    drain_grace: int = limits.DRAIN_GRACE
    cache_size: int = 20_000
    unserved_after: int = limits.UNSERVED_AFTER
    is_test: bool = False  # its store has no past, so nobody's absence is excused when it starts
    trace_sample_ratio: float = 1.0  # of workflows that nobody's call started: by a schedule, by an outbox
    register_from_hello: bool = False  # `perdure dev`: a hello may activate the definitions that it offers

    @property
    def renew_interval(self) -> int:
        """How often a worker renews its session."""
        return self.session_lease // limits.RENEWALS_PER_LEASE
