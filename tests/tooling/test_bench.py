"""The benchmark's own parts: what it counts, how it compares, and that a system which fails stops no other."""

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import Eventually
from tools.bench.load.driving import Load, quantile
from tools.bench.measures import MEASURES
from tools.bench.processes import BenchFailed, Driver, Processes
from tools.bench.report import Bar, Figures, Results


class Counting:
    """A subject whose jobs end at once."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.at_once = 0
        self.most = 0
        self.turn = asyncio.Event()

    async def open(self) -> None: ...

    async def run(self, key: str) -> None:
        self.keys.append(key)
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        self.turn.clear()
        asyncio.get_running_loop().call_soon(self.turn.set)
        await self.turn.wait()
        self.at_once -= 1

    async def park(self, key: str) -> None:
        self.keys.append(key)

    async def wake(self, key: str) -> float:
        self.keys.remove(key)
        return time.time()

    async def close(self) -> None: ...


async def test_load_keeps_so_many_in_flight_and_uses_every_key_once() -> None:
    subject = Counting()
    done = await Load(subject).run(seconds=0.05, in_flight=7)
    assert subject.most == 7
    assert done["count"] == len(subject.keys) == len(set(subject.keys))
    assert 0 < done["seconds"] < 5


async def test_parking_stops_at_its_count_and_signals_take_what_is_parked() -> None:
    subject = Counting()
    load = Load(subject)
    assert (await load.park(count=20, seconds=30, in_flight=3))["count"] == 20
    assert (await load.signal(count=50, seconds=30))["count"] == 20
    assert subject.keys == []


class Deaf(Counting):
    """A subject whose jobs hear no signal."""

    async def wake(self, key: str) -> float:
        await asyncio.Event().wait()
        raise AssertionError(key)


async def test_a_signal_that_nothing_answers_is_cut_off_and_counts_with_its_time() -> None:
    load = Load(Deaf())
    await load.park(count=20, seconds=30, in_flight=3)
    told = await load.signal(count=20, seconds=0.05)
    assert told["count"] == 1
    assert told["p50_ms"] == pytest.approx(50, abs=0.01)


async def test_parking_stops_at_its_time() -> None:
    parked = await Load(Counting()).park(count=1_000_000, seconds=0, in_flight=3)
    assert parked["count"] == 3


def test_a_quantile_is_a_value_that_was_measured() -> None:
    assert quantile([5.0], 0.99) == 5.0
    assert quantile([float(number) for number in range(100)], 0.5) == 50
    assert quantile([float(number) for number in range(100)], 0.99) == 99


def results(**rounds: list[dict[str, float]]) -> Results:
    names = {name.replace("_", "-"): each for name, each in rounds.items()}
    ones = {measure.key: 1.0 for measure in MEASURES}
    filled: dict[str, list[Figures]] = {name: [{**ones, **figures} for figures in each] for name, each in names.items()}
    return Results({}, {}, filled, {}, [])


def test_ratios_are_of_medians_and_say_whether_a_bar_is_met() -> None:
    compared = results(
        perdure=[{"workflows_per_second": value} for value in (900.0, 10.0, 1_000.0)],
        restate_python=[{"workflows_per_second": value} for value in (300.0, 300.0, 9_999.0)],
    ).as_markdown()
    assert "| workflows/s, 64 in flight | perdure | restate-python | 3.00 | at least 2 | yes |" in compared
    assert "| CPU s per 1,000, callers aside | perdure | restate-python | 1.00 | at most 0.6 | **no** |" in compared


def test_what_was_left_out_or_failed_is_said() -> None:
    found = Results({}, {"dbos": "no PostgreSQL"}, {"perdure": []}, {"perdure": []}, ["perdure: it ended"])
    said = found.as_markdown()
    assert "**dbos** was left out: no PostgreSQL" in said
    assert "failed: perdure: it ended" in said
    assert "no ratios" in said


@pytest.mark.parametrize(
    ("bar", "ratio", "met"),
    [(Bar("x", "y", least=2), 2, True), (Bar("x", "y", least=2), 1.99, False), (Bar("x", "y", most=1), 1.01, False)],
)
def test_a_bar_is_met_at_its_edge(bar: Bar, ratio: float, met: bool) -> None:
    assert bar.met(ratio) is met


async def test_processor_time_and_memory_of_descendants_are_counted_and_all_are_ended(tmp_path: Path, eventually: Eventually) -> None:
    loop = "while time.process_time() - a < .2: pass"
    burn = f"import sys, time; x = bytearray(50_000_000); a = time.process_time()\n{loop}\nprint(1, flush=True)\ninput()"
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burn!r}])"
    with Processes(tmp_path) as processes:
        process = processes.start("burning", (sys.executable, "-c", program), piped=True)
        assert process.stdout is not None
        process.stdout.readline()
        assert processes.cpu_seconds()["burning"] >= 0.2
        assert processes.memory_mib()["burning"] > 45
        pid = process.pid
    await eventually(lambda: not _alive(pid))


def test_a_load_program_that_ends_is_told_with_its_log(tmp_path: Path) -> None:
    with Processes(tmp_path) as processes:
        process = processes.start("load", (sys.executable, "-c", "raise SystemExit('no server there')"), piped=True)
        with pytest.raises(BenchFailed, match="no server there"):
            Driver(process, tmp_path / "load.log")


def test_an_unknown_system_is_refused_with_the_known_ones() -> None:
    done = subprocess.run([sys.executable, "-m", "tools.bench", "--systems", "cadence"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no cadence; there are perdure, " in done.stderr


def _alive(group: int) -> bool:
    """Whether a process of the group still runs; one that has ended may wait for init to see it."""
    stats = [Path(f"/proc/{entry.name}/stat") for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return any(fields[2] == str(group) and fields[0] != "Z" for fields in map(_fields, stats) if fields)


def _fields(stat: Path) -> list[str]:
    try:
        return stat.read_text().rpartition(")")[2].split()
    except OSError:
        return []
