"""Resources of permits in the in-memory store; stripes are kept as the documents that MongoDB would keep."""

from collections.abc import Sequence

import bson

from perdure_server.kernel.resources import Resource, Stripe
from perdure_server.ports.resources import StripeKey, key_of
from perdure_server.store.memory_records import Around
from perdure_server.store.resources import decode_stripe, encode_stripe, stripe_id


class MemoryResources:
    """The port's Resources."""

    def __init__(self, around: Around) -> None:
        self._around = around
        self._resources: dict[tuple[str, str], Resource] = {}
        self._stripes: dict[bytes, Stripe] = {}

    async def get(self, namespace: str, name: str) -> Resource | None:
        """As the port says."""
        return await self._around("resources.get", lambda: self._resources.get((namespace, name)))

    async def put(self, old: Resource | None, new: Resource) -> bool:
        """As the port says."""

        def apply() -> bool:
            stored = self._resources.get((new.namespace, new.name))
            if stored != new and (stored.revision if stored is not None else None) != (old.revision if old is not None else None):
                return False
            self._resources[new.namespace, new.name] = new
            return True

        return await self._around("resources.put", apply)

    async def delete(self, resource: Resource) -> bool:
        """As the port says."""

        def apply() -> bool:
            stored = self._resources.get((resource.namespace, resource.name))
            if stored is None or stored.revision != resource.revision:
                return False
            del self._resources[resource.namespace, resource.name]
            return True

        return await self._around("resources.delete", apply)

    async def stripe(self, key: StripeKey) -> Stripe | None:
        """As the port says."""
        return await self._around("resources.stripe", lambda: self._of(stripe_id(key)))

    async def stripes(self, namespace: str, name: str, key: str | None, limit: int, *, linearizable: bool = False) -> Sequence[Stripe]:
        """As the port says."""

        def apply() -> list[Stripe]:
            found = [stripe for stripe in self._stripes.values() if (stripe.namespace, stripe.resource) == (namespace, name)]
            return [stripe for stripe in found if key in {None, stripe.key}][:limit]

        return await self._around("resources.stripes", apply)

    async def commit(self, old: Stripe | None, new: Stripe) -> bool:
        """As the port says."""
        document = encode_stripe(new)

        def apply() -> bool:
            stored = self._of(document["_id"])
            if stored is not None and stored.write_id == new.write_id:
                return True
            if (stored.write_id if stored is not None else None) != (old.write_id if old is not None else None):
                return False
            self._stripes[document["_id"]] = decode_stripe(bson.decode(bson.encode(document)))
            return True

        return await self._around("resources.commit", apply)

    async def remove(self, stripe: Stripe) -> bool:
        """As the port says."""

        def apply() -> bool:
            stored = self._of(stripe_id(key_of(stripe)))
            if stored is None or stored.write_id != stripe.write_id:
                return False
            del self._stripes[stripe_id(key_of(stripe))]
            return True

        return await self._around("resources.remove", apply)

    async def held(self, after: bytes, limit: int) -> Sequence[tuple[bytes, Stripe]]:
        """As the port says."""

        def apply() -> list[tuple[bytes, Stripe]]:
            found = [(key, stripe) for key, stripe in self._stripes.items() if stripe.holders and key > after]
            return sorted(found, key=lambda item: item[0])[:limit]

        return await self._around("resources.held", apply)

    async def waited(self, limit: int) -> Sequence[Stripe]:
        """As the port says."""
        return await self._around("resources.waited", lambda: [stripe for stripe in self._stripes.values() if stripe.waiting][:limit])

    def _of(self, key: bytes) -> Stripe | None:
        return self._stripes.get(key)

    async def list(self, namespace: str, after: str, limit: int) -> Sequence[Resource]:
        """As the port says."""

        def apply() -> list[Resource]:
            found = [resource for key, resource in sorted(self._resources.items()) if key[0] == namespace and key[1] > after]
            return found[:limit]

        return await self._around("resources.list", apply)
