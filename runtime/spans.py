"""Spans of OpenTelemetry, for `runtime.tracing`. Imported only where traces are switched on.

Spans hold operations, chain slugs, endpoint labels, methods and outcomes; never an address, a key or a URL. What a
caller chose freely is not in them, but for the request's id, redacted.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import SpanKind, format_trace_id, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.trace.status import Status, StatusCode

from runtime.logs import LogLimit, get_logger
from runtime.metrics import count_spans

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import Span as OtelSpan
    from opentelemetry.trace import Tracer
    from opentelemetry.util.types import AttributeValue

    from runtime.tracing import Asker

_ROOT = Context()
_w3c = TraceContextTextMapPropagator()
_FAILED = Status(StatusCode.ERROR)
# Methods and routes are the gateway's own; where a caller had a part in one, nothing of it is shown.
_method = re.compile(r"(?!.*(?:0x|wp_))[A-Za-z0-9_./{}+:-]{1,100}").fullmatch
OTHER = "other"
_log = get_logger("waypost.telemetry")


def context_of(traceparent: str | None) -> Context:
    """Return the context of a caller's trace, that of a new one where it is none or malformed."""
    return _ROOT if traceparent is None else _w3c.extract({"traceparent": traceparent}, _ROOT)


def header_of(span: OtelSpan) -> str:
    """Return the `traceparent` header by which others continue the span."""
    context = span.get_span_context()
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


class RequestSpan:
    """The span of an HTTP request, or of an item with the call that is nothing but it; see `runtime.tracing.Span`."""

    __slots__ = ("_outer", "_tracer", "is_ended", "is_recorded", "otel", "trace_id")

    def __init__(self, tracer: Tracer, otel: OtelSpan, outer: OtelSpan | None = None) -> None:
        self._tracer = tracer
        self.otel = otel
        self._outer = outer
        self.is_ended = False
        context = otel.get_span_context()
        self.trace_id = format_trace_id(context.trace_id)
        self.is_recorded = context.trace_flags.sampled

    @property
    def traceparent(self) -> str:
        """See `runtime.tracing.Span.traceparent`."""
        return header_of(self.otel)

    def add_item(self, name: str, reason: str = "") -> None:
        """See `runtime.tracing.Span.add_item`."""
        attributes = {"waypost.operation": name} | ({"waypost.reason": reason} if reason else {})
        context = set_span_in_context(self.otel, _ROOT)
        self._tracer.start_span(name, context, SpanKind.INTERNAL, attributes).end()

    def end(self, attributes: Mapping[str, str | int], *, failed: bool = False) -> None:
        """See `runtime.tracing.Span.end`."""
        self.is_ended = True
        for span in (self.otel, self._outer):
            if span is not None:
                span.set_attributes(attributes)
                if failed:
                    span.set_status(_FAILED)
                span.end()


class EndpointSpan:
    """The span of one request to an endpoint; see `runtime.tracing.UpstreamSpan`."""

    __slots__ = ("_askers", "_otel", "is_recorded", "trace_id")

    def __init__(self, otel: OtelSpan, askers: Sequence[Asker | None]) -> None:
        self._otel = otel
        self._askers = askers
        context = otel.get_span_context()
        self.trace_id = format_trace_id(context.trace_id)
        self.is_recorded = context.trace_flags.sampled

    def stamp(self, request: bytes) -> bytes:
        """See `runtime.tracing.UpstreamSpan.stamp`."""
        return request.replace(b"\r\n", b"\r\ntraceparent: %b\r\n" % header_of(self._otel).encode(), 1)

    def end(self, outcome: str, status: int) -> None:
        """See `runtime.tracing.UpstreamSpan.end`; links to all readers, also to those that joined meanwhile."""
        span = self._otel
        if self.is_recorded:
            readers = _spans_of(self._askers)
            if len(readers) > 1:
                for reader in readers:
                    span.add_link(reader.otel.get_span_context())
            span.set_attribute("waypost.outcome", outcome)
            if status:
                span.set_attribute("http.response.status_code", status)
            if outcome != "answer":
                span.set_status(_FAILED)
        span.end()


class SpanTracer:
    """Begins spans and hands those that end to a collector, in the background; see `runtime.tracing.Tracer`."""

    def __init__(self, exporter: SpanExporter, *, sample: float, attributes: Mapping[str, AttributeValue]) -> None:
        ratio = TraceIdRatioBased(sample)
        self._provider = TracerProvider(
            sampler=ParentBased(root=ratio, remote_parent_sampled=ratio),
            resource=Resource.create(dict(attributes)),
            shutdown_on_exit=False,
        )
        self._provider.add_span_processor(_Counted(CountingExporter(exporter)))
        self._tracer = self._provider.get_tracer("waypost")

    def start_http(self, method: str, route: str, traceparent: str | None) -> RequestSpan:
        """See `runtime.tracing.Tracer.start_http`."""
        attributes = {"http.request.method": method, "http.route": route}
        span = self._tracer.start_span(f"{method} {route}", context_of(traceparent), SpanKind.SERVER, attributes)
        return RequestSpan(self._tracer, span)

    def start_call(self, rpc: str, operation: str, traceparent: str | None, *, is_item: bool) -> RequestSpan:
        """See `runtime.tracing.Tracer.start_call`."""
        context, outer = context_of(traceparent), None
        if not is_item:
            service, _, method = rpc.rpartition("/")
            attributes = {"rpc.system": "grpc", "rpc.service": service, "rpc.method": method}
            outer = self._tracer.start_span(rpc, context, SpanKind.SERVER, attributes)
            context = set_span_in_context(outer, _ROOT)
        item = self._tracer.start_span(operation, context, SpanKind.INTERNAL, {"waypost.operation": operation})
        return RequestSpan(self._tracer, item, outer)

    def start_upstream(
        self, chain: str, endpoint: str, purpose: str, calls: int, askers: Sequence[Asker | None]
    ) -> EndpointSpan:
        """See `runtime.tracing.Tracer.start_upstream`.

        Its parent is the first of its readers that is recorded and has not ended; without one it begins a trace.
        """
        waiting = [span for span in _spans_of(askers) if not span.is_ended]
        parent = next((span for span in waiting if span.is_recorded), waiting[0] if waiting else None)
        context = _ROOT if parent is None else set_span_in_context(parent.otel, _ROOT)
        if parent is not None and not parent.is_recorded:
            return EndpointSpan(self._tracer.start_span(OTHER, context, SpanKind.CLIENT), askers)
        known = [asker for asker in askers if asker is not None]
        methods = {asker.method for asker in known}
        method = (next(iter(methods)) if len(methods) == 1 else "several") if known else purpose
        method = method if _method(method) else OTHER
        attributes: dict[str, AttributeValue] = {
            "waypost.chain": chain,
            "waypost.endpoint": endpoint,
            "waypost.method": method,
            "waypost.purpose": purpose,
            "waypost.calls": calls,
        }
        if known:
            attributes["waypost.attempt"] = max(asker.attempt for asker in known)
            fold = max((reader.reads for asker in known for reader in asker.readers), default=0)
            if fold:
                attributes["waypost.fold.size"] = fold
        span = self._tracer.start_span(method, context, SpanKind.CLIENT, attributes)
        return EndpointSpan(span, askers)

    def flush(self) -> None:
        """Hand over what has ended; blocks."""
        self._provider.force_flush()

    def close(self) -> None:
        """Hand over what has ended and stop; blocks for as long as the collector takes."""
        self._provider.shutdown()


def _spans_of(askers: Sequence[Asker | None]) -> list[RequestSpan]:
    """Return the spans of all who wait for the askers' calls, each once."""
    found: dict[int, RequestSpan] = {}
    for asker in askers:
        if asker is not None:
            for reader in asker.readers:
                for span in reader.spans():
                    assert isinstance(span, RequestSpan)
                    found[id(span)] = span
    return list(found.values())


class _Counted(BatchSpanProcessor):
    """Counts the spans that are to be exported; those that never are were dropped, as too many waited."""

    def on_end(self, span: ReadableSpan) -> None:
        """Count a span that has ended, and line it up."""
        context = span.context
        if context is not None and context.trace_flags.sampled:
            count_spans("recorded", 1)
        super().on_end(span)


class CountingExporter(SpanExporter):
    """Counts what the collector takes and what not, and logs that once a minute at most, without its address."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self._lines = LogLimit()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Hand the spans over, from the exporting thread."""
        result = self._exporter.export(spans)
        if result is SpanExportResult.SUCCESS:
            count_spans("exported", len(spans))
        else:
            count_spans("failed", len(spans))
            if self._lines.count("failed") is not None:
                _log.warning("the collector does not take traces; they are lost meanwhile", spans=len(spans))
        return result

    def shutdown(self) -> None:
        """Stop."""
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Do nothing: nothing waits here."""
        return self._exporter.force_flush(timeout_millis)
