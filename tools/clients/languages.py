"""The client languages, one row each. docs/add-a-language.md tells how to add one.

A row's commands run in clients/NAME with .venv/bin first on PATH; PERDURE_TEST_SERVER names the executable `perdure`, PYTHON the one of
.venv.
Words in braces are filled in (execution.py): {name} {root} {python} {perdure} {version} {out} {includes} (of google/protobuf/*.proto),
and, as a word of their own, {protoc} (the program with its include paths), {protos} (all of ours), {services} (those with a service).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

Verb = Literal["generate", "build", "test", "lint", "conformance", "samples", "package"]
VERBS: Final[tuple[Verb, ...]] = get_args(Verb)

Command = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tool:
    """An executable that must be on PATH."""

    name: str
    hint: str
    """Where it comes from, for whoever lacks it."""
    least: tuple[int, ...] = ()
    """Oldest version that will do, such as (1, 23). Empty: any."""
    version: Command = ("--version",)
    """Arguments that make it tell its version."""


@dataclass(frozen=True, slots=True)
class Language:
    """One row: what a language needs, and its command list per verb."""

    name: str
    """As it is typed, and its directory below clients/."""
    tools: tuple[Tool, ...] = ()
    """All of them must be there, else the language is skipped; under CI=true that is a failure."""
    verbs: Mapping[Verb, tuple[Command, ...]] = field(default_factory=dict)
    """What to run, one command after the other, until one fails."""
    generated: tuple[str, ...] = ()
    """Files and directories that `generate` writes below {out}: the language's directory, or a scratch one for `--check`."""
    check: tuple[Command, ...] = ()
    """For `generate --check`, where the generator compares by itself. Empty: generated into a scratch directory and compared."""
    install: tuple[Command, ...] = ()
    """Fetches dependencies, before any verb, when one of `locks` has changed since."""
    locks: tuple[str, ...] = ()
    """Files below the language's directory on which `install` depends."""
    is_sample: bool = False
    """No library but a sample of the generated stubs: it needs no verb but `samples`."""


CASES: Final[tuple[Command, ...]] = (("{python}", "-m", "pytest", "-q", "{root}/tests/conformance/test_cases.py", "--language", "{name}"),)
"""The verb `conformance`, the same in every row: it starts clients/NAME/conformance/run, which `build` has built."""

RUNNER: Final[tuple[Command, ...]] = (("{python}", "-m", "pytest", "-q", "{root}/tests/conformance/test_runner.py"),)
"""What runs the cases fails where it should: once is enough, with Python's driver."""

# ---------------------------------------------------------------------------------------------------------------- Python
PYTHON: Final = Language(
    name="python",
    generated=("perdure",),
    verbs={
        "generate": (("{python}", "{root}/tools/gen.py"), ("{python}", "{root}/tools/sync_client.py")),
        "build": (("{python}", "-c", "import perdure, perdure.cli, perdure.sync, perdure.testing"),),
        "test": (("{python}", "-m", "pytest", "-q", "-m", "not slow", "-n", "2", "{root}/tests/client"),),
        "lint": (("make", "-C", "{root}", "lint", "types"),),
        "samples": (("{python}", "-m", "pytest", "-q", "-n", "2", "{root}/tests/samples", "{root}/tests/client/test_readme.py"),),
        "conformance": (*CASES, *RUNNER),
        # Without setuptools' copy of the sources, which mypy and tidy would take for ours.
        "package": (
            ("sh", "-c", "trap 'rm -rf build' EXIT; {python} -m pip wheel -q --no-deps --no-build-isolation -w {root}/build/python ."),
        ),
    },
    check=(("{python}", "{root}/tools/gen.py", "--check"), ("{python}", "{root}/tools/sync_client.py", "--check")),
)

# -------------------------------------------------------------------------------------------------------------------- Go
STATICCHECK: Final = "honnef.co/go/tools/cmd/staticcheck@v0.8.2"

GO: Final = Language(
    name="go",
    tools=(Tool("go", "https://go.dev/dl", (1, 23), ("version",)), Tool("gcc", "Debian: gcc libc6-dev; for the race detector")),
    generated=("gen",),
    verbs={
        "generate": (("./generate", "{out}/gen"),),
        "build": (("go", "build", "./..."), ("go", "build", "-o", "build/", "./conformance", "./polyglot")),
        "test": (("go", "test", "-race", "./..."),),
        "lint": (
            ("sh", "-c", 'unformatted=$(gofmt -l .); echo "$unformatted"; test -z "$unformatted"'),
            ("go", "vet", "./..."),
            ("go", "run", STATICCHECK, "./..."),
        ),
        "conformance": CASES,
        "samples": (("go", "test", "-race", "./samples/..."),),
        "package": (("go", "mod", "verify"), ("go", "list", "-m")),
    },
)

# ------------------------------------------------------------------------------------------------------------ TypeScript
TYPESCRIPT: Final = Language(
    name="typescript",
    tools=(Tool("node", "https://nodejs.org", (20,)), Tool("npm", "it comes with Node; Debian: npm")),
    generated=("src/gen",),
    install=(("npm", "ci", "--no-audit", "--no-fund"),),
    locks=("package.json", "package-lock.json"),
    verbs={
        "generate": (("node", "scripts/generate.mjs", "{out}/src/gen"),),
        "build": (("npm", "run", "--silent", "build"), ("npm", "run", "--silent", "build:tests")),
        "test": (("npm", "test", "--silent"),),
        "lint": (("npm", "run", "--silent", "lint"),),
        "conformance": CASES,
        "samples": (("npm", "run", "--silent", "samples"),),
        "package": (("npm", "run", "--silent", "package"),),
    },
)

# ------------------------------------------------------------------------------------------------------------------ Java
JAVA: Final = Language(
    name="java",
    tools=(Tool("javac", "Debian: openjdk-17-jdk-headless", (17,)), Tool("mvn", "Debian: maven")),
    generated=("src/generated/java",),
    verbs={
        "generate": (("./generate.sh", "{out}/src/generated/java"),),
        "build": (("mvn", "-B", "-q", "test-compile"),),
        "test": (("mvn", "-B", "-q", "-Dtest=!SamplesTest", "test"),),
        # The compiler is the linter: -Xlint:all, documentation of all that is public, and -Werror.
        "lint": (("mvn", "-B", "-q", "test-compile"),),
        "conformance": CASES,
        "samples": (("mvn", "-B", "-q", "-Dtest=SamplesTest", "test"),),
        "package": (("mvn", "-B", "-q", "-Prelease", "-DskipTests", "package"),),
    },
)

# ------------------------------------------------------------------------------------------------------------------ Ruby
RUBY: Final = Language(
    name="ruby",
    tools=(Tool("ruby", "Debian: ruby-grpc"), Tool("grpc_tools_ruby_protoc", "Debian: ruby-grpc-tools", version=())),
    verbs={
        "build": (
            ("mkdir", "-p", "build"),
            ("grpc_tools_ruby_protoc", "-I{root}/proto", "-I{includes}", "--ruby_out=build", "--grpc_out=build", "{protos}"),
        ),
        "samples": (("{python}", "-m", "pytest", "-q", "{root}/tests/samples/test_ruby.py"),),
    },
    is_sample=True,
)

LANGUAGES: Final[Mapping[str, Language]] = {row.name: row for row in (PYTHON, GO, TYPESCRIPT, JAVA, RUBY)}
"""All rows by name, in the order in which they run."""
