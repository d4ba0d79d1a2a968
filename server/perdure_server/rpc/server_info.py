"""GetServerInfo: the published defaults and limits, straight from where they are enforced."""

from collections.abc import Mapping
from typing import Final

from google.protobuf.duration_pb2 import Duration
from msgspec import Struct

from perdure.v1 import admin_service_pb2 as wire
from perdure_server.engine.service import Engine
from perdure_server.kernel import limits
from perdure_server.kernel.values import RetryPolicy
from perdure_server.rpc import limits as rpc_limits
from perdure_server.rpc.encode import values
from perdure_server.rpc.encode.definitions import retry
from perdure_server.rpc.encode.workers import CAPABILITIES
from perdure_server.rpc.server_checks import server_checks

_STORE: Final = "store_"
_COORDINATION: Final = "coordination_"
_HEALTHY: Final = frozenset({"", "ok"})


class ServerFacts(Struct, frozen=True):
    """What does not change while a server runs. `started` in ms; `unimplemented` as `AdminService/PutSchedule`."""

    version: str
    started: int
    dev: bool = False
    unimplemented: tuple[str, ...] = ()


def server_info(engine: Engine, facts: ServerFacts) -> wire.GetServerInfoResponse:
    """Everything about the server that answers."""
    described = engine.description()
    response = wire.GetServerInfoResponse(
        server_version=facts.version,
        server_id=engine.settings.server_id,
        capabilities=CAPABILITIES,
        unimplemented_methods=facts.unimplemented,
        draining=engine.draining,
        dev=facts.dev,
        features=sorted(f"{name}: {value}" for name, value in described.items()),
    )
    values.time(response.start_time, facts.started)
    values.time(response.store_time, engine.clock.now())
    values.duration(response.store_time_uncertainty, engine.clock.uncertainty)
    _backend(response.store.backend, described, _STORE)
    response.store.backend.healthy = engine.clock.may_judge(0)
    response.store.durability = described.get("store_durability", "")
    _backend(response.coordination, described, _COORDINATION)
    response.coordination.healthy = described.get("coordination_health", "") in _HEALTHY
    _defaults(response.defaults, engine)
    _limits(response.limits)
    response.checks.extend(server_checks(engine, described))
    return response


def _backend(target: wire.BackendInfo, described: Mapping[str, str], prefix: str) -> None:
    target.name = described.get(f"{prefix}kind", "")
    target.version = described.get(f"{prefix}version", "")


def _defaults(target: wire.ServerDefaults, engine: Engine) -> None:
    settings = engine.settings
    durations: dict[str, int] = {
        "session_lease": settings.session_lease,
        "renew_interval": settings.renew_interval,
        "acknowledge_window": limits.ACKNOWLEDGE_WITHIN,
        "attempt_timeout": limits.ATTEMPT_TIMEOUT,
        "cancel_grace": limits.CANCEL_GRACE,
        "retention": limits.RETENTION,
        "tombstone_retention": limits.TOMBSTONE,
        "sweep_interval": settings.sweep_interval,
        "poll_lease": settings.session_lease,
    }
    _set_durations(target, durations)
    retry(target.retry, RetryPolicy())
    target.max_lost_claims = limits.MAX_LOST_CLAIMS
    target.priority = limits.PRIORITY
    target.max_in_flight = limits.MAX_IN_FLIGHT


def _limits(target: wire.ServerLimits) -> None:
    _set_durations(
        target,
        {"wait_for_result": limits.RESULT_WAIT_MAX, "poll_wait": limits.POLL_WAIT_MAX, "poll_lease": limits.POLL_LEASE_MAX},
    )
    target.message_bytes = rpc_limits.REQUEST
    target.payload_bytes = limits.PAYLOAD
    target.inline_payload_bytes = limits.INLINE_PAYLOAD
    target.claim_payload_bytes = limits.CLAIM_INLINE
    target.read_payload_bytes = limits.READ_INLINE
    target.json_depth = limits.JSON_DEPTH
    target.steps_per_definition = limits.STEPS
    target.signal_inbox = limits.INBOX_SIGNALS
    target.labels = limits.LABELS
    target.page_size = limits.PAGE_SIZE_MAX
    target.starts_per_request = limits.STARTS_PER_CALL
    target.document_bytes = limits.DOCUMENT
    target.stream_result_bytes = rpc_limits.STREAM_RESULT
    target.failure_message_bytes = limits.FAILURE_MESSAGE
    target.business_key_bytes = limits.KEY_LENGTH
    target.frame_bytes = limits.FRAME_PAYLOAD
    target.map_children = limits.MAP_CHILDREN
    target.map_page_children = limits.MAP_PAGE
    target.child_depth = limits.CHILD_DEPTH


def _set_durations(target: wire.ServerDefaults | wire.ServerLimits, durations: Mapping[str, int]) -> None:
    for name, milliseconds in durations.items():
        field: Duration = getattr(target, name)
        values.duration(field, milliseconds)
