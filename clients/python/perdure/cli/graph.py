"""The order of a workflow's steps as a tree that fits into lines: each step below the step that all ways to it lead through."""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """Where a step stands."""

    name: str
    guide: str
    """What is drawn before its name."""
    joins: tuple[str, ...]
    """What it waits for, where the tree does not say it already."""


def places_of(needs: Mapping[str, Sequence[str]]) -> list[Place]:
    """Places of all steps, given what each depends on, in the definition's order. An only child is not indented."""
    order = _ordered(needs)
    parents = _dominators(order, needs)
    children: dict[str, list[str]] = {}
    for name in order:
        children.setdefault(parents[name], []).append(name)
    found: list[Place] = []
    # A stack instead of recursion: a chain may be a thousand steps long.
    stack = [(name, "", "") for name in reversed(children.get("", []))]
    while stack:
        name, guide, below = stack.pop()
        own = parents[name]
        others = tuple(need for need in needs[name] if need != own)
        found.append(Place(name, guide, others or ()))
        following = children.get(name, [])
        if len(following) == 1:
            stack.append((following[0], below, below))
            continue
        for place, child in reversed(list(enumerate(following))):
            last = place == len(following) - 1
            stack.append((child, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  ")))
    return found


def _ordered(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """Every step after what it depends on; otherwise as given. What is in a cycle (there is none) stands last."""
    numbers = {name: number for number, name in enumerate(needs)}
    missing = {name: sum(need in numbers for need in needs[name]) for name in needs}
    users: dict[str, list[str]] = {}
    for name, own in needs.items():
        for need in own:
            users.setdefault(need, []).append(name)
    ready = [numbers[name] for name, count in missing.items() if not count]
    names = list(needs)
    done: list[str] = []
    while ready:
        name = names[heapq.heappop(ready)]
        done.append(name)
        for user in users.get(name, ()):
            missing[user] -= 1
            if not missing[user]:
                heapq.heappush(ready, numbers[user])
    return done + [name for name in names if missing[name] > 0]


def _dominators(order: Sequence[str], needs: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """For each step the nearest one that all ways to it lead through; empty: none."""
    parents: dict[str, str] = {}
    depths: dict[str, int] = {"": 0}
    for name in order:
        known = [need for need in needs[name] if need in depths]
        found = known[0] if known else ""
        for need in known[1:]:
            found = _common(found, need, parents, depths)
        parents[name] = found
        depths[name] = depths[found] + 1
    return parents


def _common(one: str, other: str, parents: Mapping[str, str], depths: Mapping[str, int]) -> str:
    while one != other:
        if depths[one] >= depths[other]:
            one = parents[one]
        else:
            other = parents[other]
    return one
