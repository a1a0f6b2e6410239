"""Who waits for what, for traces: nothing here needs OpenTelemetry, and nothing is noted while tracing is off.

`install` chooses the tracer of the process before anything is built; what is built asks `installed` once. Without one
`READER` stays None, and everything that follows from it stays undone. `runtime.telemetry` makes the tracer.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextvars import Token


class Span(Protocol):
    """The span of a request or of one of its items."""

    trace_id: str
    """32 hexadecimal digits."""

    @property
    def is_recorded(self) -> bool:
        """Whether it is sampled, so that its trace can be looked up."""
        ...

    @property
    def traceparent(self) -> str:
        """The header by which others continue the trace (W3C Trace Context)."""
        ...

    def add_item(self, name: str, reason: str = "") -> None:
        """Add the span of an item that no call was made for: why it was refused, else what answered it."""
        ...

    def end(self, attributes: Mapping[str, str | int], *, failed: bool = False) -> None:
        """End it; once. `failed`: the operator should look at it."""
        ...


class UpstreamSpan(Protocol):
    """The span of one request to an endpoint."""

    trace_id: str

    @property
    def is_recorded(self) -> bool:
        """Whether it is sampled."""
        ...

    def stamp(self, request: bytes) -> bytes:
        """Return an HTTP/1.1 request with the header by which the endpoint continues the trace."""
        ...

    def end(self, outcome: str, status: int) -> None:
        """End it, with the outcome that is counted and the HTTP status, 0 where no answer came."""
        ...


class Tracer(Protocol):
    """Begins the spans of a process."""

    def start_http(self, method: str, route: str, traceparent: str | None) -> Span:
        """Begin the span of an HTTP request; the trace goes on where the caller names one."""
        ...

    def start_call(self, rpc: str, operation: str, traceparent: str | None, *, is_item: bool) -> Span:
        """Begin the span of one item.

        `is_item`: it is one of an HTTP request that has a span; otherwise the call's own request span is begun with it,
        and ends with it.
        """
        ...

    def start_upstream(
        self, chain: str, endpoint: str, purpose: str, calls: int, askers: Sequence[Asker | None]
    ) -> UpstreamSpan:
        """Begin the span of a request of so many calls, which leaves for all its askers."""
        ...


class Reader:
    """The items that wait for a read: one, or those whose reads were folded or joined; `reads` are the folded ones.

    `leads_for` is set while it reads for others that follow it: then it is the reader that it was before.
    """

    __slots__ = ("_spans", "leads_for", "parts", "reads")

    def __init__(self, span: Span | None = None, parts: Sequence[Reader] = (), reads: int = 0) -> None:
        self._spans = [] if span is None else [span]
        self.parts = list(parts)
        self.reads = reads
        self.leads_for: Reader | None = None

    def spans(self) -> Iterator[Span]:
        """Return the items' spans, each once; those that join later as well, from then on."""
        seen: set[int] = set()
        waiting = [self]
        while waiting:
            reader = waiting.pop()
            if id(reader) not in seen:
                seen.add(id(reader))
                yield from reader._spans
                waiting += reversed(reader.parts)


class Asker(NamedTuple):
    """One call on its way to an endpoint: its method, which attempt it is, who waits for it."""

    method: str
    attempt: int
    readers: Sequence[Reader]


READER: ContextVar[Reader | None] = ContextVar("waypost_reader", default=None)
"""Who reads in the running task; None while tracing is off, and for what the gateway does by itself."""

_tracer: Tracer | None = None


def install(tracer: Tracer | None) -> None:
    """Choose the tracer of the process for everything that is built from now on; None for no traces."""
    global _tracer
    _tracer = tracer


def installed() -> Tracer | None:
    """Return the tracer of the process, None where it traces nothing."""
    return _tracer


def begin_fold(reads: int) -> Token[Reader | None] | None:
    """Note that what the running task asks next holds so many reads, until `end_fold`."""
    reader = READER.get()
    return None if reader is None else READER.set(Reader(parts=(reader,), reads=reads))


def end_fold(token: Token[Reader | None] | None) -> None:
    """End what `begin_fold` began."""
    if token is not None:
        READER.reset(token)
