"""Queues, as operators see them."""

from typing import Final

from perdure.v1 import resource_pb2
from perdure.v1 import workflow_pb2 as wire
from perdure_server.engine.queue_list import QueueRow
from perdure_server.engine.values import QueueFact, Unserved
from perdure_server.rpc.encode import values

PHASES: Final[dict[Unserved, wire.Phase.ValueType]] = {
    Unserved.PAUSED: wire.PHASE_PAUSED,
    Unserved.NO_WORKER: wire.PHASE_NO_WORKER,
    Unserved.INCOMPATIBLE: wire.PHASE_INCOMPATIBLE,
}


def phase(fact: QueueFact | None, is_ready: bool) -> wire.Phase.ValueType:
    """The phase of what is ready in a queue; none if nothing is."""
    if not is_ready:
        return wire.PHASE_UNSPECIFIED
    return wire.PHASE_QUEUED if fact is None else PHASES[fact.kind]


def queue(target: resource_pb2.Queue, source: QueueRow, now: int) -> None:
    """One queue."""
    place = source.place
    target.namespace, target.queue, target.workflow_type = place.namespace, place.queue, place.workflow_type
    target.definition_fingerprint, target.step = place.fingerprint, place.step
    target.phase = phase(source.fact, source.ready > 0)
    if source.fact is not None:
        values.time(target.phase_since_time, source.fact.since)
    elif source.oldest is not None:
        values.time(target.phase_since_time, source.oldest)
    target.ready_count, target.running_count, target.throttled_count = source.ready, source.running, source.throttled
    if source.oldest is not None:
        values.duration(target.oldest_wait, max(0, now - source.oldest))
    serving = source.serving
    target.worker_count, target.free_slots, target.incompatible_worker_count = serving.workers, serving.slots, serving.incompatible
    target.estimate = source.estimate
