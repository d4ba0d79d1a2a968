"""Draws docs/states.md from the kernel's table of transitions. `--check` writes nothing and fails if the file is stale."""

import sys
from collections.abc import Iterable, Mapping
from enum import Enum, IntEnum
from pathlib import Path
from typing import Final, TypeVar

from perdure_server.kernel.transitions import STEP_TRANSITIONS, WORKFLOW_TRANSITIONS, StepEvent, WorkflowEvent
from perdure_server.kernel.workflow import ENDED, STEP_ENDS

TARGET: Final = Path(__file__).parent.parent / "docs" / "states.md"

State = TypeVar("State", bound=IntEnum)
Event = TypeVar("Event", bound=Enum)

HEAD: Final = """<!-- Made by `python tools/states.py` from server/perdure_server/kernel/transitions.py; do not edit. -->

# States of workflows and steps

The rules are pure functions, and every change of a state goes through one table. What is not in it raises `IllegalTransition`, which is
a bug of ours and never an answer to a caller. tests/kernel/test_transitions.py makes every row happen and refuses every other pair.
"""


def document() -> str:
    """The whole file."""
    workflows = _section("Workflow", WORKFLOW_TRANSITIONS, WorkflowEvent, ENDED)
    steps = _section("Step", STEP_TRANSITIONS, StepEvent, STEP_ENDS)
    return HEAD + workflows + steps


def _section(title: str, table: Mapping[tuple[State, Event], frozenset[State]], events: type[Event], ends: frozenset[State]) -> str:
    rows = [(state, event, target) for (state, event), targets in table.items() for target in sorted(targets)]
    first = rows[0][0]
    reached = {first} | {target for _, _, target in rows}
    arrows: dict[tuple[State, State], list[str]] = {}
    for state, event, target in rows:
        arrows.setdefault((state, target), []).append(event.name.lower())
    lines = [f"\n## {title}\n", "```mermaid", "stateDiagram-v2", f"    [*] --> {first.name}"]
    lines += [f"    {state.name} --> {target.name}: {', '.join(names)}" for (state, target), names in arrows.items()]
    lines += [f"    {state.name} --> [*]" for state in sorted(ends)]
    lines += ["```\n", "| in state | on event | goes to |", "| --- | --- | --- |"]
    lines += [f"| {state.name} | {event.name} | {_names(targets)} |" for (state, event), targets in table.items()]
    lines += ["\n| event | meaning |", "| --- | --- |"]
    lines += [f"| {event.name} | {event.value} |" for event in events]
    assert reached == set(type(first)), "a state that no row leads to"
    return "\n".join(lines) + "\n"


def _names(states: Iterable[IntEnum]) -> str:
    return ", ".join(state.name for state in sorted(states))


def main() -> int:
    """Writes the file, or with `--check` compares it; 1 if it is stale."""
    made = document()
    fresh = TARGET.exists() and TARGET.read_text() == made
    if "--check" in sys.argv[1:]:
        print(f"{TARGET.name}: {'fresh' if fresh else 'stale; run `python tools/states.py`'}")
        return 0 if fresh else 1
    if not fresh:
        TARGET.parent.mkdir(exist_ok=True)
        TARGET.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
