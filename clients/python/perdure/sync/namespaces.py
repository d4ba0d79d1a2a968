# Made by `python tools/sync_client.py` from perdure/namespaces.py; do not edit.
"""Namespaces on the server: places of their own for workflows, with their limits."""

import uuid
from collections.abc import Iterator, Mapping
from datetime import timedelta

from perdure.errors import NotFound
from perdure.namespace_values import Namespace, NamespaceLimits, limits_message, namespace_of
from perdure.sync.calls import Calls
from perdure.sync.pages import pages
from perdure.times import put_spans
from perdure.v1 import admin_service_pb2, resource_pb2


class Namespaces:
    """All namespaces of the server; `client.namespaces`."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def put(
        self,
        name: str,
        *,
        description: str = "",
        limits: NamespaceLimits | None = None,
        retention: timedelta | None = None,
        tombstone_retention: timedelta | None = None,
        labels: Mapping[str, str] | None = None,
        etag: str = "",
        validate_only: bool = False,
        request_id: str = "",
    ) -> Namespace:
        """Makes a namespace, or replaces the settings of the one of this name.

        Args:
            name: Lower-case letters, digits and `-`.
            description: For people.
            limits: None: none but the server's.
            retention: How long ended workflows are kept where the definition does not say. None: 30 days.
            tombstone_retention: How long identity and fence are remembered after that. None: 30 days.
            labels: Free facts.
            etag: Only if it is unchanged since it was read; empty: always.
            validate_only: Checks and changes nothing.
            request_id: Makes a repeat recognisable; empty: a new one.

        Raises:
            InvalidRequest: A value is wrong.
            Conflict: Another has changed it.
        """
        message = resource_pb2.Namespace(namespace=name, description=description, labels=labels, etag=etag)
        if limits is not None:
            message.limits.CopyFrom(limits_message(limits))
        put_spans(message, {"retention": retention, "tombstone_retention": tombstone_retention})
        request = admin_service_pb2.PutNamespaceRequest(
            namespace=message, request_id=request_id or uuid.uuid4().hex, validate_only=validate_only
        )
        answer = self._calls.unary(self._calls.admin.PutNamespace, request)
        return namespace_of(answer.namespace, created=answer.created)

    def get(self, name: str) -> Namespace:
        """One namespace, with its use. Raises NotFound: nobody has put it (it can be used all the same)."""
        request = admin_service_pb2.ListNamespacesRequest(namespace=name)
        answer = self._calls.unary(self._calls.admin.ListNamespaces, request)
        if not answer.namespaces:
            raise NotFound(f"there is no namespace {name}", code="NOT_FOUND")
        return namespace_of(answer.namespaces[0])

    def list(self) -> Iterator[Namespace]:
        """All namespaces that the caller may see, by name, with their use; pages are fetched as they are needed."""
        request = admin_service_pb2.ListNamespacesRequest()
        for answer in pages(self._calls, self._calls.admin.ListNamespaces, request):
            for message in answer.namespaces:
                yield namespace_of(message)
