"""The table of docs/metrics.md, from the one table of instruments."""

from perdure_server.ports.instruments import INSTRUMENTS, Instrument
from perdure_server.telemetry.prometheus import prometheus_name


def table() -> str:
    """Every instrument: how it is called in both worlds, its kind, labels, and what it says."""
    head = ["| OpenTelemetry | Prometheus | kind | unit | labels | what it says |", "| --- | --- | --- | --- | --- | --- |"]
    return "\n".join([*head, *(_row(instrument) for instrument in INSTRUMENTS)]) + "\n"


def _row(instrument: Instrument) -> str:
    labels = ", ".join(f"`{label}`" for label in instrument.labels)
    names = f"`{instrument.name}` | `{prometheus_name(instrument)}`"
    return f"| {names} | {instrument.kind.value} | `{instrument.unit}` | {labels} | {instrument.text} |"
