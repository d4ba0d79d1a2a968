"""The one rule by which units are taken and given back."""

import random

import pytest
from msgspec.structs import replace

from perdure_server.kernel import limits
from perdure_server.kernel.resources import Holder, Rate, Resource, Stripe, Waiting, Want, Work, adopt, new_stripe, perform, speak
from tests.kernel.harness import T0

ME, OTHER = "server-1", "server-2"


def resource(capacity: int | None = 3, rate: Rate | None = None, revision: int = 1) -> Resource:
    return Resource("default", "llm", capacity, rate, revision=revision)


def stripe(capacity: int | None = 3, rate: Rate | None = None) -> Stripe:
    return new_stripe(resource(capacity, rate), "", 0, T0)


def want(name: str, since: int = T0, units: int = 1) -> Want:
    return Want(Holder(name, "run", 1, units, T0, "note", name, 1, "a", 1), units, since)


def take(found: Stripe, *wants: Want, now: int = T0, **fields: object) -> tuple[Stripe, frozenset[str]]:
    done = perform(found, Work(ME, now, now, wants=wants, **fields))  # type: ignore[arg-type]  # fields of Work
    return done.stripe, done.granted


def give(found: Stripe, *names: str) -> Stripe:
    return perform(found, Work(ME, T0, T0, releases=frozenset(names))).stripe


class TestCapacity:
    def test_never_above(self) -> None:
        held, granted = take(stripe(), *(want(f"{number}", T0 + number) for number in range(5)))
        assert granted == {"0", "1", "2"}
        assert (held.in_use, held.room) == (3, 0)
        held, granted = take(give(held, "1", "nobody"), want("3", T0 + 3), want("4", T0 + 4))
        assert granted == {"3"}
        assert set(held.by_nonce) == {"0", "2", "3"}

    def test_a_repeat_takes_nothing_more(self) -> None:
        held, _ = take(stripe(), want("a"))
        again, granted = take(held, want("a"))
        assert granted == {"a"}
        assert again is held

    def test_nobody_overtakes_one_that_needs_more(self) -> None:
        held, _ = take(stripe(), want("a", units=2))
        same, granted = take(held, want("large", T0 + 1, units=2), want("small", T0 + 2))
        assert granted == set()
        assert same.in_use == 2

    def test_what_can_never_be_keeps_nobody_up(self) -> None:
        _, granted = take(stripe(), want("too large", T0, units=4), want("small", T0 + 1))
        assert granted == {"small"}

    def test_none_at_all(self) -> None:
        assert take(stripe(0), want("a"))[1] == set()

    def test_without_capacity_nobody_is_kept(self) -> None:
        held, granted = take(stripe(None), want("a", units=900))
        assert granted == {"a"}
        assert held.holders == ()

    def test_lowering_drains_and_raising_acts(self) -> None:
        held, _ = take(stripe(), want("a"), want("b"), want("c"))
        lowered = adopt(held, resource(1, revision=2), T0)
        assert (lowered.room, lowered.in_use) == (-2, 3)
        assert take(give(lowered, "a", "b"), want("d"))[1] == set()
        assert take(give(lowered, "a", "b", "c"), want("d"))[1] == {"d"}
        assert take(adopt(held, resource(4, revision=2), T0), want("d"))[1] == {"d"}
        assert adopt(lowered, resource(9, revision=1), T0) is lowered, "an older word"

    def test_others_that_drain_hold_it_up(self) -> None:
        assert take(stripe(), want("a"), may_grant=False)[1] == set()


class TestShares:
    @pytest.mark.parametrize("capacity", [0, 1, 255, 256, 257, 512, 513, 1_000, 100_000])
    def test_they_are_the_capacity(self, capacity: int) -> None:
        found = resource(capacity)
        shares = [found.share(number) or 0 for number in range(found.stripes + 2)]
        assert sum(shares) == capacity
        assert max(shares) <= limits.STRIPE_UNITS
        assert max(shares[: found.stripes]) - min(shares[: found.stripes]) <= 1

    def test_of_a_rate_alone(self) -> None:
        found = resource(None, Rate(1, 1, 1))
        assert (found.stripes, found.share(0), found.share(1)) == (1, None, 0)
        assert new_stripe(resource(1_000, Rate(1, 1, 1)), "", 1, T0).rate is None, "starts are counted in one place"


class TestRate:
    RATE = Rate(10, 1_000, 2)

    def test_burst_then_period(self) -> None:
        found, granted = take(stripe(None, self.RATE), want("a"), want("b"), want("c"))
        assert granted == {"a", "b"}
        assert found.refill(1, T0) == 100
        assert take(found, want("c"), now=T0 + 99)[1] == set()
        found, granted = take(found, want("c"), now=T0 + 100)
        assert granted == {"c"}
        assert found.saved(T0 + 100 + limits.DAY) == 2, "a quiet time saves up the burst, no more"

    def test_it_is_not_given_back(self) -> None:
        held, _ = take(stripe(3, self.RATE), want("a"), want("b"))
        assert take(give(held, "a", "b"), want("c"))[1] == set()

    def test_more_than_the_burst_is_never(self) -> None:
        found = stripe(None, self.RATE)
        assert found.refill(3, T0) is None
        assert take(found, want("large", units=3), want("a"))[1] == {"a"}

    @pytest.mark.parametrize("rate", [Rate(3, 1_000, 3), Rate(7, 60_000, 1), Rate(1_000, 1_000, 50)])
    def test_over_a_long_time_it_is_exact(self, rate: Rate) -> None:
        found, source, count, now = stripe(None, rate), random.Random(4), 0, T0
        while now < T0 + 20 * rate.period:
            found, granted = take(found, *(want(f"{now} {number}") for number in range(found.saved(now) + 1)), now=now)
            count += len(granted)
            now += source.randrange(1, max(2, found.refill(1, now) or 1))
        assert count <= rate.burst + rate.units * (now - T0) / rate.period
        assert count >= rate.units * 19

    def test_a_clock_behind_gives_nothing_twice(self) -> None:
        found, _ = take(stripe(None, self.RATE), want("a"), want("b"), now=T0 + 5_000)
        assert found.saved(T0) == 0
        found, granted = take(found, want("c"), now=T0)
        assert granted == set()
        assert found.saved(T0 + 5_100) == 1

    def test_a_new_rate_takes_over_what_is_saved(self) -> None:
        found, _ = take(stripe(None, self.RATE), want("a"))
        assert adopt(found, resource(None, Rate(1, 60_000, 5), revision=2), T0).saved(T0) == 1
        assert adopt(found, resource(None, None, revision=2), T0).saved(T0) > 10**6


class TestHolders:
    def test_an_audit_frees_only_what_it_saw(self) -> None:
        held, _ = take(stripe(), want("a"))
        stamped = perform(held, Work(ME, T0, T0, stamps=(("a", 5), ("gone", 5))))
        assert stamped.stamped == {"a"}
        assert stamped.stripe.by_nonce["a"].revision == 5
        assert perform(stamped.stripe, Work(ME, T0, T0, frees=frozenset({("a", 1)}))).stripe is stamped.stripe
        assert perform(stamped.stripe, Work(ME, T0, T0, frees=frozenset({("a", 5)}))).stripe.holders == ()

    def test_what_is_freed_cannot_be_stamped(self) -> None:
        held, _ = take(stripe(), want("a"))
        done = perform(held, Work(ME, T0, T0, frees=frozenset({("a", 1)}), stamps=(("a", 2),)))
        assert (done.stripe.holders, done.stamped) == ((), frozenset())


class TestTurns:
    def others(self, oldest: int, units: int = 1, time: int = T0) -> Stripe:
        return replace(stripe(), waiting=(Waiting(OTHER, oldest, 1, units, time),))

    def test_older_waiters_of_another_server_come_first(self) -> None:
        assert take(self.others(T0 - 5, units=3), want("new"))[1] == set()
        assert take(self.others(T0 - 5, units=2), want("new"))[1] == {"new"}, "there is room for all"
        assert take(self.others(T0 + 5, units=3), want("old"))[1] == {"old"}

    def test_a_server_that_is_silent_keeps_nobody_up(self) -> None:
        found = self.others(T0 - 5, units=3)
        assert take(found, want("new"), now=T0 + limits.WAITING_FRESH_FOR + 1)[1] == {"new"}

    def test_a_server_speaks_for_itself_alone(self) -> None:
        word = Waiting(ME, T0, 4, 9, T0)
        found = speak(self.others(T0), ME, word, T0)
        assert {each.server for each in found.waiting} == {ME, OTHER}
        assert speak(found, ME, word, T0) is found
        assert {each.server for each in speak(found, ME, None, T0).waiting} == {OTHER}
        assert {each.server for each in speak(found, ME, word, T0 + limits.WAITING_KEPT_FOR + 1).waiting} == {ME}
