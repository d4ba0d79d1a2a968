"""Resources on the server: cluster-wide limits that steps hold permits of while they run."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta

from perdure.calls import Calls
from perdure.v1 import admin_service_pb2, resource_pb2
from perdure.view import WorkflowRef


@dataclass(frozen=True, slots=True)
class Rate:
    """So many starts per period."""

    units: int
    period: timedelta
    burst: int = 0
    """How many at once after a quiet time; 0: as `units`."""


@dataclass(frozen=True, slots=True)
class PermitHolder:
    """A step that holds units of a resource."""

    workflow: WorkflowRef
    step: str
    units: int


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource as the server keeps it, and who uses it (at most a second old)."""

    name: str
    capacity: int | None
    rate: Rate | None
    per_label: str
    per_fairness_key: bool
    description: str
    etag: str
    in_use: int
    """Units held."""
    waiting: int
    """Steps that wait."""
    oldest_wait: timedelta | None
    """How long the first of them has been ready; None: none waits."""
    holders: tuple[PermitHolder, ...]
    """Some of those who hold units."""


class Resources:
    """The resources of one namespace; `client.resources`."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def put(
        self,
        name: str,
        *,
        capacity: int | None = None,
        rate: Rate | None = None,
        per_label: str = "",
        per_fairness_key: bool = False,
        description: str = "",
        etag: str = "",
    ) -> Resource:
        """Makes or changes a resource; it acts at once, and lowering revokes nothing.

        Args:
            name: What steps name in `permits`.
            capacity: Units that may be held at once; None: no such limit.
            rate: Starts per period; None: no such limit.
            per_label: Both limits count per value of this label.
            per_fairness_key: Both limits count per fairness key.
            description: For people.
            etag: Only if it is unchanged since it was read; empty: always.

        Raises:
            InvalidRequest: A value is out of its bounds.
            Conflict: Another has changed it.
        """
        message = resource_pb2.Resource(
            namespace=self._calls.config.namespace, resource=name, capacity=capacity, description=description, etag=etag
        )
        if rate is not None:
            message.rate.units, message.rate.burst = rate.units, rate.burst
            message.rate.period.FromTimedelta(rate.period)
        if per_label:
            message.key.label = per_label
        if per_fairness_key:
            message.key.fairness_key = True
        request = admin_service_pb2.PutResourceRequest(resource=message)
        return _resource((await self._calls.unary(self._calls.admin.PutResource, request)).resource)

    async def delete(self, name: str, *, etag: str = "") -> None:
        """Removes a resource that nobody uses. Raises NotFound, Conflict, NotAllowed (RESOURCE_IN_USE)."""
        request = admin_service_pb2.DeleteResourceRequest(namespace=self._calls.config.namespace, resource=name, etag=etag)
        await self._calls.unary(self._calls.admin.DeleteResource, request)

    async def list(self, name: str = "") -> AsyncIterator[Resource]:
        """All resources by name, or only one, with their use; pages are fetched as they are needed."""
        request = admin_service_pb2.ListResourcesRequest(namespace=self._calls.config.namespace, resource=name)
        while True:
            answer = await self._calls.unary(self._calls.admin.ListResources, request)
            for message in answer.resources:
                yield _resource(message)
            if not answer.next_page_token:
                return
            request.page_token = answer.next_page_token


def _resource(message: resource_pb2.Resource) -> Resource:
    rate = message.rate
    usage = message.usage
    return Resource(
        name=message.resource,
        capacity=message.capacity if message.HasField("capacity") else None,
        rate=Rate(rate.units, rate.period.ToTimedelta(), rate.burst) if message.HasField("rate") else None,
        per_label=message.key.label,
        per_fairness_key=message.key.fairness_key,
        description=message.description,
        etag=message.etag,
        in_use=usage.in_use,
        waiting=usage.waiting_count,
        oldest_wait=usage.oldest_wait.ToTimedelta() if usage.HasField("oldest_wait") else None,
        holders=tuple(_holder(holder) for holder in usage.holders),
    )


def _holder(message: resource_pb2.PermitHolder) -> PermitHolder:
    ref = message.workflow
    return PermitHolder(WorkflowRef(ref.workflow_type, ref.business_key, ref.namespace, ref.round), message.step, message.units)
