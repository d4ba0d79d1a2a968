"""Resources of permits from the wire."""

import hashlib
from typing import Final

from msgspec.structs import replace

from perdure.v1 import admin_service_pb2 as wire
from perdure.v1 import resource_pb2
from perdure_server.kernel import limits
from perdure_server.kernel.policy_validation import QUEUE_NAME
from perdure_server.kernel.resources import PutRequest, Rate, Resource
from perdure_server.rpc.decode import values
from perdure_server.rpc.decode.workflows import page_size
from perdure_server.rpc.errors import CallRefused
from perdure_server.rpc.faults import Faults

# What an update mask may name, and the kernel's fields that it stands for.
_FIELDS: Final = {
    "capacity": ("capacity",),
    "rate": ("rate",),
    "key": ("key_label", "by_fairness_key"),
    "description": ("description",),
}


def put(request: wire.PutResourceRequest) -> Resource:
    """What is wanted. Raises RequestRefused with every fault."""
    faults = Faults()
    message = request.resource
    namespace = values.namespace(message.namespace, "resource.namespace", faults)
    values.name(message.resource, "resource.resource", QUEUE_NAME, faults)
    values.identifier(request.request_id, "request_id", faults)
    if message.HasField("capacity") and not 0 <= message.capacity <= limits.RESOURCE_CAPACITY:
        faults.add("resource.capacity", f"must be from 0 to {limits.RESOURCE_CAPACITY}")
    if len(message.description.encode()) > limits.RESOURCE_DESCRIPTION:
        faults.add("resource.description", f"is longer than {limits.RESOURCE_DESCRIPTION} bytes")
    rate = _rate(message.rate, faults) if message.HasField("rate") else None
    label, by_fairness_key = _key(message.key, faults) if message.HasField("key") else ("", False)
    faults.check()
    capacity = message.capacity if message.HasField("capacity") else None
    return Resource(namespace, message.resource, capacity, rate, label, by_fairness_key, message.description)


def merged(request: wire.PutResourceRequest, old: Resource | None, wanted: Resource) -> Resource:
    """`wanted`, but what the update mask does not name stays as it is stored. Raises CallRefused UPDATE_MASK_INVALID."""
    named: set[str] = set()
    for path in request.update_mask.paths:
        if path.partition(".")[0] not in _FIELDS:
            raise CallRefused("UPDATE_MASK_INVALID", f"update_mask names no field of Resource that can be changed: {path!r}", path=path)
        named.update(_FIELDS[path.partition(".")[0]])
    if old is None or not named:
        return wanted
    return replace(old, **{field: getattr(wanted, field) for field in named})


def asked(request: wire.PutResourceRequest | wire.DeleteResourceRequest) -> PutRequest:
    """The request as it is remembered: its id, and a digest of all that it asks for beside it."""
    content = type(request)()
    content.MergeFrom(request)  # type: ignore[arg-type]  # of its own type
    content.ClearField("request_id")
    return PutRequest(request.request_id, hashlib.sha256(content.SerializeToString(deterministic=True)).hexdigest())


def listed(request: wire.ListResourcesRequest) -> tuple[str, str, int]:
    """Namespace, name ("" = all), page size."""
    faults = Faults()
    namespace = values.namespace(request.namespace, "namespace", faults)
    if request.resource:
        values.name(request.resource, "resource", QUEUE_NAME, faults)
    size = page_size(request.page_size, faults)
    faults.check()
    return namespace, request.resource, size


def deleted(request: wire.DeleteResourceRequest) -> tuple[str, str]:
    """Namespace and name."""
    faults = Faults()
    namespace = values.namespace(request.namespace, "namespace", faults)
    values.name(request.resource, "resource", QUEUE_NAME, faults)
    values.identifier(request.request_id, "request_id", faults)
    faults.check()
    return namespace, request.resource


def _rate(message: resource_pb2.Rate, faults: Faults) -> Rate:
    period = values.duration(message.period, "resource.rate.period", faults)
    burst = message.burst or message.units
    for field, value in (("units", message.units), ("burst", burst)):
        if not 1 <= value <= limits.RATE_UNITS:
            faults.add(f"resource.rate.{field}", f"must be from 1 to {limits.RATE_UNITS}")
    if not 1 <= period <= limits.DAY * 366:
        faults.add("resource.rate.period", "must be from 1 ms to 366 days")
    return Rate(message.units, period, burst)


def _key(message: resource_pb2.ResourceKey, faults: Faults) -> tuple[str, bool]:
    source = message.WhichOneof("source")
    if source is None or (source == "fairness_key" and not message.fairness_key):
        faults.add("resource.key", "must say one of: a label, fairness_key = true")
    if source == "label" and not 1 <= len(message.label.encode()) <= limits.LABEL_KEY_LENGTH:
        faults.add("resource.key.label", f"must have 1 to {limits.LABEL_KEY_LENGTH} bytes")
    return message.label, source == "fairness_key"
