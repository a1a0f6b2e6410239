"""The spans of calls: begun with a call's state, ended with its count. Nothing of it is there while tracing is off.

Each item has a span of its own, a child of the HTTP request that it came with; a call over gRPC, which has one item, is
the request as well.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

import grpc

from runtime.logs import redact_text
from runtime.metrics import note_operation_trace
from runtime.tracing import READER, Reader

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime.tracing import Tracer
    from server.rpc.pipeline.call import Context, Method, RequestState, Step

    Starter = Callable[[Any, bool], RequestState]

TRACEPARENT = "traceparent"


class Traces:
    """Puts spans around the calls of all methods."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    def starter(self, method: Method, start: Starter) -> Starter:
        """Return what makes the state of a call, with its span."""
        if method.operation is None and not method.carries:
            # Internal ones are no items.
            return start
        rpc, operation, begin = method.path.strip("/"), method.name, self._tracer.start_call

        def start_traced(received: Any, trusted: bool) -> RequestState:
            state = start(received, trusted)
            given = state.metadata.get(TRACEPARENT)
            parent = given if isinstance(given, str) else None
            state.span = begin(rpc, operation, parent, is_item=state.trusted)
            return state

        return start_traced

    def around(self, inner: Step) -> Step:
        """Return the step, whose reads are then those of the call's span."""

        async def read(request: bytes, context: Context, state: RequestState) -> bytes:
            if state.span is not None:
                READER.set(Reader(state.span))
            return await inner(request, context, state)

        return read

    def counter(self, operation: str, count: Callable[[RequestState], None]) -> Callable[[RequestState], None]:
        """Return what counts an answered call and ends its span."""

        def end(state: RequestState) -> None:
            count(state)
            end_trace(operation, state, monotonic() - state.started, "OK", None)

        return end


def end_trace(
    operation: str, state: RequestState, seconds: float, status: str, reason: str | None, *, failed: bool = False
) -> None:
    """End the span of a call with what came of it, and name its trace beside the time that it took."""
    span = state.span
    if span is None:
        return
    if not span.is_recorded:
        span.end({})
        return
    if state.stream is None:
        note_operation_trace(operation, state.chain, seconds, span.trace_id)
    attributes: dict[str, str | int] = {
        "waypost.request_id": redact_text(state.request_id),
        "rpc.grpc.status_code": _number(status),
    }
    for name, value in (("chain", state.chain), ("cache", state.cache.status), ("reason", reason)):
        if value:
            attributes[f"waypost.{name}"] = value
    span.end(attributes, failed=failed)


def _number(status: str) -> int:
    number: int = grpc.StatusCode[status].value[0]
    return number
