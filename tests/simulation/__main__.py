"""`make simulate SEEDS=2000 FIRST=1`: so many seeds, on every core; prints a seed that fails, and what it broke."""

import argparse
import logging
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

from tests.simulation.world import Breach, run_seed


def attempt(seed: int) -> tuple[int, float, str, dict[str, int]]:
    """Run one seed: its processor time in s, what it broke, and what happened in it."""
    began = time.process_time()
    try:
        outcome = run_seed(seed)
    except Breach as breach:
        return seed, time.process_time() - began, str(breach), {}
    return seed, time.process_time() - began, "", {"changes": outcome.changes} | outcome.counts


def main() -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=2_000)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    began = time.perf_counter()
    failed: list[int] = []
    took = 0.0
    counts: Counter[str] = Counter()
    logging.disable(logging.CRITICAL)
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for seed, seconds, broken, happened in pool.map(attempt, seeds, chunksize=10):
            took += seconds
            counts.update(happened)
            if broken:
                failed.append(seed)
                print(broken, flush=True)
    print(f"{len(seeds)} seeds from {arguments.first}, {1000 * took / len(seeds):.0f} ms each, {time.perf_counter() - began:.0f} s in all")
    print(", ".join(f"{count} {what}" for what, count in sorted(counts.items(), key=lambda item: item[0])))
    print(f"failed: {failed}; each again by `make simulate SEEDS=1 FIRST=...`" if failed else "no promise was broken")
    print(f"{len(seeds) - len(failed)} passed, {len(failed)} failed in {time.perf_counter() - began:.1f}s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
