"""Step names are written as they are in Python and Java, so their reserved words are none."""

import keyword

from perdure_server.kernel.definition import Definition
from perdure_server.kernel.reserved import JAVA, PYTHON, reserved_names
from tests.kernel.harness import activity


def test_the_words_are_those_of_the_languages() -> None:
    assert {word for word in keyword.kwlist if word.islower()} == PYTHON
    assert len(JAVA) == 53, "Java 17 has 50 keywords without the underscore, and three literals"
    assert not [word for word in PYTHON | JAVA if not word.isidentifier() or not word.islower()]


def test_each_is_named_with_its_languages() -> None:
    names = ("class", "lambda", "package", "map", "select", "export", "class_of", "notify")
    steps = tuple(activity(name) for name in names)
    assert reserved_names(Definition("default", "note", steps)) == [
        ("definition.steps[0].name", "'class' is a reserved word of Python and Java, which must write it as it is"),
        ("definition.steps[1].name", "'lambda' is a reserved word of Python, which must write it as it is"),
        ("definition.steps[2].name", "'package' is a reserved word of Java, which must write it as it is"),
    ]
