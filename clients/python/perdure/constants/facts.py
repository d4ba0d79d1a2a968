"""What the constants of a definition are, before any language writes them."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from perdure.answers import RegisteredDefinition
from perdure.v1 import definition_pb2

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Za-z][a-z0-9]*|[0-9]+")


@dataclass(frozen=True, slots=True)
class Named:
    """One constant of a group."""

    words: tuple[str, ...]
    """Its name in lower-case ASCII words; unlike those of the others in its group, and never beginning with a digit."""
    value: str
    about: str = ""
    """For people; one line. Empty: nothing to say."""


@dataclass(frozen=True, slots=True)
class Group:
    """Constants of one kind."""

    noun: str
    """One of them, in lower case: `step`."""
    about: str
    """What they are."""
    constants: tuple[Named, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """All that is written down."""

    source: str
    """Name of the definition's file."""
    package: str
    """Package or class that the constants go into, where the language has such; see the command's options."""
    workflow_type: str
    version: str
    fingerprint: str
    groups: tuple[Group, ...]
    """Steps, signals, branches, failure types; those that are empty are left out."""
    contracts: tuple[Named, ...]
    """Step contracts, named like the steps: of all that a worker serves."""


def facts_of(checked: RegisteredDefinition, source: str, package: str = "") -> Facts:
    """The facts of a definition that the server has seen: fingerprint and contracts are its word."""
    definition = checked.message.definition
    steps = _named("step", {step.name: _line(step.description) for step in definition.steps})
    groups = (
        Group("step", "Names of the steps.", steps),
        Group("signal", "Names of the signals that its waits are for.", _named("signal", dict.fromkeys(_signals(definition), ""))),
        Group("branch", "Branches that steps choose.", _named("branch", dict.fromkeys(_branches(definition), ""))),
        Group("failure", "Types of failures that are not tried again.", _named("failure", dict.fromkeys(_failures(definition), ""))),
    )
    contracts = tuple(Named(step.words, checked.step_contracts[step.value]) for step in steps if step.value in checked.step_contracts)
    return Facts(
        source,
        package,
        checked.workflow_type,
        checked.version,
        checked.fingerprint,
        tuple(group for group in groups if group.constants),
        contracts,
    )


def words_of(text: str) -> tuple[str, ...]:
    """The ASCII words of a name, in lower case: `asr.done`, `asr_done` and `asrDone` are (asr, done)."""
    return tuple(word.lower() for word in _WORD.findall(text))


def capitals(words: Iterable[str]) -> str:
    """AsrDone"""
    return "".join(word.capitalize() for word in words)


def camel(words: tuple[str, ...]) -> str:
    """AsrDone"""
    return words[0] + capitals(words[1:])


def upper(words: Iterable[str]) -> str:
    """ASR_DONE"""
    return "_".join(words).upper()


def _named(noun: str, values: Mapping[str, str]) -> tuple[Named, ...]:
    found: dict[str, Named] = {}
    for value, about in values.items():
        words = words_of(value)
        if not words or words[0][0].isdigit():
            words = (noun, *words)
        number = 2
        plain = words
        # Joined without anything between, so that they differ in every language: `a_bc` and `ab_c` are both `abc` in some.
        while "".join(words) in found:
            words = (*plain, str(number))
            number += 1
        found["".join(words)] = Named(words, value, about)
    return tuple(found.values())


def _signals(definition: definition_pb2.Definition) -> list[str]:
    return [
        condition.signal.signal_name
        for step in definition.steps
        if step.HasField("wait")
        for condition in step.wait.wait.any_of
        if condition.HasField("signal")
    ]


def _branches(definition: definition_pb2.Definition) -> list[str]:
    return [branch.name for step in definition.steps for branch in step.branches]


def _failures(definition: definition_pb2.Definition) -> list[str]:
    return [failure for step in definition.steps for failure in step.policy.retry.non_retryable_types]


def _line(text: str) -> str:
    return text.strip().partition("\n")[0].strip()
