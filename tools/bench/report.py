"""Medians over rounds, ratios, and the bars; as JSON and as Markdown."""

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from tools.bench.measures import MEASURES

Figures = Mapping[str, float]


@dataclass(frozen=True)
class Bar:
    """What Perdure wants to reach: `ours` against `peer` in one figure. `least` or `most` bounds ours divided by theirs."""

    key: str
    peer: str
    least: float | None = None
    most: float | None = None
    ours: str = "perdure"

    def met(self, ratio: float) -> bool:
        """Whether the ratio is good enough."""
        return (self.least is None or ratio >= self.least) and (self.most is None or ratio <= self.most)

    def wanted(self) -> str:
        """In words."""
        return f"at least {self.least:g}" if self.least is not None else f"at most {self.most:g}"


BARS: Final = (
    Bar("workflows_per_second", "restate-python", least=2.0),
    Bar("workflows_per_second", "restate-node", least=1.4),
    Bar("workflows_per_second", "dbos", least=10),
    Bar("workflows_per_second", "temporal", least=30),
    Bar("workflows_per_second", "dbos", least=1.5, ours="perdure-embedded"),
    Bar("latency_p50_ms", "restate-python", most=1.0),
    Bar("starts_per_second", "restate-python", least=1.5),
    Bar("signal_p50_ms", "restate-python", most=1.0),
    Bar("service_cpu_seconds_per_1000", "restate-python", most=0.6),
    Bar("waiting_memory_mib", "restate-python", most=0.6),
)


@dataclass
class Results:
    """All rounds: figures by system, and the CPU milliseconds per workflow by process."""

    facts: dict[str, str]
    skipped: dict[str, str]
    rounds: dict[str, list[Figures]]
    cpu: dict[str, list[Figures]]
    failures: list[str]

    def medians(self) -> dict[str, dict[str, float]]:
        """By system and figure."""
        return {name: _medians(rounds) for name, rounds in self.rounds.items() if rounds}

    def as_json(self) -> dict[str, Any]:
        """Everything."""
        return {
            "machine": machine(),
            "facts": self.facts,
            "skipped": self.skipped,
            "failures": self.failures,
            "medians": self.medians(),
            "cpu_ms_per_workflow": {name: _medians(rounds) for name, rounds in self.cpu.items() if rounds},
            "rounds": self.rounds,
        }

    def as_markdown(self) -> str:
        """The table, the ratios, the facts."""
        medians = self.medians()
        rounds = max((len(each) for each in self.rounds.values()), default=0)
        lines = [f"Medians of {rounds} alternating round{'' if rounds == 1 else 's'} on {machine()}.", ""]
        lines += _table(["system", *(measure.heading for measure in MEASURES)], [_row(name, figures) for name, figures in medians.items()])
        lines += ["", *self._bars(medians), "", *self._cpu()]
        lines += ["", *(f"- **{name}**: {text}" for name, text in self.facts.items())]
        lines += [f"- **{name}** was left out: {why}" for name, why in self.skipped.items()]
        lines += [f"- failed: {text}" for text in self.failures]
        return "\n".join(lines) + "\n"

    def _bars(self, medians: Mapping[str, Figures]) -> list[str]:
        headings = {measure.key: measure.heading for measure in MEASURES}
        rows = []
        for bar in BARS:
            if bar.ours in medians and bar.peer in medians:
                ratio = medians[bar.ours][bar.key] / medians[bar.peer][bar.key]
                name = {measure.key: measure for measure in MEASURES}[bar.key].key.removesuffix("_p50_ms")
                said = "yes" if bar.met(ratio) else "**no**"
                rows.append(
                    [
                        f"{headings[bar.key]}" if "p50" not in bar.key else f"{name}, p50",
                        bar.ours,
                        bar.peer,
                        f"{ratio:.2f}",
                        bar.wanted(),
                        said,
                    ]
                )
        return _table(["ratio", "of", "to", "measured", "wanted", "met"], rows) if rows else ["No peer was run, so there are no ratios."]

    def _cpu(self) -> list[str]:
        rows = [
            [name, ", ".join(f"{part} {ms:.2f}" for part, ms in _medians(rounds).items())] for name, rounds in self.cpu.items() if rounds
        ]
        return _table(["system", f"CPU ms per workflow, by process ({os.cpu_count()} cores)"], rows)


def machine() -> str:
    """Cores and kernel."""
    return f"{os.cpu_count()} cores, {platform.system()} {platform.release()}, Python {platform.python_version()}"


def _medians(rounds: Sequence[Figures]) -> dict[str, float]:
    return {key: median(each[key] for each in rounds) for key in rounds[0]}


def _row(name: str, figures: Figures) -> list[str]:
    return [name, *(_number(figures[measure.key]) for measure in MEASURES)]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [_line(headings), _line(["---"] * len(headings)), *map(_line, rows)]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
