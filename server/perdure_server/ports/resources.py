"""Resources of permits: what people put, and the stripes in which the holders are. MongoDB is their only authority."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from perdure_server.kernel.resources import Resource, Stripe


class StripeKey(Struct, frozen=True, order=True):
    """Names a stripe."""

    namespace: str
    resource: str
    key: str
    number: int


def key_of(stripe: Stripe) -> StripeKey:
    """The name of a stripe."""
    return StripeKey(stripe.namespace, stripe.resource, stripe.key, stripe.number)


class Resources(Protocol):
    """Every method may raise StoreUnavailable: then nobody knows whether it was done, but doing it again is harmless."""

    async def get(self, namespace: str, name: str) -> Resource | None:
        """One resource, linearizable."""

    async def put(self, old: Resource | None, new: Resource) -> bool:
        """Store `new` if the stored one still has the revision of `old` (None: if there is none). True also if `new` itself is there."""

    async def delete(self, resource: Resource) -> bool:
        """Remove this very revision. False = it changed meanwhile, or is gone."""

    async def stripe(self, key: StripeKey) -> Stripe | None:
        """One stripe, read from the primary: the base of the next `commit`."""

    async def stripes(self, namespace: str, name: str, key: str | None, limit: int, *, linearizable: bool = False) -> Sequence[Stripe]:
        """The stripes of a resource, or of one key of it, in no promised order. `linearizable`: before what cannot be undone."""

    async def commit(self, old: Stripe | None, new: Stripe) -> bool:
        """Store `new` if the stored stripe still has the `write_id` of `old` (None: if there is none); `new` brings a fresh one.

        True also if `new` itself is what is stored. False = it changed, and nothing was written.
        """

    async def remove(self, stripe: Stripe) -> bool:
        """Remove a stripe that still has this `write_id`."""

    async def held(self, after: bytes, limit: int) -> Sequence[tuple[bytes, Stripe]]:
        """Stripes with holders, by their ids, those after the id `after` (b"": from the first)."""

    async def waited(self, limit: int) -> Sequence[Stripe]:
        """Stripes of which some server said that it has waiters."""

    async def list(self, namespace: str, after: str, limit: int) -> Sequence[Resource]:
        """The resources of a namespace by name, those after the name `after`."""
