"""Resources as this server last read them: at most a second old; who finds a stripe with a newer word reads again at once."""

from perdure_server.engine.shared_reads import SharedReads
from perdure_server.kernel import limits
from perdure_server.kernel.resources import Resource
from perdure_server.ports.clock import Clock
from perdure_server.ports.resources import Resources

_FRESH_FOR = limits.SECOND
_KEPT = 10_000


class ResourceCache:
    """Reads through to the store. That there is no such resource is remembered, too."""

    def __init__(self, resources: Resources, clock: Clock) -> None:
        self._resources = resources
        self._clock = clock
        self._found: dict[tuple[str, str], tuple[int, Resource | None]] = {}
        self._reads: SharedReads[tuple[str, str], Resource | None] = SharedReads()

    async def get(self, namespace: str, name: str, fresh: bool = False) -> Resource | None:
        """The resource. Raises StoreUnavailable."""
        now = self._clock.unshifted()
        found = self._found.get((namespace, name))
        if found is not None and not fresh and now - found[0] < _FRESH_FOR:
            return found[1]
        if fresh:
            return await self._read(namespace, name)
        return await self._reads.read((namespace, name), lambda: self._read(namespace, name))

    async def _read(self, namespace: str, name: str) -> Resource | None:
        now = self._clock.unshifted()
        resource = await self._resources.get(namespace, name)
        self._found.pop((namespace, name), None)
        self._found[namespace, name] = (now, resource)
        if len(self._found) > _KEPT:
            del self._found[next(iter(self._found))]
        return resource

    def is_recent(self, namespace: str, name: str) -> bool:
        """Whether `known` will do to choose a line by: it is good enough while somebody is reading it again."""
        found = self._found.get((namespace, name))
        return found is not None and self._clock.unshifted() - found[0] < 2 * _FRESH_FOR

    def known(self, namespace: str, name: str) -> Resource | None:
        """The resource, however old; None also if it was never read."""
        found = self._found.get((namespace, name))
        return found[1] if found is not None else None

    def forget(self, namespace: str, name: str) -> None:
        """Somebody changed it."""
        self._reads.forget((namespace, name))
        found = self._found.get((namespace, name))
        if found is not None:
            self._found[namespace, name] = (found[0] - _FRESH_FOR, found[1])
