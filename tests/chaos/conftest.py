"""One scene for the tests of a module; each test has its own workflow type and workers in it."""

import sys
from collections.abc import Callable, Iterator

import pytest

from tests.chaos.scene import Scene

Report = Callable[[str], None]


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """A store, a Redis and two servers of this module, to be killed at will."""
    made = Scene(tmp_path_factory.mktemp("scene"))
    try:
        made.open()
        yield made
    finally:
        made.close()


@pytest.fixture
def report(capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest) -> Report:
    """Shows a line even if the test passes: the numbers are the result."""

    def show(line: str) -> None:
        with capsys.disabled():
            sys.stdout.write(f"\n{request.node.name}: {line}\n")

    return show
