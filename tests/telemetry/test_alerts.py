"""Alerts, dashboard and runbook speak of metrics, labels and sections that exist."""

import json
import re
from pathlib import Path

import yaml

from perdure_server.ports.instruments import INSTRUMENTS, Kind
from perdure_server.telemetry.prometheus import prometheus_name

SERIES = {
    name
    for instrument in INSTRUMENTS
    for name in (
        [prometheus_name(instrument) + end for end in ("_bucket", "_sum", "_count")]
        if instrument.kind is Kind.HISTOGRAM
        else [prometheus_name(instrument)]
    )
}
LABELS = {label.replace(".", "_") for instrument in INSTRUMENTS for label in instrument.labels} | {"le", "instance"}
NAME = re.compile(r"\b(?:perdure|db|rpc)_[a-z_]+")
GROUPING = re.compile(r"by \(([a-z_, ]+)\)")


def check(expression: str) -> None:
    names = {name for name in NAME.findall(expression) if name not in LABELS}
    assert names, expression
    assert names <= SERIES, f"{names - SERIES} in {expression}"
    for grouping in GROUPING.findall(expression):
        assert set(grouping.split(", ")) <= LABELS, expression


def test_every_alert_is_of_a_metric_and_has_its_section() -> None:
    rules = yaml.safe_load(Path("deploy/prometheus/alerts.yml").read_text())["groups"][0]["rules"]
    page = Path("docs/runbooks/alerts.md").read_text()
    for rule in rules:
        check(rule["expr"])
        assert f"\n## {rule['alert']}\n" in page
        assert rule["annotations"]["runbook"] == f"docs/runbooks/alerts.md#{rule['alert'].lower()}"


def test_every_panel_is_of_a_metric() -> None:
    board = json.loads(Path("deploy/grafana/perdure.json").read_text())
    for panel in board["panels"]:
        for target in panel["targets"]:
            check(target["expr"])


def test_the_runbook_speaks_of_metrics_that_exist() -> None:
    known = SERIES | {prometheus_name(instrument) for instrument in INSTRUMENTS}
    named = set(NAME.findall(Path("docs/runbooks/alerts.md").read_text()))
    assert named - LABELS <= known
