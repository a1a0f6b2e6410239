"""A stand-in for an OpenTelemetry collector, in this process: takes traces over gRPC as a real one does."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Collector(trace_service_pb2_grpc.TraceServiceServicer):
    """Keeps what it is sent: requests in their order, the metadata of each."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.metadata: list[dict[str, Any]] = []
        self.url = ""

    async def Export(self, request: Any, context: Any) -> Any:
        self.requests.append(request)
        self.metadata.append(dict(context.invocation_metadata()))
        return trace_service_pb2.ExportTraceServiceResponse()

    def spans(self, first: int = 0) -> list[Span]:
        """Return the spans of all requests from this one on."""
        return [
            span
            for request in self.requests[first:]
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def resources(self) -> list[dict[str, str]]:
        """Return the processes that spans came from, each once."""
        found: list[dict[str, str]] = []
        for request in self.requests:
            for one in request.resource_spans:
                facts = {fact.key: fact.value.string_value for fact in one.resource.attributes}
                if facts not in found:
                    found.append(facts)
        return found


@asynccontextmanager
async def run_collector() -> AsyncIterator[Collector]:
    """Serve a collector on loopback."""
    collector = Collector()
    server = grpc.aio.server()
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(collector, server)
    collector.url = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    yield collector
    await server.stop(0)
