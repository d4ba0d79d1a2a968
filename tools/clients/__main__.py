"""Does the same to the client libraries of all languages.

    python -m tools.clients build                    every language whose toolchain is here
    python -m tools.clients build lint test go java  several verbs, two languages
    python -m tools.clients generate --check         fails if what is committed differs from what would be generated
    python -m tools.clients list                     the table, and which toolchains are here

Verbs: generate, build, test, lint, conformance, samples, package. A language whose toolchain is missing is left out with a line that
says what it needs; under CI=true that is a failure. Of each language the verbs run in the order in which they are given, up to the first
that fails; the other languages still run.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

from tools.clients.execution import ENVIRONMENT, Place, Say, VerbFailed, missing_tool, perform
from tools.clients.languages import LANGUAGES, VERBS, Language, Verb


class Order(NamedTuple):
    """What is to be done with every language."""

    verbs: tuple[Verb, ...]
    check: bool
    in_ci: bool


class Outcome(NamedTuple):
    """What became of one language."""

    language: str
    result: str
    """passed, skipped or FAILED"""
    text: str
    seconds: float


def one(language: Language, order: Order, say: Say, place: Place) -> Outcome:
    """Runs the verbs of one language, up to the first that fails."""
    began = time.monotonic()
    lack = missing_tool(language)
    if lack:
        return Outcome(language.name, "FAILED" if order.in_ci else "skipped", lack, 0.0)
    done: list[str] = []
    for verb in order.verbs:
        try:
            perform(language, verb, say, place, check=order.check)
        except VerbFailed as failure:
            return Outcome(language.name, "FAILED", f"{verb}: {failure}", time.monotonic() - began)
        done.append(verb if language.verbs.get(verb) else f"no {verb}")
    return Outcome(language.name, "passed", ", ".join(done), time.monotonic() - began)


def several(languages: Sequence[Language], order: Order, jobs: int, place: Place) -> list[Outcome]:
    """Runs them, `jobs` at once. Of more than one at once each is printed in one piece when it has ended."""
    if jobs == 1:
        return [one(language, order, _print, place) for language in languages]

    def quietly(language: Language) -> Outcome:
        held: list[str] = []
        outcome = one(language, order, held.append, place)
        if held:
            _print("\n".join(held))
        return outcome

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(quietly, languages))


def _print(text: str) -> None:
    print(text, flush=True)


def table() -> int:
    """Prints the rows."""
    for language in LANGUAGES.values():
        verbs = " ".join(verb for verb in VERBS if language.verbs.get(verb)) or "nothing yet"
        print(f"{language.name:<11} {missing_tool(language) or 'ready'}: {verbs}")
    return 0


_KNOWN: Final = f"verbs are {', '.join(VERBS)}; languages are {', '.join(LANGUAGES)}"


def main() -> int:
    """Returns the exit code: 0 if nothing failed."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="python -m tools.clients", description=__doc__, formatter_class=layout)
    parser.add_argument("words", nargs="+", metavar="VERB|LANGUAGE")
    parser.add_argument("--check", action="store_true", help="with generate: write nothing, fail if something is stale")
    parser.add_argument("--jobs", type=int, default=1, help="languages at once (default: 1)")
    arguments = parser.parse_intermixed_args()
    if arguments.words == ["list"]:
        return table()
    unknown = [word for word in arguments.words if word not in VERBS and word not in LANGUAGES]
    verbs = tuple(verb for word in arguments.words for verb in VERBS if verb == word)
    if unknown or not verbs:
        parser.error(f"{f'unknown: {unknown[0]}' if unknown else 'no verb'}; {_KNOWN}")
    if arguments.check and verbs != ("generate",):
        parser.error("--check goes with generate alone")
    chosen = [LANGUAGES[word] for word in arguments.words if word in LANGUAGES] or list(LANGUAGES.values())
    order = Order(verbs, arguments.check, in_ci=ENVIRONMENT.get("CI") == "true")
    outcomes = several(chosen, order, max(1, arguments.jobs), Place())
    for outcome in outcomes:
        print(f"{outcome.language:<11} {outcome.result:<7} {outcome.seconds:4.0f} s  {outcome.text}")
    return int(any(outcome.result == "FAILED" for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
