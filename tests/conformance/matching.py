"""What an answer must be like: parts of objects, whole lists, and a few words for the rest; and the variables of a case."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

VARIABLE: Final = re.compile(r"\$\{([a-z_0-9.]+)\}")

ABSENT: Final = {"$absent": True}


class Missing(LookupError):
    """There is no such variable."""


def differences(expected: object, found: object, path: str = "") -> list[str]:
    """Where `found` is not like `expected`; empty: it is."""
    word = _word(expected)
    if word is not None:
        name, argument = word
        return [] if _WORDS[name](argument, found) else [f"{path or 'it'}: not {name} {argument!r}: {found!r}"]
    if isinstance(expected, dict):
        return _object_differences(expected, found, path)
    if isinstance(expected, list):
        if not isinstance(found, list) or len(found) != len(expected):
            return [f"{path or 'it'}: wanted {len(expected)} items: {found!r}"]
        return [text for index, item in enumerate(expected) for text in differences(item, found[index], f"{path}[{index}]")]
    return [] if same(expected, found) else [f"{path or 'it'}: wanted {expected!r}, found {found!r}"]


def same(one: object, other: object) -> bool:
    """Equal as JSON: true is not 1, while 1 and 1.0 are the same number."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[name]) for name, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(left, right) for left, right in zip(one, other, strict=True))
    return type(one) is type(other) and one == other if isinstance(one, str) or isinstance(other, str) else one == other


def filled(value: object, lookup: Callable[[str], object]) -> Any:
    """The value with its variables and its `$repeat`s in place, without what is `$absent`."""
    if isinstance(value, str):
        whole = VARIABLE.fullmatch(value)
        return lookup(whole[1]) if whole else VARIABLE.sub(lambda found: str(lookup(found[1])), value)
    if isinstance(value, list):
        return [filled(item, lookup) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"$absent"}:
        return value
    if value.keys() == {"$repeat", "times"}:
        return filled(value["$repeat"], lookup) * value["times"]
    return {name: filled(item, lookup) for name, item in value.items() if item != ABSENT}


def expected(value: object, lookup: Callable[[str], object]) -> Any:
    """As `filled`, but what is `$absent` stays, as it says what must not be there."""
    if isinstance(value, dict) and value.keys() not in ({"$repeat", "times"}, {"$absent"}):
        return {name: expected(item, lookup) for name, item in value.items()}
    if isinstance(value, list):
        return [expected(item, lookup) for item in value]
    return filled(value, lookup)


def at(path: str, found: object) -> object:
    """The part of an answer: `workflow.steps.read.state`, `attempts.0.step`. Raises Missing."""
    for name in path.split(".") if path else ():
        if isinstance(found, list) and name.isdigit() and int(name) < len(found):
            found = found[int(name)]
        elif isinstance(found, Mapping) and name in found:
            found = found[name]
        else:
            raise Missing(f"there is no {path} in {found!r}")
    return found


def _word(expected: object) -> tuple[str, object] | None:
    if isinstance(expected, dict) and len(expected) == 1:
        ((name, argument),) = expected.items()
        if name in _WORDS:
            return name, argument
    return None


def _object_differences(expected: dict[str, object], found: object, path: str) -> list[str]:
    if not isinstance(found, dict):
        return [f"{path or 'it'}: wanted an object: {found!r}"]
    told: list[str] = []
    for name, item in expected.items():
        place = f"{path}.{name}" if path else name
        if item == ABSENT:
            told += [f"{place}: must be absent, is {found[name]!r}"] if name in found else []
        elif name not in found:
            told.append(f"{place}: is missing")
        else:
            told += differences(item, found[name], place)
    return told


def _has(wanted: object, found: object) -> bool:
    items = wanted if isinstance(wanted, list) else [wanted]
    return isinstance(found, list) and all(any(not differences(item, one) for one in found) for item in items)


def _matches(pattern: object, found: object) -> bool:
    return isinstance(found, str) and re.search(str(pattern), found) is not None


_WORDS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "$any": lambda _, found: found is not None,
    "$exactly": same,
    "$not": lambda unwanted, found: bool(differences(unwanted, found)),
    "$matches": _matches,
    "$has": _has,
    "$size": lambda size, found: len(found) == size,
    "$least": lambda least, found: not isinstance(found, bool) and found >= least,
    "$one_of": lambda allowed, found: any(not differences(item, found) for item in allowed),
}
"""Words that stand as the single key of an object in `ok`, `error`, `like` and `where`."""
