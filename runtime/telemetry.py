"""Traces on or off: decided once, before anything is built. Without a collector OpenTelemetry is not imported."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import threading
from typing import TYPE_CHECKING

from runtime.config_errors import ConfigError, Refusal
from runtime.logs import get_logger
from runtime.settings.telemetry import check_collector
from runtime.tracing import install
from runtime.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AsyncExitStack

    from runtime.settings import Settings
    from runtime.spans import SpanTracer

VARIABLES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
# How long the last spans may take to be handed over when the process ends.
CLOSING_SECONDS = 2.0
# They name the collector's address in their lines, and repeat them at every attempt.
_TALKATIVE = "opentelemetry.exporter"


def collector_of(settings: Settings, environ: Mapping[str, str]) -> str | None:
    """Return the address of the collector, None where traces are off.

    Raises ConfigError for a variable of OpenTelemetry that asks for what there is not.
    """
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    if settings.telemetry.endpoint is not None:
        return settings.telemetry.endpoint
    variable = next((name for name in VARIABLES if environ.get(name, "").strip()), None)
    if variable is None or environ.get("OTEL_TRACES_EXPORTER", "").strip().lower() == "none":
        return None
    for name in _PROTOCOLS:
        protocol = environ.get(name, "").strip().lower()
        if protocol not in ("", "grpc"):
            fix = f"traces are sent over gRPC only: set {name}=grpc and the collector's port for that, usually 4317"
            raise ConfigError(name, protocol[:32], fix, origin="the environment")
    try:
        return check_collector(environ[variable].strip())
    except Refusal as refusal:
        raise ConfigError(variable, "(hidden)", refusal.fix, origin="the environment") from None


async def open_telemetry(stack: AsyncExitStack, settings: Settings) -> SpanTracer | None:
    """Have this process traced for as long as the stack, where a collector is named; return the tracer, None without.

    To be called before the server and the faces are built. Raises ConfigError.
    """
    endpoint = collector_of(settings, os.environ)
    if endpoint is None:
        return None
    try:
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

        from runtime.spans import SpanTracer
    except ImportError:
        fix = "traces need the packages of the extra `otel` (opentelemetry-sdk, opentelemetry-exporter-otlp-proto-grpc)"
        raise ConfigError("telemetry.endpoint", "", f"{fix}: install them, or name no collector") from None
    logging.getLogger(_TALKATIVE).disabled = True
    logging.getLogger(f"{_TALKATIVE}.otlp.proto.grpc.exporter").disabled = True
    telemetry = settings.telemetry
    headers = tuple((name, value.get_secret_value()) for name, value in telemetry.headers.items())
    exporter = OTLPSpanExporter(endpoint=endpoint, insecure=endpoint.startswith("http://"), headers=headers or None)
    attributes = {
        "service.version": VERSION,
        "service.instance.id": secrets.token_hex(8),
        "waypost.profile": settings.profile,
    }
    if "service" in telemetry.model_fields_set or not os.environ.get("OTEL_SERVICE_NAME"):
        attributes["service.name"] = telemetry.service
    tracer = SpanTracer(exporter, sample=telemetry.sample, attributes=attributes)
    install(tracer)
    stack.push_async_callback(_close, tracer)
    get_logger("waypost.telemetry").info("traces are on", sample=telemetry.sample)
    return tracer


async def _close(tracer: SpanTracer) -> None:
    install(None)
    # A collector that is away must not hold up the end: what it has not taken by then is lost.
    closing = threading.Thread(target=tracer.close, daemon=True)
    closing.start()
    await asyncio.to_thread(closing.join, CLOSING_SECONDS)
