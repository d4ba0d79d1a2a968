"""Resources on the server: cluster-wide limits that steps hold permits of while they run."""

from collections.abc import AsyncIterator

from perdure.calls import Calls
from perdure.errors import NotFound
from perdure.pages import pages
from perdure.reasons import ErrorReason
from perdure.resource_values import Rate, Resource, resource_of
from perdure.v1 import admin_service_pb2, resource_pb2


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
        return resource_of((await self._calls.unary(self._calls.admin.PutResource, request)).resource)

    async def get(self, name: str) -> Resource:
        """One resource, with its use. Raises NotFound."""
        request = admin_service_pb2.ListResourcesRequest(namespace=self._calls.config.namespace, resource=name)
        answer = await self._calls.unary(self._calls.admin.ListResources, request)
        if not answer.resources:
            raise NotFound(f"there is no resource {name}", reason=ErrorReason.RESOURCE_NOT_FOUND, code="NOT_FOUND")
        return resource_of(answer.resources[0])

    async def delete(self, name: str, *, etag: str = "") -> None:
        """Removes a resource that nobody uses. Raises NotFound, Conflict, NotAllowed (RESOURCE_IN_USE)."""
        request = admin_service_pb2.DeleteResourceRequest(namespace=self._calls.config.namespace, resource=name, etag=etag)
        await self._calls.unary(self._calls.admin.DeleteResource, request)

    async def list(self, name: str = "") -> AsyncIterator[Resource]:
        """All resources by name, or only one, with their use; pages are fetched as they are needed."""
        request = admin_service_pb2.ListResourcesRequest(namespace=self._calls.config.namespace, resource=name)
        async for answer in pages(self._calls, self._calls.admin.ListResources, request):
            for message in answer.resources:
                yield resource_of(message)
