"""Traces are off unless asked for, and cost nothing then; what asks for them wrongly is refused with its fix."""

from __future__ import annotations

import ast
import asyncio
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import structlog
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

from devnet.ports import free_port
from runtime.config_errors import ConfigError
from runtime.metrics import REGISTRY
from runtime.settings import load_settings
from runtime.spans import SpanTracer
from runtime.telemetry import collector_of, open_telemetry
from runtime.tracing import installed

ROOT = Path(__file__).resolve().parents[2]
COLLECTOR = "http://collector.example.org:4317"


def settings(environ: dict[str, str] | None = None, **telemetry: Any) -> Any:
    return load_settings(environ=environ or {}, overrides={"telemetry": telemetry})


@pytest.mark.parametrize(
    ("telemetry", "environ", "endpoint"),
    [
        ({}, {}, None),
        ({"endpoint": COLLECTOR}, {}, COLLECTOR),
        ({}, {"OTEL_EXPORTER_OTLP_ENDPOINT": COLLECTOR}, COLLECTOR),
        (
            {},
            {"OTEL_EXPORTER_OTLP_ENDPOINT": COLLECTOR, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://t:1"},
            "http://t:1",
        ),
        ({"endpoint": COLLECTOR}, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://other:4317"}, COLLECTOR),
        ({"endpoint": COLLECTOR}, {"OTEL_SDK_DISABLED": "true"}, None),
        ({}, {"OTEL_EXPORTER_OTLP_ENDPOINT": COLLECTOR, "OTEL_TRACES_EXPORTER": "none"}, None),
    ],
)
def test_where_traces_go(telemetry: dict[str, str], environ: dict[str, str], endpoint: str | None) -> None:
    assert collector_of(settings(**telemetry), environ) == endpoint


@pytest.mark.parametrize(
    ("environ", "key"),
    [
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4317"}, "OTEL_EXPORTER_OTLP_ENDPOINT"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://user:secret@collector:4317"}, "OTEL_EXPORTER_OTLP_ENDPOINT"),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": COLLECTOR, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"},
            "OTEL_EXPORTER_OTLP_PROTOCOL",
        ),
    ],
)
def test_variables_that_cannot_be_are_refused_by_name(environ: dict[str, str], key: str) -> None:
    with pytest.raises(ConfigError) as refused:
        collector_of(settings(), environ)
    assert refused.value.key == key
    assert "4317" in refused.value.fix
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("telemetry", "key"),
    [
        ({"endpoint": "collector:4317"}, "telemetry.endpoint"),
        ({"endpoint": "http://collector:4317/v1/traces"}, "telemetry.endpoint"),
        ({"sample": 1.5}, "telemetry.sample"),
        ({"service": ""}, "telemetry.service"),
        ({"headers_env": {"authorization": "UNSET_VARIABLE"}}, "telemetry.headers_env.authorization"),
        ({"headers_env": {"a b": "TOKEN"}}, "telemetry.headers_env"),
    ],
)
def test_settings_that_cannot_be_are_refused_by_key(telemetry: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError) as refused:
        settings({"TOKEN": "t"}, **telemetry)
    assert refused.value.key == key


def test_without_the_packages_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.grpc.trace_exporter", None)

    async def start() -> None:
        async with AsyncExitStack() as stack:
            await open_telemetry(stack, settings(endpoint=COLLECTOR))

    with pytest.raises(ConfigError, match="`otel`"):
        asyncio.run(start())
    assert installed() is None


def test_nothing_is_imported_while_traces_are_off() -> None:
    importing = {
        path.relative_to(ROOT).as_posix()
        for room in ("runtime", "server", "transcoder", "cli")
        for path in (ROOT / room).rglob("*.py")
        if "opentelemetry" in path.read_text()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names])
        if name.partition(".")[0] == "opentelemetry"
    }
    assert importing == {"runtime/spans.py", "runtime/telemetry.py"}
    check = "import sys, cli.gateway; sys.exit(sum(name.startswith('opentelemetry') for name in sys.modules))"
    path = {"PYTHONPATH": f"{ROOT}:{ROOT / 'clients' / 'python'}:{ROOT / 'generated'}"}
    assert subprocess.run([sys.executable, "-P", "-c", check], env=path, cwd=ROOT, check=False).returncode == 0


def spans(result: str) -> float:
    return REGISTRY.get_sample_value("waypost_spans_total", {"result": result}) or 0.0


def test_a_collector_that_is_away_costs_its_spans_and_one_line_without_its_address() -> None:
    port = free_port()
    tracer = SpanTracer(
        OTLPSpanExporter(endpoint=f"http://127.0.0.1:{port}", insecure=True, timeout=0.2), sample=1.0, attributes={}
    )
    before = {result: spans(result) for result in ("recorded", "exported", "failed")}
    with structlog.testing.capture_logs() as lines:
        for _ in range(2):
            tracer.start_http("POST", "/{key}/v1", None).end({})
            tracer.flush()
        tracer.close()
    assert {result: spans(result) - count for result, count in before.items()} == {
        "recorded": 2,
        "exported": 0,
        "failed": 2,
    }
    assert [line["event"] for line in lines] == ["the collector does not take traces; they are lost meanwhile"]
    assert str(port) not in repr(lines)


def test_a_share_of_traces_is_recorded_and_a_callers_own_are_no_exception() -> None:
    tracer = SpanTracer(OTLPSpanExporter(endpoint="http://127.0.0.1:1", insecure=True), sample=0.25, attributes={})
    traces = [f"00-{number:032x}-{'1' * 16}-01" for number in range(1, 2**64, 2**64 // 400)]
    recorded = [tracer.start_http("POST", "/", trace).is_recorded for trace in traces]
    assert sum(recorded) == pytest.approx(len(traces) / 4, abs=2)
    # An item is recorded where its request is.
    items = [
        tracer.start_call("a/B", "getB", request.traceparent, is_item=True).is_recorded
        for request in (tracer.start_http("POST", "/", trace) for trace in traces)
    ]
    assert items == recorded
    tracer.close()
