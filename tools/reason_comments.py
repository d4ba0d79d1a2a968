"""Writes what each ErrorReason means, from the proto's comments, beside the constants of Go, Java and Python.

python -m tools.reason_comments            write them
python -m tools.reason_comments --check    fail if one is stale

TypeScript takes its reasons from the generated enum.
"""

import re
import sys
import textwrap
from collections.abc import Callable, Mapping
from typing import Final

from tools.reference import ROOT, reason_comments

WIDTH: Final = 120
LONG_WIDTH: Final = 140


def go(constant: str, about: str) -> str:
    """The comment above a Go constant."""
    lines = textwrap.wrap(f"{constant}: {about}", WIDTH - 4, break_long_words=False, break_on_hyphens=False)
    return "".join(f"\t// {line}\n" for line in lines)


def java(_constant: str, about: str) -> str:
    """The comment above a Java constant."""
    one = f"    /** {about} */\n"
    if len(one) <= LONG_WIDTH:
        return one
    lines = textwrap.wrap(about, WIDTH - 7, break_long_words=False, break_on_hyphens=False)
    return "    /**\n" + "".join(f"     * {line}\n" for line in lines) + "     */\n"


def python(_constant: str, about: str) -> str:
    """The docstring below a member of the Python enum."""
    one = f'    """{about}"""\n'
    if len(one) <= LONG_WIDTH:
        return one
    lines = textwrap.wrap(f'"""{about}', LONG_WIDTH - 4, break_long_words=False, break_on_hyphens=False)
    return "".join(f"    {line}\n" for line in lines) + '    """\n'


Write = Callable[[str, str], str]
# The comment stands between `before` and `after`.
FILES: Final[Mapping[str, tuple[Write, re.Pattern[str]]]] = {
    "clients/go/reasons.go": (
        go,
        re.compile(r'(?P<before>)(?:\t// .*\n)+(?P<after>\t(?P<constant>Reason\w+) Reason = "(?P<name>[A-Z_]+)"\n)'),
    ),
    "clients/java/src/main/java/io/perdure/ErrorReason.java": (
        java,
        re.compile(
            r"(?P<before>)    /\*\*(?:(?!\*/)[\s\S])*\*/\n"
            r'(?P<after>    public static final String (?P<constant>[A-Z_]+) = "(?P<name>[A-Z_]+)";\n)'
        ),
    ),
    "clients/python/perdure/reasons.py": (
        python,
        re.compile(r'(?P<before>    (?P<constant>[A-Z_]+) = "(?P<name>[A-Z_]+)".*\n)    """(?:(?!""")[\s\S])*"""\n(?P<after>)'),
    ),
}


def fresh(text: str, write: Write, pattern: re.Pattern[str]) -> str:
    """The file with the comments of the proto."""
    comments = {name: about for name, about in reason_comments().items() if name != "UNSPECIFIED"}
    missing = comments.keys() - {found["name"] for found in pattern.finditer(text)}
    assert not missing, f"no constant or no comment: {', '.join(sorted(missing))}"
    return pattern.sub(lambda found: found["before"] + write(found["constant"], comments[found["name"]]) + found["after"], text)


def main() -> int:
    """Returns the exit code."""
    stale: list[str] = []
    for name, (write, pattern) in FILES.items():
        path = ROOT / name
        text = path.read_text(encoding="utf-8")
        made = fresh(text, write, pattern)
        if made != text:
            stale.append(name)
            if "--check" not in sys.argv:
                path.write_text(made, encoding="utf-8")
    if stale and "--check" in sys.argv:
        print(f"stale: run `python -m tools.reason_comments`: {', '.join(stale)}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
