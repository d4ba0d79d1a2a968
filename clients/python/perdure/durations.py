"""Durations as people write them: `500ms`, `30s`, `1h30m`, `3d`."""

import re
from datetime import timedelta
from typing import Final

_UNITS: Final = {
    "ms": timedelta(milliseconds=1),
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w)")


def parse_duration(text: str) -> timedelta:
    """The duration. Raises ValueError that says how to write one."""
    compact = text.replace(" ", "")
    parts = _PART.findall(compact)
    if not parts or "".join(number + unit for number, unit in parts) != compact:
        raise ValueError(f"{text!r} is no duration: write a number and a unit (ms, s, m, h, d, w), such as 30s, 1h30m or 3d")
    try:
        return sum((float(number) * _UNITS[unit] for number, unit in parts), timedelta())
    except OverflowError:
        raise ValueError(f"{text!r} is too long") from None


def format_duration(duration: timedelta) -> str:
    """The shortest such text, which parses back to the same duration (to the millisecond)."""
    rest = round(duration / _UNITS["ms"])
    if rest == 0:
        return "0s"
    parts: list[str] = []
    for unit in ("d", "h", "m", "s", "ms"):
        size = _UNITS[unit] // _UNITS["ms"]
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts)
