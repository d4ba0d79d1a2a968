"""Exit codes of `perdure`: the one table that `--help` and docs/cli.md print."""

from collections.abc import Mapping
from typing import Final

EXITS: Final[Mapping[int, str]] = {
    0: "done",
    1: "the workflow did not complete (`result`, `watch`, `start --wait`); `doctor` or `--check` found something; a question got a no",
    2: "wrong usage",
    3: "no server was reached, there was no answer in time, or it has too much to do: try again later",
    4: "refused: a value is wrong, or it is not possible in this state",
    5: "there is no such workflow, definition, schedule, ...",
    6: "no or wrong credentials, or a role is missing",
    70: "a bug of the server's or of this command",
    130: "interrupted by Ctrl-C",
}


def exit_lines() -> str:
    """The table as `--help` shows it."""
    return "\n".join(f"{code:>4}  {meaning}" for code, meaning in EXITS.items())
