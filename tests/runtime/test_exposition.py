"""What scrapers get: names by Prometheus' conventions, both formats, and several processes as if they were one."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import time
from typing import TYPE_CHECKING

import aiohttp
import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families

from runtime import exposition, metrics, upstream_metrics
from runtime.counters import HistogramFamily
from runtime.exposition import (
    CONTENT_TYPE,
    Family,
    Figures,
    MergedFigures,
    Sample,
    collect_figures,
    figures_socket,
    merge_families,
    render_metrics,
    serve_figures,
    start_metrics,
)
from runtime.metrics import GAUGES, REGISTRY

if TYPE_CHECKING:
    from pathlib import Path

OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"


def test_names_and_units_are_by_the_conventions() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed: it comes with Debian's package prometheus")
    for family in metrics.REGISTRY.collect():
        assert family.documentation.endswith("."), family.name
    checked = subprocess.run([promtool, "check", "metrics"], input=render_metrics(), capture_output=True, check=False)
    assert (checked.returncode, checked.stderr + checked.stdout) == (0, b"")


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        (None, CONTENT_TYPE),
        ("text/plain;version=0.0.4", CONTENT_TYPE),
        (OPENMETRICS, "application/openmetrics-text; version=1.0.0"),
        ("application/openmetrics-text;version=none", CONTENT_TYPE),
    ],
)
async def test_a_scraper_gets_the_form_that_it_asks_for(accept: str | None, content_type: str) -> None:
    metrics.count_operation("getExample", "base", "OK", None, 0.2)
    metrics.note_operation_trace("getExample", "base", 0.2, "ab" * 16)
    runner, port = await start_metrics("127.0.0.1:0")
    try:
        async with (
            aiohttp.ClientSession() as session,
            session.get(
                f"http://127.0.0.1:{port}/metrics", headers={} if accept is None else {"Accept": accept}
            ) as response,
        ):
            assert response.status == 200
            assert response.headers["Content-Type"].startswith(content_type)
            text = await response.text()
    finally:
        await runner.cleanup()
    if content_type == CONTENT_TYPE:
        assert "trace_id" not in text
        assert "waypost_operation_seconds" in {family.name for family in text_string_to_metric_families(text)}
        return
    (example,) = [
        sample.exemplar
        for family in openmetrics.text_string_to_metric_families(text)
        for sample in family.samples
        if sample.labels.get("operation") == "getExample" and sample.exemplar
    ]
    assert (example.labels, example.value) == ({"trace_id": "ab" * 16}, 0.2)


def test_every_gauge_says_what_several_processes_make_of_it() -> None:
    gauges = {family.name for family in REGISTRY.collect() if family.type not in ("counter", "histogram")}
    assert gauges <= GAUGES.keys()


def figures(process: str, *, requests: int, head: int, up: int = 1, trace: tuple[str, float] | None = None) -> Figures:
    """Return what a process measures that has answered so many requests, each in half a second."""
    registry = CollectorRegistry()
    seconds = HistogramFamily("waypost_operation_seconds", "Seconds.", ("chain",), (0.1, 1.0), registry).of("base")
    for _ in range(requests):
        seconds.observe(0.5)
    if trace is not None:
        seconds.note_trace(0.5, trace[0])
    families = [exposition._family(family) for family in registry.collect()]
    if trace is not None:
        for sample in families[0].samples:
            if sample.exemplar is not None:
                sample.exemplar = (*sample.exemplar[:2], trace[1])
    labels = (("chain", "base"),)
    return Figures(
        process,
        [
            *families,
            Family("waypost_head_block", "gauge", "Head.", [Sample("waypost_head_block", labels, head)]),
            Family("waypost_store_up", "gauge", "Up.", [Sample("waypost_store_up", labels, up)]),
            Family("waypost_in_flight", "gauge", "In flight.", [Sample("waypost_in_flight", (), requests)]),
        ],
    )


def values(registry: CollectorRegistry) -> dict[str, float]:
    text = generate_latest(registry).decode()
    return {
        sample.name + "".join(sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_several_processes_are_shown_as_one() -> None:
    one = figures("a", requests=3, head=10, up=0, trace=("older", 1.0))
    other = figures("b", requests=4, head=12, trace=("newer", 2.0))
    merged = {family.name: family for family in merge_families([one.families, other.families])}
    seconds = {
        (sample.name, dict(sample.labels).get("le")): sample for sample in merged["waypost_operation_seconds"].samples
    }
    assert [seconds["waypost_operation_seconds_bucket", le].value for le in ("0.1", "1.0", "+Inf")] == [0, 7, 7]
    assert seconds["waypost_operation_seconds_sum", None].value == 3.5
    newest = seconds["waypost_operation_seconds_bucket", "1.0"].exemplar
    assert newest is not None
    assert newest[0] == {"trace_id": "newer"}
    assert [merged[name].samples[0].value for name in ("waypost_head_block", "waypost_store_up")] == [12, 0]
    assert merged["waypost_in_flight"].samples[0].value == 7


def test_no_total_ever_falls_and_what_hangs_has_no_gauges(tmp_path: Path) -> None:
    merged = MergedFigures(tmp_path, 2)
    first, second = merged._sockets

    def seen(one: Figures | None, other: Figures | None) -> tuple[float | None, float | None]:
        found = values(merged._merge({first: one, second: other}, ()))
        return found.get("waypost_operation_seconds_countbase"), found.get("waypost_in_flight")

    assert seen(figures("a", requests=3, head=1), figures("b", requests=4, head=1)) == (7, 7)
    # The second hangs, then another process has its place, then another once more.
    assert seen(figures("a", requests=5, head=1), None) == (9, 5)
    assert seen(figures("a", requests=5, head=1), figures("c", requests=1, head=1)) == (10, 6)
    assert seen(figures("a", requests=5, head=1), figures("d", requests=2, head=1)) == (12, 7)
    assert seen(None, None) == (12, None)


async def test_the_parent_s_own_listener_has_its_certificate_among_the_workers_s(tmp_path: Path) -> None:
    merged = MergedFigures(tmp_path, 1)
    metrics.set_certificate("parent", time.time() + 500, failed=True)
    name, failed = "waypost_certificate_expiry_seconds", "waypost_certificate_reload_failed"
    of_worker = Figures("a", [Family(name, "gauge", "Left.", [Sample(name, (("listener", "http"),), 90)])])
    own = [exposition._family(one) for one in metrics.REGISTRY.collect() if one.name in (name, failed)]
    found = values(merged._merge({merged._sockets[0]: of_worker}, own))
    assert found[f"{name}http"] == 90
    assert 490 < found[f"{name}parent"] <= 500
    assert found[f"{failed}parent"] == 1


async def test_figures_go_over_the_socket_of_the_process_and_a_late_one_is_left_out(tmp_path: Path) -> None:
    path = figures_socket(tmp_path, 0)
    path.touch()
    upstream_metrics.count_joined("base")
    metrics.set_workers(configured=2, serving=1, restarts=3)
    runner = await serve_figures(path)
    asked: list[asyncio.StreamWriter] = []
    silent = await asyncio.start_unix_server(lambda _, writer: asked.append(writer), figures_socket(tmp_path, 1))
    try:
        found = values(await MergedFigures(tmp_path, 3).read())
    finally:
        silent.close()
        for writer in asked:
            writer.close()
            await writer.wait_closed()
        await runner.cleanup()
    own = {sample.name: sample.value for family in collect_figures().families for sample in family.samples}
    assert found["waypost_joined_calls_totalbase"] >= 1
    assert (found["waypost_workersserving"], found["waypost_worker_restarts_total"]) == (1, 3)
    assert found["waypost_tasks"] > 0
    assert own["waypost_worker_restarts_total"] == 3
