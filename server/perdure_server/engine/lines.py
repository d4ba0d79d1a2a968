"""The line before one resource, or one key of it: its waiters on this server, and its stripes."""

from bisect import bisect_left, insort
from collections.abc import Sequence
from typing import Protocol

from msgspec.structs import replace

from perdure_server.engine.desk import Desk, Slot
from perdure_server.engine.hub import PERMITS, Hub
from perdure_server.engine.pace import Pace
from perdure_server.engine.parts import Parts
from perdure_server.engine.resource_cache import ResourceCache
from perdure_server.engine.stripes import Picked, StripeBox
from perdure_server.engine.waiters import Waiter
from perdure_server.kernel import limits
from perdure_server.kernel.resources import PLENTY, Resource, Stripe, Waiting, Want, adopt, entitled, others_waiting
from perdure_server.kernel.seal import line_id
from perdure_server.kernel.workflow import HeldPermit
from perdure_server.ports.coordination import WakeUp
from perdure_server.ports.resources import StripeKey

_SCANNED = 1_000  # waiters that one update looks at
_STRIPES = 1_000
_AGAIN = 20


class LineOwner(Protocol):
    """What lines share, and whom they tell."""

    parts: Parts
    cache: ResourceCache
    desk: Desk
    hub: Hub

    def granted(self, waiter: Waiter, slot: Slot, permits: tuple[HeldPermit, ...]) -> None:
        """A waiter for one resource has its units."""

    def whole(self, waiter: Waiter, slot: Slot) -> None:
        """A waiter needs more than one update can give: try all of it."""

    def homeless(self, waiter: Waiter) -> None:
        """There is room, but no slot here."""

    def refresh(self, waiter: Waiter) -> bool:
        """Look at the instance as this server knows it. False = it does not wait any more."""


class Line:
    """Waiters in order of their ready times; nobody overtakes within this server."""

    def __init__(self, owner: LineOwner, name: tuple[str, str, str]) -> None:
        self.namespace, self.name, self.key = name
        self.id = line_id(*name)
        self._owner = owner
        self._parts = owner.parts
        self._clock = owner.parts.clock
        self._cache = owner.cache
        self._desk = owner.desk
        self._hub = owner.hub
        self._boxes: dict[int, StripeBox] = {}
        self._settled = -1
        self._order: list[tuple[int, int]] = []
        self._waiters: dict[tuple[int, int], Waiter] = {}
        self._with_slot: list[Waiter] = []
        self._refill_at: int | None = None
        self._pace = Pace()  # of waiters that got what they need

    # ---------------------------------------------------------------------------------------------------------- waiters

    def join(self, waiter: Waiter, tried: bool = False) -> None:
        """Wait here. `tried`: just now it got nothing, so there is nothing to look at before something changes."""
        waiter.line, waiter.trying = self, False
        if waiter.place not in self._waiters:
            insort(self._order, waiter.place)
        self._waiters[waiter.place] = waiter
        if waiter.slot is not None:
            self._with_slot.append(waiter)
        if tried:
            self._later(waiter)
        else:
            self.look()

    def hand(self, waiter: Waiter, slot: Slot) -> None:
        """A slot came for a waiter of this line."""
        waiter.slot = slot
        self._with_slot.append(waiter)
        self.look()

    def leave(self, waiter: Waiter) -> None:
        """Wait here no longer."""
        waiter.line = None
        if self._waiters.pop(waiter.place, None) is not None:
            del self._order[bisect_left(self._order, waiter.place)]

    def served(self, waiter: Waiter) -> None:
        """It has all that it needs, and leaves."""
        self._pace.count(self._clock.unshifted())
        self.leave(waiter)

    def is_long(self, waiter: Waiter) -> bool:
        """Whether its wait is to be stored: it has lasted, and will not be over in half a second if the line goes on as in the last one."""
        now = self._clock.unshifted()
        waited = now - waiter.entered
        if waited < limits.THROTTLED_AFTER:
            return False
        if waited >= limits.THROTTLED_AT_LAST or waiter.workflow.steps[waiter.name].due is not None:  # its queue time runs until then
            return True
        return self.ahead(*waiter.place) >= self._pace.lately(now) // 2

    @property
    def busy(self) -> bool:
        """Whether anything goes on here."""
        return bool(self._waiters) or any(box.busy for box in self._boxes.values())

    def ahead(self, since: int, number: int = 0) -> int:
        """How many waiters are before one of that ready time (and number, on this server), here and as other servers say."""
        here = bisect_left(self._order, (since, number))
        box = self._boxes.get(0)
        if box is None or box.stripe is None:
            return here
        others = others_waiting(box.stripe, self._parts.settings.server_id, self._clock.unshifted())
        return here + sum(found.count for found in others if found.oldest < since)

    # ---------------------------------------------------------------------------------------------------------- stripes

    def box(self, number: int) -> StripeBox:
        """One stripe."""
        found = self._boxes.get(number)
        if found is None:
            found = self._boxes[number] = StripeBox(self._parts, self, StripeKey(self.namespace, self.name, self.key, number))
        return found

    def look(self, stale: bool = False) -> None:
        """There may be room. `stale`: another server changed something."""
        for number in range(self._count()):
            self.box(number).look(stale)
        for number, box in self._boxes.items():
            if box.busy and number >= self._count():
                box.look()

    def _count(self) -> int:
        known = self._cache.known(self.namespace, self.name)
        return known.stripes if known is not None else 1

    async def take(self, waiter: Waiter, slot: Slot, units: int) -> tuple[HeldPermit, ...] | None:
        """Take units now, from several stripes if one has not enough; None = not enough, and nothing is held. Raises StoreUnavailable."""
        resource = await self.resource()
        if resource is None:
            return None
        if resource.stripes == 1:
            starts = units if resource.rate is not None else 0
            return await self._take_from(0, waiter, slot, (units, starts))
        parts: tuple[HeldPermit, ...] = ()
        left = units
        rooms = {number: self.box(number).room(resource) for number in range(resource.stripes)}
        for number in sorted(rooms, key=lambda number: (-rooms[number], number)):
            size = min(left, rooms[number])
            got = await self._take_from(number, waiter, slot, (size, 0)) if size else None
            parts += got or ()
            left -= size if got else 0
        if not left and resource.rate is not None and await self._take_from(0, waiter, slot, (0, units)) is None:
            left = units
        if not left:
            return parts
        self.give_back(parts, slot.ticket.nonce)
        return None

    async def _take_from(self, number: int, waiter: Waiter, slot: Slot, much: tuple[int, int]) -> tuple[HeldPermit, ...] | None:
        units, starts = much
        holder = waiter.holder(slot, units, self._clock.now())
        granted, kept = await self.box(number).want(Want(holder, starts, waiter.since))
        return (HeldPermit(self.name, units, self.key, number, kept),) if granted else None

    def give_back(self, parts: Sequence[HeldPermit], nonce: str) -> None:
        """These units of this line are not needed any more."""
        for part in parts:
            if part.kept:
                self.box(part.stripe).release(nonce)

    # ------------------------------------------------------------------------------------------- what the stripes ask

    async def resource(self, fresh: bool = False) -> Resource | None:
        """The resource, at most a second old. Raises StoreUnavailable."""
        return await self._cache.get(self.namespace, self.name, fresh)

    async def is_settled(self, resource: Resource) -> bool:
        """Whether no stripe holds more than its share any more. Raises StoreUnavailable."""
        if self._settled == resource.revision:
            return True
        for stripe in await self._parts.store.resources.stripes(self.namespace, self.name, self.key, _STRIPES, linearizable=True):
            found = adopt(stripe, resource, self._clock.now())
            if found is not stripe:
                changed = await self._parts.store.resources.commit(stripe, replace(found, write_id=self._parts.entropy.hex(8)))
                self.box(stripe.number).look(stale=True)
                if not changed:
                    return False
            if found.resource_revision != resource.revision or found.room < 0:
                return False
        self._settled = resource.revision
        return True

    def pick(self, number: int, stripe: Stripe, freed: int) -> Sequence[Picked]:
        """The waiters whose turn it is. Slots in hand go to the oldest waiters of their queues, and back if there is no room."""
        slots = self._slots_in_hand()
        room, starts = stripe.room + freed, stripe.saved(self._clock.now())
        now = self._clock.unshifted()
        others = others_waiting(stripe, self._parts.settings.server_id, now)
        empty: set[str] = set()
        picked: list[Picked] = []
        for place in self._order[:_SCANNED]:
            if room <= 0 or starts <= 0:
                break
            waiter = self._waiters.get(place)  # one that does not wait any more has gone on the way
            if waiter is None or waiter.trying or waiter.again_at > now or not self._owner.refresh(waiter):
                continue
            units = self._units(waiter)
            if units > self._capacity(stripe):
                continue  # waits for a change of the resource
            fits = len(waiter.needs) == 1 and units <= room and (stripe.rate is None or (units <= starts and self._count() == 1))
            if (not fits and units > self._room(number, room)) or units > starts:
                break
            before = entitled(others, waiter.since)
            if fits and (units > room - before or (stripe.rate is not None and units > starts - before)):
                break  # theirs first: it would be refused, its slot would come free, and what that slot then brings would ask again
            slot = _one_of(slots, waiter.queue) or (None if waiter.queue in empty else self._desk.reserve(waiter.queue))
            if slot is None:
                empty.add(waiter.queue)
                self._owner.homeless(waiter)
                continue
            waiter.begin()
            room, starts = room - units, starts - units
            if fits:
                picked.append(self._picked(waiter, slot, number, units if stripe.rate is not None else 0))
            else:
                self._owner.whole(waiter, slot)
        self._release(slots)
        return picked

    def _capacity(self, stripe: Stripe) -> int:
        known = self._cache.known(self.namespace, self.name)
        if known is not None and known.capacity is not None:
            return known.capacity
        return PLENTY if stripe.capacity is None else stripe.capacity

    def _room(self, number: int, room: int) -> int:
        # All stripes together, as far as this server knows; `room` is that of the one at hand.
        known = self._cache.known(self.namespace, self.name)
        if known is None or known.stripes == 1:
            return room
        return room + sum(self.box(other).room(known) for other in range(known.stripes) if other != number)

    def no_turn(self) -> None:
        """Nothing can be granted now: slots in hand go back."""
        self._release(self._slots_in_hand())

    def _release(self, slots: dict[str, list[Slot]]) -> None:
        for left in slots.values():
            for slot in left:
                self._desk.release(slot)

    def _slots_in_hand(self) -> dict[str, list[Slot]]:
        found: dict[str, list[Slot]] = {}
        for waiter in self._with_slot:
            if waiter.slot is not None:
                found.setdefault(waiter.queue, []).append(waiter.slot)
                waiter.slot = None
        self._with_slot.clear()
        return found

    def _picked(self, waiter: Waiter, slot: Slot, number: int, starts: int) -> Picked:
        units = waiter.needs[0][2]

        def done(granted: bool, kept: bool) -> None:
            if granted:
                self.served(waiter)
                self._owner.granted(waiter, slot, (HeldPermit(self.name, units, self.key, number, kept),))
            else:
                waiter.trying = False
                self._later(waiter)
                self._desk.release(slot)

        return Picked(Want(waiter.holder(slot, units, self._clock.now()), starts, waiter.since), done)

    def word(self) -> Waiting | None:
        """What this server says of its waiters. Alone, it says nothing of those who will not wait long."""
        now = self._clock.unshifted()
        soonest = limits.THROTTLED_AFTER if self._hub.is_alone() else 0
        found = (self._waiters[place] for place in self._order[:_SCANNED])
        waiting = [waiter for waiter in found if not waiter.trying and now - waiter.entered >= soonest]
        if not waiting:
            return None
        beyond = max(0, len(self._order) - _SCANNED)  # of those only the number is told
        units = sum([self._units(waiter) for waiter in waiting]) + beyond
        return Waiting(self._parts.settings.server_id, waiting[0].since, len(waiting) + beyond, units, now)

    def _units(self, waiter: Waiter) -> int:
        return sum(units for resource, key, units in waiter.needs if (resource, key) == (self.name, self.key))

    def updated(self, number: int, stripe: Stripe, freed: bool) -> None:
        """Room that others wait for is told to them; a rate that must save up first is looked at again."""
        if freed and others_waiting(stripe, self._parts.settings.server_id, self._clock.unshifted()):
            self._hub.publish(WakeUp(PERMITS, self.id.encode()))
        if number == 0 and self._order and stripe.rate is not None:
            wait = stripe.refill(self._units(self._waiters[self._order[0]]), self._clock.now())
            if wait:
                self._look_in(wait)

    def _later(self, waiter: Waiter) -> None:
        waiter.again_at = self._clock.unshifted() + _AGAIN
        self._look_in(_AGAIN)

    def _look_in(self, wait: int) -> None:
        due = self._clock.unshifted() + wait
        if self._refill_at is None or due < self._refill_at:
            self._refill_at = due
            self._parts.supervisor.run(self._look_later(due, wait), "refill")

    async def _look_later(self, due: int, wait: int) -> None:
        await self._clock.sleep(min(wait, limits.SECOND))  # within the poll of all lines, which looks again anyway
        if self._refill_at == due:
            self._refill_at = None
            self.look()


def _one_of(slots: dict[str, list[Slot]], queue: str) -> Slot | None:
    left = slots.get(queue)
    return left.pop() if left else None
