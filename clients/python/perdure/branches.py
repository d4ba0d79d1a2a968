"""Branches: a step chooses which of its declared ways the workflow goes."""

from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Branch:
    """A declared way to go on after a step: `after=decide.branch("approve")` puts a step on it."""

    step: str
    """The step that chooses."""
    name: str
    """What it answers with, by Chosen or by a condition's `choose`."""


@dataclass(frozen=True, slots=True)
class Chosen(Generic[T]):
    """Return it from a step with branches: those that are taken, and the step's output. Steps on the others are SKIPPED."""

    branches: str | tuple[str, ...]
    """One name or several."""
    output: T = field(default=None)  # type: ignore[assignment]  # without an output T is None
    """What dependants get."""
