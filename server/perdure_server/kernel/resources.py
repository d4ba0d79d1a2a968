"""Resources: limits that many workflows share, and the one rule by which their units are taken and given back.

A resource of more than limits.STRIPE_UNITS units is kept in several stripes, each with its share of the capacity, so that no document
grows and several updates go on at once. A keyed resource has its stripes per key. The starts of a rate are counted in stripe 0 alone.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from perdure_server.kernel import limits
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.workflow import Workflow

PLENTY: Final = 2**53


class Rate(Struct, frozen=True):
    """`units` starts per `period` ms; at most `burst` at once after a quiet time."""

    units: int
    period: int
    burst: int


class PutRequest(Struct, frozen=True):
    """A request that put or deleted a resource: its id, what it asked for, and what it did.

    `created`: it was new. `deletes`: the revision that it removes, 0 = none.
    """

    request_id: str
    digest: str
    created: bool = False
    deletes: int = 0


class Resource(Struct, frozen=True):
    """What people put. `capacity` None = no such limit. `key_label` or `by_fairness_key` makes both limits count per value of it."""

    namespace: str
    name: str
    capacity: int | None = None
    rate: Rate | None = None
    key_label: str = ""
    by_fairness_key: bool = False
    description: str = ""
    revision: int = 0  # rises with every change, also over a delete: the store's time in ms, or one more than the last
    update_time: int = 0
    requests: tuple[PutRequest, ...] = ()  # the last ones, newest first

    def remembered(self, asked: PutRequest) -> PutRequest | None:
        """That very request, if it came before. Raises Rejection REQUEST_ID_REUSED if it asked for something else."""
        found = next((known for known in self.requests if asked.request_id and known.request_id == asked.request_id), None)
        if found is not None and found.digest != asked.digest:
            text = "This request_id was used before for another change of the resource."
            raise Rejection(Reason.REQUEST_ID_REUSED, text, request_id=asked.request_id)
        return found

    def remembering(self, asked: PutRequest) -> tuple[PutRequest, ...]:
        """`requests` with this one."""
        if not asked.request_id:
            return self.requests
        others = tuple(known for known in self.requests if known.request_id != asked.request_id)
        return (asked, *others)[: limits.REQUEST_IDS]

    @property
    def is_keyed(self) -> bool:
        """Whether it counts per key."""
        return self.by_fairness_key or bool(self.key_label)

    def key_of(self, workflow: Workflow) -> str:
        """The key that a workflow counts under; without the label it is empty."""
        if self.by_fairness_key:
            return workflow.fairness_key
        return workflow.labels.get(self.key_label, "") if self.key_label else ""

    @property
    def stripes(self) -> int:
        """How many documents there are per key."""
        return max(1, -(-(self.capacity or 0) // limits.STRIPE_UNITS))

    def share(self, number: int) -> int | None:
        """The capacity of one stripe. None = no such limit; beyond the last stripe 0."""
        if self.capacity is None:
            return None if number == 0 else 0
        if number >= self.stripes:
            return 0
        each, over = divmod(self.capacity, self.stripes)
        return each + (number < over)


class Holder(Struct, frozen=True, array_like=True):
    """Who holds units: a claim by its nonce, the run and revision that they were taken for, and for people the rest."""

    nonce: str
    run_id: str
    revision: int
    units: int
    since: int
    workflow_type: str
    business_key: str
    round: int
    step: str
    claim_no: int


class Waiting(Struct, frozen=True, array_like=True):
    """What one server says of its waiters, at `time`: the ready time of the first, how many there are, how many units they want."""

    server: str
    oldest: int
    count: int
    units: int
    time: int


class Stripe(Struct, frozen=True, omit_defaults=True, dict=True):
    """One document of a resource. `level` is what its rate has saved up, in units times period; `write_id` is that of the last write."""

    namespace: str
    resource: str
    key: str
    number: int
    resource_revision: int
    capacity: int | None = None
    rate: Rate | None = None
    level: int = 0
    level_time: int = 0
    holders: tuple[Holder, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    write_id: str = ""

    @cached_property
    def in_use(self) -> int:
        """Units held."""
        return sum([holder.units for holder in self.holders])

    @cached_property
    def by_nonce(self) -> dict[str, Holder]:
        """The holders by nonce."""
        return {holder.nonce: holder for holder in self.holders}

    @property
    def room(self) -> int:
        """Units of capacity that are free; below 0 while it drains."""
        return PLENTY if self.capacity is None else self.capacity - self.in_use

    def saved(self, now: int) -> int:
        """Starts that the rate has saved up at `now`."""
        return PLENTY if self.rate is None else self._level(now) // self.rate.period

    def _level(self, now: int) -> int:
        if self.rate is None:
            return 0
        passed = max(0, now - self.level_time)
        return min(self.rate.burst * self.rate.period, self.level + passed * self.rate.units)

    def refill(self, units: int, now: int) -> int | None:
        """How long (ms) until the rate has saved up so many starts. None = never."""
        if self.rate is None:
            return 0
        if units > self.rate.burst:
            return None
        lacking = units * self.rate.period - self._level(now)
        return max(0, -(-lacking // self.rate.units))

    def spent(self, units: int, now: int) -> "Stripe":
        """The stripe after so many starts; what the rate saved up meanwhile is counted."""
        if self.rate is None:
            return self
        return replace(self, level=self._level(now) - units * self.rate.period, level_time=max(now, self.level_time))


def new_stripe(resource: Resource, key: str, number: int, now: int) -> Stripe:
    """A stripe that nobody has used."""
    rate = resource.rate if number == 0 else None
    level = rate.burst * rate.period if rate is not None else 0
    return Stripe(resource.namespace, resource.name, key, number, resource.revision, resource.share(number), rate, level, now)


def adopt(stripe: Stripe, resource: Resource, now: int) -> Stripe:
    """The stripe under a newer word of its resource. What its rate has saved up stays, as far as the new one allows. It revokes nothing."""
    if stripe.resource_revision >= resource.revision:
        return stripe
    rate = resource.rate if stripe.number == 0 else None
    saved = stripe.saved(now) if stripe.rate is not None else PLENTY
    level = min(saved, rate.burst) * rate.period if rate is not None else 0
    return replace(
        stripe, resource_revision=resource.revision, capacity=resource.share(stripe.number), rate=rate, level=level, level_time=now
    )


class Want(Struct, frozen=True):
    """Somebody wants `holder.units` of the capacity and `starts` of the rate. `since`: ready time of the step, its place in the line."""

    holder: Holder
    starts: int
    since: int


class Work(Struct, frozen=True):
    """All that one server wants of one stripe in one update.

    `releases` are nonces whose claims are gone for sure. `frees` are (nonce, revision) that an audit found: only if still of that revision.
    `stamps`: holders whose workflow moved on before their claim was written, with their new revision.
    """

    server: str
    now: int
    unshifted: int  # by which words of waiters are judged
    releases: frozenset[str] = frozenset()
    frees: frozenset[tuple[str, int]] = frozenset()
    stamps: tuple[tuple[str, int], ...] = ()
    wants: tuple[Want, ...] = ()
    may_grant: bool = True  # False: other stripes of the resource still drain


class Done(Struct, frozen=True):
    """The stripe after it, and which nonces hold units now: of the wants, and of those to be stamped."""

    stripe: Stripe
    granted: frozenset[str]
    stamped: frozenset[str]


def perform(stripe: Stripe, work: Work) -> Done:
    """Do it all: give back, then stamp, then take, oldest first. What is held already is granted again, so a repeat is harmless."""
    holders = stripe.holders
    if work.releases or work.frees:
        holders = tuple(
            [holder for holder in holders if holder.nonce not in work.releases and (holder.nonce, holder.revision) not in work.frees]
        )
    stamped: set[str] = set()
    if work.stamps:
        revisions = dict(work.stamps)
        stamped = {holder.nonce for holder in holders if holder.nonce in revisions}
        holders = tuple([replace(holder, revision=revisions.get(holder.nonce, holder.revision)) for holder in holders])
    if holders != stripe.holders:
        stripe = replace(stripe, holders=holders)
    stripe, granted = _grant(stripe, work)
    return Done(stripe, granted, frozenset(stamped))


def others_waiting(stripe: Stripe, server: str, unshifted: int) -> list[Waiting]:
    """What other servers have said lately of their waiters."""
    return [found for found in stripe.waiting if found.server != server and unshifted - found.time <= limits.WAITING_FRESH_FOR]


def entitled(others: Sequence[Waiting], since: int) -> int:
    """The units that waiters of other servers go first with before one that is READY since `since`, ms."""
    return sum([found.units for found in others if found.oldest < since])


def speak(stripe: Stripe, server: str, word: Waiting | None, unshifted: int) -> Stripe:
    """The stripe with what a server says of its waiters now; words that nobody renewed for long go."""
    kept = [found for found in stripe.waiting if found.server != server and unshifted - found.time <= limits.WAITING_KEPT_FOR]
    waiting = tuple(kept) if word is None else (*kept, word)
    return stripe if waiting == stripe.waiting else replace(stripe, waiting=waiting)


def _grant(stripe: Stripe, work: Work) -> tuple[Stripe, frozenset[str]]:
    others = others_waiting(stripe, work.server, work.unshifted)
    room, saved = stripe.room, stripe.saved(work.now)
    taken: list[Holder] = []
    granted: set[str] = set()
    starts = 0
    for want in sorted(work.wants, key=lambda want: want.since):
        if want.holder.nonce in stripe.by_nonce:
            granted.add(want.holder.nonce)
            continue
        if not _is_possible(stripe, want):
            continue  # it waits for a change of the resource, and keeps nobody up
        before = entitled(others, want.since)
        if not work.may_grant or want.holder.units > room - before or want.starts > saved - starts - before:
            break  # nobody overtakes
        granted.add(want.holder.nonce)
        starts += want.starts
        if stripe.capacity is not None and want.holder.units:
            taken.append(want.holder)
            room -= want.holder.units
    if taken:
        stripe = replace(stripe, holders=(*stripe.holders, *taken))
    return (stripe.spent(starts, work.now) if starts else stripe), frozenset(granted)


def _is_possible(stripe: Stripe, want: Want) -> bool:
    if stripe.capacity is not None and want.holder.units > stripe.capacity:
        return False
    return stripe.rate is None or want.starts <= stripe.rate.burst
