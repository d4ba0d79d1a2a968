"""One stripe of a resource as one server works on it: one update in flight, which carries everything that waits."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from perdure_server.engine.parts import Parts
from perdure_server.kernel import limits
from perdure_server.kernel.resources import (
    Done,
    Resource,
    Stripe,
    Waiting,
    Want,
    Work,
    adopt,
    entitled,
    new_stripe,
    others_waiting,
    perform,
    speak,
)
from perdure_server.ports.errors import StoreUnavailable
from perdure_server.ports.resources import StripeKey

_FRESH_FOR = limits.SECOND // 4  # a stripe that looks full is read again when it is older
_GIVE_UP_AFTER = 10 * limits.SECOND
_SPEAK_AGAIN = limits.SECOND * 9 // 10
_PAUSE_FIRST = 10
_PAUSE_CAP = 500


class Picked(Struct, frozen=True):
    """A want that came from the line of waiters; `done` is told whether it holds units now, and whether they are kept."""

    want: Want
    done: Callable[[bool, bool], None]


class LineOfStripe(Protocol):
    """What a stripe asks of its line."""

    async def resource(self, fresh: bool = False) -> Resource | None:
        """The resource as it is known; `fresh` = read it again. Raises StoreUnavailable."""

    async def is_settled(self, resource: Resource) -> bool:
        """Whether no stripe holds more than its share any more, so that others may grant. Raises StoreUnavailable."""

    def pick(self, number: int, stripe: Stripe, freed: int) -> Sequence[Picked]:
        """The waiters whose turn it is, with slots, if so many units come free."""

    def no_turn(self) -> None:
        """Nothing can be granted now."""

    def word(self) -> Waiting | None:
        """What this server says of its waiters."""

    def updated(self, number: int, stripe: Stripe, freed: bool) -> None:
        """The stripe as it is now; `freed`: this update gave units back."""


class _Batch:
    """What one update carries."""

    def __init__(self) -> None:
        self.releases: set[str] = set()
        self.frees: set[tuple[str, int]] = set()
        self.stamps: list[tuple[str, int, asyncio.Future[bool]]] = []
        self.wants: list[Picked] = []
        self.look = False

    def __bool__(self) -> bool:
        return bool(self.releases or self.frees or self.stamps or self.wants or self.look)

    def units_freed(self, stripe: Stripe) -> int:
        """How many units the stripe has to give when it has been given back what is due."""
        held = stripe.by_nonce
        found = {nonce for nonce in self.releases if nonce in held}
        found |= {nonce for nonce, revision in self.frees if nonce in held and held[nonce].revision == revision}
        return sum(held[nonce].units for nonce in found)

    def work(self, parts: Parts, picked: Sequence[Picked], may_grant: bool) -> Work:
        return Work(
            parts.settings.server_id,
            parts.clock.now(),
            parts.clock.unshifted(),
            frozenset(self.releases),
            frozenset(self.frees),
            tuple((nonce, revision) for nonce, revision, _ in self.stamps),
            tuple(each.want for each in (*self.wants, *picked)),
            may_grant,
        )


class StripeBox:
    """The stripe's queue. Releases are kept until they are stored; wants are answered, well or not, by the next update."""

    def __init__(self, parts: Parts, line: LineOfStripe, key: StripeKey) -> None:
        self._parts = parts
        self._line = line
        self._key = key
        self._clock = parts.clock
        self._resources = parts.store.resources
        self._next = _Batch()
        self._running = False
        self._read_at = 0
        self._stale = True
        self.stripe: Stripe | None = None
        self.updates = 0

    @property
    def busy(self) -> bool:
        """Whether there is anything to do."""
        return self._running or bool(self._next)

    def room(self, resource: Resource) -> int:
        """Units that are free, as this server last saw it; all of its share if it never looked."""
        return (resource.share(self._key.number) or 0) if self.stripe is None else max(0, self.stripe.room)

    def release(self, nonce: str) -> None:
        """The claim is gone for sure: give its units back."""
        self._next.releases.add(nonce)
        self._kick()

    def free(self, nonce: str, revision: int) -> None:
        """An audit found that this holder, as of this revision, is nobody's claim and cannot become one."""
        self._next.frees.add((nonce, revision))
        self._kick()

    def stamp(self, nonce: str, revision: int) -> "asyncio.Future[bool]":
        """The workflow moved on before the claim was written. False = the units are not held any more."""
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._next.stamps.append((nonce, revision, future))
        self._kick()
        return future

    def want(self, want: Want) -> "asyncio.Future[tuple[bool, bool]]":
        """Take units, now or not at all. Answers (whether it holds them, whether they are kept). Raises StoreUnavailable."""
        future: asyncio.Future[tuple[bool, bool]] = asyncio.get_running_loop().create_future()

        def done(granted: bool, kept: bool) -> None:
            if not future.done():
                future.set_result((granted, kept))

        self._next.wants.append(Picked(want, done))
        self._kick()
        return future

    def look(self, stale: bool = False) -> None:
        """There may be room for waiters. `stale`: somebody else changed the stripe."""
        self._stale = self._stale or stale
        self._next.look = True
        self._kick()

    def _kick(self) -> None:
        if not self._running:
            self._running = True
            self._parts.supervisor.run(self._run(), "permits")

    async def _run(self) -> None:
        try:
            while self._next:
                batch, self._next = self._next, _Batch()
                await self._serve(batch)
        finally:
            self._running = False

    async def _serve(self, batch: _Batch) -> None:
        attempt = _Attempt(batch)
        try:
            await self._until_stored(attempt)
        except BaseException:
            self._next.releases |= batch.releases
            self._next.frees |= batch.frees
            self._line.no_turn()
            attempt.answer(None, kept=True)
            raise

    async def _until_stored(self, attempt: "_Attempt") -> None:
        give_up, pause = self._clock.unshifted() + _GIVE_UP_AFTER, 0
        while True:
            try:
                if await self._try(attempt):
                    return
            except StoreUnavailable:
                self._stale = True
                if self._clock.unshifted() >= give_up:
                    raise
                pause = max(pause, _PAUSE_FIRST)
            if pause:
                await self._clock.sleep(round(pause * (0.5 + self._parts.entropy.dice())))
            pause = min(max(1, 2 * pause), _PAUSE_CAP)

    async def _try(self, attempt: "_Attempt") -> bool:
        """One read if needed, one write if anything changes. False = somebody else was quicker, or the stripe was read too long ago."""
        resource = await self._line.resource()
        stripe = await self._base(attempt)
        if attempt.written is not None and stripe is not None and stripe.write_id == attempt.written.write_id:
            return self._is_stored(attempt, stripe)  # its result was unknown, and it is there
        attempt.written = None
        if stripe is None:
            return await self._without_stripe(attempt, resource)
        if resource is not None and stripe.resource_revision > resource.revision:
            resource = await self._line.resource(fresh=True)
        changed = await self._perform(attempt, stripe, resource)
        if changed is stripe:
            if not attempt.fresh and attempt.lacks():
                self._stale = True  # nobody waits, and nothing stays held, because of an old view
                return False
            return self._is_stored(attempt, stripe)
        attempt.written = replace(changed, write_id=self._parts.entropy.hex(8))
        began = self._clock.unshifted()
        if not await self._resources.commit(stripe, attempt.written):
            attempt.written, self._stale = None, True
            return False
        self.updates += 1
        self._read_at = began  # nobody else has changed it, or this write had failed
        return self._is_stored(attempt, attempt.written)

    async def _perform(self, attempt: "_Attempt", stripe: Stripe, resource: Resource | None) -> Stripe:
        base, may_grant = stripe, False
        if resource is not None:
            base = adopt(stripe, resource, self._clock.now())
            may_grant = base.resource_revision == resource.revision and await self._line.is_settled(resource)
        if not may_grant:
            self._line.no_turn()
        elif not attempt.picked:
            attempt.picked = self._line.pick(self._key.number, base, attempt.batch.units_freed(base))
        attempt.done = perform(base, attempt.batch.work(self._parts, attempt.picked, may_grant))
        return self._spoken(attempt.done.stripe, stripe)

    def _is_stored(self, attempt: "_Attempt", stripe: Stripe) -> bool:
        self.stripe = stripe
        assert attempt.done is not None, "something was performed"
        attempt.answer(attempt.done, kept=stripe.capacity is not None)
        self._line.updated(self._key.number, stripe, freed=bool(attempt.batch.releases or attempt.batch.frees))
        return True

    async def _base(self, attempt: "_Attempt") -> Stripe | None:
        now = self._clock.unshifted()
        attempt.fresh = False
        looks_full = self.stripe is not None and self.stripe.room <= self._entitled(self.stripe, now)
        if self._stale or self.stripe is None or (looks_full and now - self._read_at > _FRESH_FOR):
            self._stale = False
            self._read_at = now
            attempt.fresh = True
            self.stripe = await self._resources.stripe(self._key)
        return self.stripe

    def _entitled(self, stripe: Stripe, now: int) -> int:
        return entitled(others_waiting(stripe, self._parts.settings.server_id, now), self._clock.now())

    async def _without_stripe(self, attempt: "_Attempt", resource: Resource | None) -> bool:
        if resource is None:
            self._line.no_turn()
            attempt.answer(None, kept=True)
            return True
        # Made without holders, and only then is the resource read again: whoever changes it walks its stripes afterwards and finds this.
        made = replace(new_stripe(resource, self._key.key, self._key.number, self._clock.now()), write_id=self._parts.entropy.hex(8))
        await self._resources.commit(None, made)
        self._stale = True
        await self._line.resource(fresh=True)
        return False

    def _spoken(self, done: Stripe, before: Stripe) -> Stripe:
        """With this server's word of its waiters, if that is news, or if the stripe is written anyway."""
        if self._key.number:
            return done
        me, now = self._parts.settings.server_id, self._clock.unshifted()
        mine = next((found for found in before.waiting if found.server == me), None)
        word = self._line.word()
        is_old = mine is not None and now - mine.time >= _SPEAK_AGAIN
        if done is before and (word is None) == (mine is None) and not (word is not None and is_old):
            return done
        return speak(done, me, word, now)


class _Attempt:
    """A batch on its way: the waiters picked for it, what came of it, and what was written, if nobody knows whether it is there."""

    def __init__(self, batch: _Batch) -> None:
        self.batch = batch
        self.picked: Sequence[Picked] = ()
        self.done: Done | None = None
        self.written: Stripe | None = None
        self.fresh = False  # based on a read of this very try

    def lacks(self) -> bool:
        """Whether somebody got nothing, or what was to be given back was not found."""
        assert self.done is not None, "something was performed"
        batch = self.batch
        return bool(batch.releases or batch.frees or batch.stamps) or len(self.done.granted) < len(batch.wants) + len(self.picked)

    def answer(self, done: Done | None, *, kept: bool) -> None:
        """Tell everybody; None = nothing was taken, as far as anybody knows."""
        granted = done.granted if done is not None else frozenset()
        stamped = done.stamped if done is not None else frozenset()
        for each in (*self.batch.wants, *self.picked):
            each.done(each.want.holder.nonce in granted, kept)
        for nonce, _, future in self.batch.stamps:
            if not future.done():
                future.set_result(nonce in stamped)
