"""Options and the stage of the conformance suite."""

import os
import sys
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.conformance import driver
from tests.conformance.scenery import Scenery
from tests.conformance.stage import Stage
from tests.conftest import RunningServer

VARIABLES = {"PERDURE_TEST_PYTHON": sys.executable}
IS_CI = os.environ.get("CI") == "true"  # noqa: TID251 -- the tests' own setting


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--language", action="append", default=[], help="Only the drivers of these languages.")


def wanted_languages(config: pytest.Config) -> list[str]:
    """Those that were asked for; else all that have a driver."""
    asked: list[str] = config.getoption("language", [])
    return asked or driver.languages()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "language" in metafunc.fixturenames:
        metafunc.parametrize("language", wanted_languages(metafunc.config), scope="session")


@pytest.fixture(scope="session")
def missing(pytestconfig: pytest.Config) -> dict[str, str]:
    """What each language lacks, those too that were not asked for, as they may be peers; empty: nothing."""
    languages = {*wanted_languages(pytestconfig), *driver.languages()}
    return {language: driver.missing(language, VARIABLES) for language in sorted(languages)}


@pytest.fixture(scope="session")
def stage(
    store_process: RunningServer, redis_process: RunningServer, missing: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stage]:
    """Servers and drivers of this session."""
    scenery = Scenery(store_process.url, redis_process.url, tmp_path_factory.mktemp("conformance"))
    made = Stage(scenery, [language for language, lacks in missing.items() if not lacks], VARIABLES)
    yield made
    assert not made.close()


@pytest.fixture
def ready(language: str, missing: dict[str, str]) -> str:
    """The language, if its driver can be started; otherwise the test is skipped, and fails in CI."""
    lacks = missing[language]
    if lacks and IS_CI:
        pytest.fail(f"CI=true, but the {language} driver is not ready: {lacks}")
    if lacks:
        pytest.skip(f"{language}: {lacks}")
    return language


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    counts: Counter[tuple[str, str]] = Counter()
    for outcome in ("passed", "failed", "skipped"):
        for report in terminalreporter.stats.get(outcome, []):
            properties = dict(getattr(report, "user_properties", []))
            if "language" in properties and (report.when == "call" or outcome == "skipped"):
                counts[str(properties["language"]), outcome] += 1
    for language in sorted({language for language, _ in counts}):
        told = ", ".join(f"{number} {outcome}" for (found, outcome), number in counts.items() if found == language)
        terminalreporter.write_line(f"conformance, {language}: {told}")
