"""The dashboard and the alerts: their metrics exist, their expressions parse, each alert fires, and has its runbook."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from runtime import upstream_metrics  # noqa: F401  # registers its own
from runtime.metrics import REGISTRY

ROOT = Path(__file__).resolve().parents[2]
ALERTS = ROOT / "deploy" / "prometheus" / "alerts.yaml"
DASHBOARD = ROOT / "deploy" / "grafana" / "waypost.json"
RUNBOOK = ROOT / "docs" / "runbook.md"
_METRIC = re.compile(r"\bwaypost_[a-z_]+\b")
_SUFFIXES = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum"), "info": ("_info",), "gauge": ("",)}


def samples() -> set[str]:
    """Return the names of all samples that there can be."""
    return {family.name + suffix for family in REGISTRY.collect() for suffix in _SUFFIXES[family.type]}


def expressions() -> dict[str, str]:
    """Return what the dashboard asks Prometheus, by panel and letter."""
    panels: list[dict[str, Any]] = json.loads(DASHBOARD.read_text())["panels"]
    return {
        f"{panel['title']} {target['refId']}": target["expr"] for panel in panels for target in panel.get("targets", ())
    }


def promtool(*arguments: str) -> None:
    """Run a check of Prometheus' own tool; skip where it is not installed."""
    path = shutil.which("promtool")
    if path is None:
        pytest.skip("promtool is not installed: it comes with Debian's package prometheus")
    checked = subprocess.run([path, *arguments], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_every_metric_that_is_named_exists() -> None:
    rules = "\n".join(line for line in ALERTS.read_text().splitlines() if not line.lstrip().startswith("#"))
    named = set(_METRIC.findall(rules)) | set(_METRIC.findall(DASHBOARD.read_text()))
    assert len(named) > 25
    assert not named - samples()


def test_labels_that_are_asked_for_are_those_of_their_metric() -> None:
    by_name = {family.name: getattr(family, "_labelnames", None) for family in REGISTRY.collect()}
    own = {"instance", "job", "le"}
    for panel, expression in expressions().items():
        for name, labels in re.findall(r"(waypost_[a-z_]+)\{([^}]*)\}", expression):
            family = re.sub(r"_(total|bucket|count|sum)$", "", name)
            known = by_name.get(name, by_name.get(family))
            asked = set(re.findall(r"(\w+)(?:=~|!=|=)", labels))
            assert known is None or asked <= own | set(known), f"{panel}: {name}{asked}"


def test_panels_are_distinct_and_none_is_empty() -> None:
    panels: list[dict[str, Any]] = json.loads(DASHBOARD.read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels]
    assert len(set(places)) == len(places)
    assert all(panel["type"] == "row" or panel["targets"] for panel in panels)


def test_prometheus_takes_the_rules_and_the_dashboards_expressions(tmp_path: Path) -> None:
    asked = [expression.replace("$__rate_interval", "5m") for expression in expressions().values()]
    rules = [{"record": f"panel{number}", "expr": expression} for number, expression in enumerate(asked)]
    # JSON is YAML too.
    (tmp_path / "dashboard.yaml").write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    promtool("check", "rules", str(ALERTS), str(tmp_path / "dashboard.yaml"))


def test_alerts_fire_when_they_should_and_are_quiet_when_all_is_well(tmp_path: Path) -> None:
    text = (Path(__file__).parent / "alerts.yaml").read_text()
    (tmp_path / "alerts.yaml").write_text(text.replace("RULES", str(ALERTS)))
    promtool("test", "rules", str(tmp_path / "alerts.yaml"))


def test_every_alert_is_tried_and_has_its_part_of_the_runbook() -> None:
    text = ALERTS.read_text()
    alerts = re.findall(r"- alert: (\w+)", text)
    tried = (Path(__file__).parent / "alerts.yaml").read_text()
    assert len(alerts) == len(set(alerts)) >= 10
    assert not [alert for alert in alerts if f'alertname="{alert}"' not in tried]
    assert re.findall(r"^## (Waypost\w+)$", RUNBOOK.read_text(), re.MULTILINE) == alerts
    assert re.findall(r"runbook: docs/runbook\.md#(\w+)", text) == [alert.lower() for alert in alerts]
    assert text.count("severity: critical") + text.count("severity: warning") == len(alerts)
