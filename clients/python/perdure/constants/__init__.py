"""Constants of a definition as source code, for programs that name its steps: `perdure definitions generate`."""

from collections.abc import Callable, Mapping
from typing import Final

from perdure.constants import go, java, python, typescript
from perdure.constants.facts import Facts, Group, Named, facts_of

LANGUAGES: Final[Mapping[str, Callable[[Facts], str]]] = {
    "python": python.source,
    "go": go.source,
    "typescript": typescript.source,
    "java": java.source,
}
"""How each language writes them. A new language is one more function."""

__all__ = ["LANGUAGES", "Facts", "Group", "Named", "facts_of"]
