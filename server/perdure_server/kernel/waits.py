"""Durable waits: what is open, and which stored signals satisfy it."""

from perdure_server.kernel import limits
from perdure_server.kernel.values import Wait
from perdure_server.kernel.workflow import OpenCondition, Signal


def open_conditions(wait: Wait, now: int) -> tuple[OpenCondition, ...]:
    """The wait's conditions with absolute times; never sooner than limits.MIN_WAKE_DELAY after `now`, so that a past time is no hot loop."""
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


def matching_signals(inbox: tuple[Signal, ...], condition: OpenCondition) -> tuple[Signal, ...]:
    """The oldest `count` signals of the condition's name, or nothing if there are fewer."""
    if not condition.signal:
        return ()
    found = [signal for signal in inbox if signal.name == condition.signal][: condition.count]
    return tuple(found) if len(found) == condition.count else ()


def consume(inbox: tuple[Signal, ...], used: tuple[Signal, ...]) -> tuple[Signal, ...]:
    """The inbox without the used ones."""
    used_ids = {signal.signal_id for signal in used}
    return tuple(signal for signal in inbox if signal.signal_id not in used_ids)
