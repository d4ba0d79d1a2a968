"""Step names that Python or Java cannot say.

A step's name is the name of a parameter in Python, and of a parameter or member in Java. Go says it with a capital, TypeScript as a key,
where every word will do, so their own words (`map`, `select`, `export`) stay free.
"""

from typing import Final

from perdure_server.kernel.definition import Definition

_PYTHON: Final = """
    and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or
    pass raise return try while with yield
"""
_JAVA: Final = """
    abstract assert boolean break byte case catch char class const continue default do double else enum extends false final finally float
    for goto if implements import instanceof int interface long native new null package private protected public return short static
    strictfp super switch synchronized this throw throws transient true try void volatile while
"""

PYTHON: Final = frozenset(_PYTHON.split())
JAVA: Final = frozenset(_JAVA.split())


def reserved_names(definition: Definition) -> list[tuple[str, str]]:
    """A violation (field path, text) for each step whose name is such a word."""
    return [
        (f"definition.steps[{index}].name", f"{step.name!r} is a reserved word of {_languages(step.name)}, which must write it as it is")
        for index, step in enumerate(definition.steps)
        if step.name in PYTHON or step.name in JAVA
    ]


def _languages(name: str) -> str:
    return " and ".join(language for language, words in (("Python", PYTHON), ("Java", JAVA)) if name in words)
