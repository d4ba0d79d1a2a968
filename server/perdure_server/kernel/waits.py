"""Durable waits: what is open, and which stored signals satisfy it."""

from itertools import islice

from perdure_server.kernel import limits
from perdure_server.kernel.values import Wait
from perdure_server.kernel.workflow import OpenCondition, Signal


def open_conditions(wait: Wait, now: int) -> tuple[OpenCondition, ...]:
    """The wait's conditions with absolute times.

    A time is never sooner than limits.MIN_WAKE_DELAY after `now`, so that a wait in the past is no hot loop.
    """
    earliest = now + limits.MIN_WAKE_DELAY
    opened = []
    for condition in wait.any_of:
        due = condition.at
        if condition.after is not None:
            due = min(now + condition.after, limits.TIME)
        opened.append(
            OpenCondition(condition.name, condition.signal, max(1, condition.count), max(due, earliest) if due is not None else None)
        )
    return tuple(opened)


def first_to_hold(inbox: tuple[Signal, ...], wait: tuple[OpenCondition, ...]) -> tuple[OpenCondition, tuple[Signal, ...]] | None:
    """The condition whose last needed signal came first, with the oldest signals that satisfy it; None if none holds."""
    chosen = None
    earliest = len(inbox)
    for condition in wait:
        places = _places(inbox, condition)
        if places and places[-1] < earliest:
            earliest = places[-1]
            chosen = condition, tuple(inbox[place] for place in places)
    return chosen


def _places(inbox: tuple[Signal, ...], condition: OpenCondition) -> list[int]:
    if not condition.signal:
        return []
    named = (place for place, signal in enumerate(inbox) if signal.name == condition.signal)
    places = list(islice(named, condition.count))
    return places if len(places) == condition.count else []


def consume(inbox: tuple[Signal, ...], used: tuple[Signal, ...]) -> tuple[Signal, ...]:
    """The inbox without the used ones."""
    used_ids = {signal.signal_id for signal in used}
    return tuple(signal for signal in inbox if signal.signal_id not in used_ids)
