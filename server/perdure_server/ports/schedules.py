"""Schedules and namespaces in the store: small documents, every change conditional on the revision that it was made from."""

from collections.abc import Sequence
from typing import Protocol

from perdure_server.kernel.namespace import Namespace, Tally
from perdure_server.kernel.schedule import Schedule


class Schedules(Protocol):
    """One document per schedule. Every method may raise StoreUnavailable."""

    async def get(self, namespace: str, schedule_id: str) -> Schedule | None:
        """The stored schedule, linearizable; also one that is only remembered as deleted."""

    async def put(self, old: Schedule | None, new: Schedule) -> bool:
        """Store `new` if `old` still is what is stored (same revision), or, with None, if there is none. False = it was not so.

        The caller has raised the revision. Only changed fields are written.
        """

    async def delete(self, schedule: Schedule) -> bool:
        """Remove this very revision. False = it changed meanwhile, or is gone."""

    async def due(self, until: int, limit: int) -> Sequence[Schedule]:
        """Schedules whose `due` <= `until`, oldest first."""

    async def list(self, namespace: str, workflow_type: str, after: str, limit: int) -> Sequence[Schedule]:
        """Schedules of a namespace by id, those behind `after` ("" = all), of this type only ("" = of any); no deleted ones."""


class Namespaces(Protocol):
    """One document per namespace that somebody has put. Every method may raise StoreUnavailable."""

    async def get(self, name: str) -> Namespace | None:
        """The stored namespace, linearizable."""

    async def put(self, old: Namespace | None, new: Namespace) -> bool:
        """Store `new` if `old` still is what is stored, or, with None, if there is none. False = it was not so."""

    async def tally(self, name: str) -> Tally | None:
        """What servers keep together of a namespace with limits, linearizable."""

    async def put_tally(self, old: Tally | None, new: Tally) -> bool:
        """Store `new` if `old` still is what is stored, or, with None, if there is none. False = it was not so."""

    async def stored_bytes(self, name: str) -> int:
        """Bytes of the documents of all its workflows and rounds and of their payloads, measured now: slow where there are many.

        What changes meanwhile counts once, twice, or not at all.
        """

    async def list(self, after: str, limit: int) -> Sequence[Namespace]:
        """Namespaces by name, those behind `after` ("" = all)."""
