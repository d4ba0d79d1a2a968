"""The locks agree with what asks for them, with each other, and with what the code imports. All offline."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tools.lock import APART, LOCKS, OURS, ROOT

PEERS = ROOT / "tools/bench/peers"
PYTHONS = ("3.11", "3.12", "3.13")
PIN = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>[^\s;]+)(?:\s*;\s*(?P<marker>[^\\]+))?\s*\\?$", re.MULTILINE)
# Import names that many distributions share: the one that carries it.
SHARED_NAMES = {"google.protobuf": "protobuf", "google.rpc": "googleapis-common-protos", "google.type": "googleapis-common-protos"}


def lock_text(name: str) -> str:
    return (ROOT / "requirements" / f"{name}.lock").read_text()


def pins(lock: str, python: str) -> dict[str, Version]:
    """What the lock installs on Linux with one Python."""
    found: dict[str, Version] = {}
    for match in PIN.finditer(lock_text(lock)):
        requirement = Requirement(f"{match['name']}; {match['marker']}" if match["marker"] else match["name"])
        if applies(requirement, python):
            found[canonicalize_name(match["name"])] = Version(match["version"])
    return found


def applies(requirement: Requirement, python: str, extra: str = "") -> bool:
    environment = {"python_version": python, "python_full_version": f"{python}.7", "sys_platform": "linux", "extra": extra}
    return requirement.marker is None or requirement.marker.evaluate(environment)


def asked_for(arguments: tuple[str, ...]) -> Iterator[Requirement]:
    """Requirements in the inputs of one lock, ours left out."""
    extras = [argument.removeprefix("--extra=") for argument in arguments if argument.startswith("--extra=")]
    for path in (ROOT / argument for argument in arguments if not argument.startswith("--")):
        lines = declared(path, extras) if path.suffix == ".toml" else path.read_text().splitlines()
        requirements = [Requirement(line) for line in lines if line and not line.startswith("#")]
        yield from (requirement for requirement in requirements if requirement.name not in OURS)


def declared(pyproject: Path, extras: list[str]) -> list[str]:
    project = tomllib.loads(pyproject.read_text())["project"]
    chosen = [line for extra in extras for line in project.get("optional-dependencies", {}).get(extra, [])]
    return [*project["dependencies"], *chosen]


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_has_hashes_and_no_address(lock: str) -> None:
    text = lock_text(lock)
    assert not re.search(r"://|\s@\s|--(?:extra-)?index|--find-links", text)
    entries = re.split(r"\n(?=[\w.-]+==)", text)[1:]
    assert entries
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("lock", LOCKS)
def test_lock_satisfies_what_asks_for_it(lock: str, python: str) -> None:
    pinned = pins(lock, python)
    for requirement in asked_for(LOCKS[lock]):
        if applies(requirement, python):
            version = pinned.get(canonicalize_name(requirement.name))
            assert version is not None, f"{requirement} is not in {lock}.lock: make lock"
            assert requirement.specifier.contains(version, prereleases=True), f"{requirement} but {version} in {lock}.lock: make lock"


@pytest.mark.parametrize("python", PYTHONS)
def test_one_version_in_all_locks(python: str) -> None:
    everything = pins("dev", python)
    for lock in LOCKS.keys() - APART:
        assert pins(lock, python).items() <= everything.items(), f"{lock}.lock differs from dev.lock: make lock"


def test_lock_is_complete_and_holds_nothing_else() -> None:
    """Walks the metadata of what is installed: the closure of what is asked for is what dev.lock pins, for this interpreter."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    todo = [(requirement, "") for requirement in asked_for(LOCKS["dev"])]
    needed: set[str] = set()
    walked: set[tuple[str, str]] = set()
    while todo:
        requirement, extra = todo.pop()
        if not applies(requirement, python, extra):
            continue
        name = canonicalize_name(requirement.name)
        needed.add(name)
        for wanted in {"", *requirement.extras}:
            if (name, wanted) not in walked:
                walked.add((name, wanted))
                todo += [(Requirement(line), wanted) for line in metadata.requires(name) or []]
    assert needed == set(pins("dev", python))


def imports(folder: str) -> Iterator[tuple[str, str]]:
    """(file, absolute imported name) of every module of ours under a folder; a script's neighbours are its own."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        if re.search(r"_pb2(_grpc)?\.py$", path.name) or path.parent == PEERS:
            continue
        # Only a script is started in its own folder; elsewhere `redis` beside redis.py is still the library.
        neighbours = {neighbour.stem for neighbour in path.parent.iterdir()} if folder == "examples" else set()
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []
            yield from ((str(path.relative_to(ROOT)), name) for name in names if name.split(".", 1)[0] not in neighbours)


def test_imports_of_the_peers_are_declared() -> None:
    """They are installed in an environment of their own, so only the names can be looked at."""
    declared_there = {canonicalize_name(requirement.name) for requirement in asked_for(LOCKS["peers"])}
    carriers = {"dbos": "dbos", "aiohttp": "aiohttp", "temporalio": "temporalio", "restate": "restate-sdk"}
    for path in sorted(PEERS.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            top = node.module.partition(".")[0] if isinstance(node, ast.ImportFrom) and node.module else ""
            tops = {alias.name.partition(".")[0] for alias in node.names} if isinstance(node, ast.Import) else {top} - {""}
            assert tops <= sys.stdlib_module_names | carriers.keys() | {"tools"}, path
            assert {carriers[name] for name in tops & carriers.keys()} <= declared_there


PACKAGES = metadata.packages_distributions()


def distributions(name: str) -> set[str]:
    """Distributions that may carry an import; empty for the standard library and for our own code."""
    top = name.split(".", maxsplit=1)[0]
    if top in sys.stdlib_module_names or top in {"perdure", "perdure_server", "conformance", "tests", "tools", "examples"}:
        return set()
    for shared, carrier in SHARED_NAMES.items():
        if name == shared or name.startswith(f"{shared}."):
            return {carrier}
    return {canonicalize_name(found) for found in PACKAGES.get(top, [f"nothing installed carries {top}"])}


@pytest.mark.parametrize(
    ("folder", "inputs"),
    [
        ("server", ("pyproject.toml", "clients/python/pyproject.toml", "--extra=embedded")),
        ("clients/python/perdure", ("clients/python/pyproject.toml", "--extra=crypto", "--extra=speed")),
        ("clients/python/conformance", LOCKS["dev"]),  # programs of the tests, in no distribution
        ("clients/python/polyglot", LOCKS["dev"]),
        ("examples", LOCKS["samples"]),
        ("tests", LOCKS["dev"]),
        ("tools", LOCKS["dev"]),
    ],
)
def test_imports_are_declared(folder: str, inputs: tuple[str, ...]) -> None:
    allowed = {canonicalize_name(requirement.name) for requirement in asked_for(inputs)}
    undeclared = {f"{path}: {name}" for path, name in imports(folder) if (carriers := distributions(name)) and not carriers & allowed}
    assert undeclared == set(), "declare it in the pyproject.toml or requirements/*.in that this folder installs by, then: make lock"


def test_our_two_distributions_have_one_version() -> None:
    server = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    client = tomllib.loads((ROOT / "clients/python/pyproject.toml").read_text())["project"]
    assert server["version"] == client["version"]
    assert f"perdure=={server['version']}" in server["dependencies"]
    assert client["optional-dependencies"]["server"] == [f"perdure-server=={server['version']}"]
    assert server["requires-python"] == client["requires-python"]
