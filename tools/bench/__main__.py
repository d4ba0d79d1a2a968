"""Runs one job on Perdure and on its peers in turn, on this machine, and prints figures and ratios. See docs/performance.md.

`python -m tools.bench` compares all that is installed (`make bench-peers` installs the peers); `--quick` takes under two minutes.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from tools.bench.measures import QUICK, Plan, measure
from tools.bench.processes import BenchFailed, Processes
from tools.bench.report import Results
from tools.bench.systems import System, known


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench", description=__doc__)
    parser.add_argument("--systems", default=",".join(known()), help="by commas; default: all")
    parser.add_argument("--rounds", type=int, default=5, help="alternating rounds of every system")
    parser.add_argument("--quick", action="store_true", help="one short round of Perdure alone, unless --systems or --rounds say more")
    parser.add_argument("--json", type=Path, help="write everything there")
    parser.add_argument("--markdown", type=Path, help="write the tables there")
    given = parser.parse_args()
    if given.quick:
        parser.set_defaults(rounds=1, systems="perdure,perdure-embedded")
        given = parser.parse_args()
    unknown = set(given.systems.split(",")) - set(known())
    if unknown:
        parser.error(f"--systems: no {', '.join(sorted(unknown))}; there are {', '.join(known())}")
    return given


def one_round(system: System, plan: Plan, results: Results) -> None:
    """One system, from an empty store to its end; a failure is kept and the others go on."""
    with tempfile.TemporaryDirectory(prefix="perdure-bench-") as scratch:
        try:
            with Processes(Path(scratch)) as processes:
                figures, cpu = measure(system.start(processes), processes, plan)
        except (BenchFailed, OSError) as error:
            results.failures.append(f"{system.name}: {error}")
            print(f"{system.name}: FAILED: {error}", flush=True)
            return
    results.rounds[system.name].append(figures)
    results.cpu[system.name].append(cpu)
    print(f"{system.name}: " + ", ".join(f"{key} {value:.4g}" for key, value in figures.items()), flush=True)


def main() -> int:
    """Returns the exit code: 1 if a system failed."""
    given = arguments()
    systems = [known()[name] for name in given.systems.split(",")]
    skipped = {system.name: why for system in systems if (why := system.missing())}
    for name, why in skipped.items():
        print(f"{name} is left out: {why}", flush=True)
    systems = [system for system in systems if system.name not in skipped]
    names = [system.name for system in systems]
    results = Results({system.name: system.facts() for system in systems}, skipped, {n: [] for n in names}, {n: [] for n in names}, [])
    for number in range(given.rounds):
        print(f"round {number + 1} of {given.rounds}", flush=True)
        for system in systems:
            one_round(system, QUICK if given.quick else Plan(), results)
    print("\n" + results.as_markdown())
    if given.json:
        given.json.write_text(json.dumps(results.as_json(), indent=1) + "\n")
    if given.markdown:
        given.markdown.write_text(results.as_markdown())
    return 1 if results.failures else 0


if __name__ == "__main__":
    sys.exit(main())
