"""PutResource, ListResources, DeleteResource: what people do with resources of permits, and what they see of them."""

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from perdure_server.engine.hub import PERMITS, Hub
from perdure_server.engine.parts import Parts
from perdure_server.engine.permits import Permits
from perdure_server.kernel import limits
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.resources import Holder, PutRequest, Resource, Stripe, Waiting, adopt
from perdure_server.kernel.seal import line_id
from perdure_server.ports.coordination import WakeUp
from perdure_server.ports.errors import StoreUnavailable
from perdure_server.ports.resources import key_of

_STRIPES = 10_000
_TRIES = 20
_KEYS = 20
_HOLDERS = 100
_GRAVE = "!deleted/"  # before a namespace: where requests that deleted resources are remembered
NO_REQUEST = PutRequest("", "")


class KeyUsage(Struct, frozen=True):
    """One key: units held, steps that wait."""

    key: str
    in_use: int
    waiting: int


class Usage(Struct, frozen=True):
    """Who uses a resource. `oldest` is the ready time of the first waiter."""

    resource: Resource
    in_use: int
    waiting: int
    oldest: int | None
    keys: tuple[KeyUsage, ...]
    holders: tuple[Holder, ...]


class ResourceAdmin:
    """Every method may raise StoreUnavailable."""

    def __init__(self, parts: Parts, permits: Permits, hub: Hub) -> None:
        self._resources = parts.store.resources
        self._clock = parts.clock
        self._entropy = parts.entropy
        self._permits = permits
        self._hub = hub

    async def get(self, namespace: str, name: str) -> Resource | None:
        """As stored."""
        return await self._resources.get(namespace, name)

    async def put(self, old: Resource | None, wanted: Resource, asked: PutRequest = NO_REQUEST) -> Resource:
        """Store it after `old`; it acts at once. The same as is stored: no change. Raises Rejection REVISION_CONFLICT.

        `asked` is remembered in the same write.
        """
        now = self._clock.now()
        asked = replace(asked, created=old is None)
        requests = (old or wanted).remembering(asked)
        if old is not None and replace(wanted, revision=old.revision, update_time=old.update_time, requests=old.requests) == old:
            if asked.request_id and not await self._resources.put(old, replace(old, requests=requests)):
                raise Rejection(Reason.REVISION_CONFLICT, "The resource has changed meanwhile: read it again.", resource=wanted.name)
            return replace(old, requests=requests)
        new = replace(wanted, revision=max(now, old.revision + 1 if old is not None else 0), update_time=now, requests=requests)
        if not await self._resources.put(old, new):
            raise Rejection(Reason.REVISION_CONFLICT, "The resource has changed meanwhile: read it again.", resource=wanted.name)
        for stripe in await self._resources.stripes(new.namespace, new.name, None, _STRIPES):
            await self._adopt(stripe, new)
        self._tell(new)
        return new

    async def was_deleted(self, namespace: str, name: str, found: Resource | None, asked: PutRequest) -> bool:
        """Whether this very request removed it before, whatever is there now. Raises Rejection REQUEST_ID_REUSED."""
        grave = await self._resources.get(_GRAVE + namespace, name) if asked.request_id else None
        known = grave.remembered(asked) if grave is not None else None
        return known is not None and (found is None or found.revision != known.deletes)

    async def delete(self, resource: Resource, asked: PutRequest = NO_REQUEST) -> None:
        """Remove it and its stripes. Raises Rejection RESOURCE_IN_USE, REVISION_CONFLICT.

        `asked` is noted first, with the revision that it removes, in a document that stays: a repeat goes on, or finds it done.
        """
        self.require_unused(await self._resources.stripes(resource.namespace, resource.name, None, _STRIPES, linearizable=True))
        if asked.request_id:
            await self._note_deletion(resource, replace(asked, deletes=resource.revision))
        for _ in range(_TRIES):
            stripes = await self._resources.stripes(resource.namespace, resource.name, None, _STRIPES, linearizable=True)
            self.require_unused(stripes)
            if not stripes:
                break
            for stripe in stripes:
                await self._resources.remove(stripe)  # one that has changed meanwhile is looked at again
        else:
            raise StoreUnavailable("the stripes of the resource are being changed by too many at once")
        if not await self._resources.delete(resource):
            raise Rejection(Reason.REVISION_CONFLICT, "The resource has changed meanwhile: read it again.", resource=resource.name)
        self._tell(resource)

    async def _note_deletion(self, resource: Resource, asked: PutRequest) -> None:
        for _ in range(_TRIES):
            namespace = _GRAVE + resource.namespace
            grave = await self._resources.get(namespace, resource.name)
            noted = grave or Resource(namespace, resource.name)
            noted = replace(noted, revision=noted.revision + 1, update_time=self._clock.now(), requests=noted.remembering(asked))
            if await self._resources.put(grave, noted):
                return
        raise StoreUnavailable("the resource is being deleted by too many at once")

    async def check_unused(self, resource: Resource) -> None:
        """Raise Rejection RESOURCE_IN_USE if permits of it are held or asked for."""
        self.require_unused(await self._resources.stripes(resource.namespace, resource.name, None, _STRIPES))

    def require_unused(self, stripes: Sequence[Stripe]) -> None:
        """Raise Rejection RESOURCE_IN_USE if units are held, or somebody waits for some."""
        holders = sum(len(stripe.holders) for stripe in stripes)
        waiting = sum(found.count for stripe in stripes for found in self._words(stripe))
        if holders or waiting:
            text = f"{holders} steps hold permits of the resource, and {waiting} wait for some."
            raise Rejection(Reason.RESOURCE_IN_USE, text, holder_count=str(holders), waiting_count=str(waiting))

    async def usage(self, resource: Resource) -> Usage:
        """Who uses it now."""
        stripes = await self._resources.stripes(resource.namespace, resource.name, None, _STRIPES)
        held: Counter[str] = Counter()
        waiting: Counter[str] = Counter()
        for stripe in stripes:
            held[stripe.key] += stripe.in_use
            waiting[stripe.key] += sum(found.count for found in self._words(stripe))
        keys = sorted(held, key=lambda key: (-held[key], -waiting[key], key))[:_KEYS] if resource.is_keyed else []
        holders = [holder for stripe in stripes for holder in stripe.holders]
        return Usage(
            resource,
            held.total(),
            waiting.total(),
            min((found.oldest for stripe in stripes for found in self._words(stripe)), default=None),
            tuple(KeyUsage(key, held[key], waiting[key]) for key in keys),
            tuple(sorted(holders, key=lambda holder: holder.since)[:_HOLDERS]),
        )

    def _words(self, stripe: Stripe) -> list[Waiting]:
        now = self._clock.unshifted()
        return [found for found in stripe.waiting if now - found.time <= 2 * limits.WAITING_FRESH_FOR]

    async def _adopt(self, stripe: Stripe, resource: Resource) -> None:
        for _ in range(_TRIES):
            changed = adopt(stripe, resource, self._clock.now())
            if changed is stripe or await self._resources.commit(stripe, replace(changed, write_id=self._entropy.hex(8))):
                return
            found = await self._resources.stripe(key_of(stripe))
            if found is None:
                return
            stripe = found
        raise StoreUnavailable("the stripe is being changed by too many at once")

    def _tell(self, resource: Resource) -> None:
        name = line_id(resource.namespace, resource.name, "")
        self._permits.changed(name)
        self._hub.publish(WakeUp(PERMITS, name.encode()))

    async def list(self, namespace: str, after: str, limit: int) -> Sequence[Usage]:
        """Resources by name, with their use."""
        return [await self.usage(resource) for resource in await self._resources.list(namespace, after, limit)]
