"""HTTP exchanges with endpoints: bounded, timed, never following redirects, never quoting a URL.

Nothing here depends on JSON-RPC, so REST endpoints use it as well. Failures are values, not exceptions: the texts of
exceptions hold host names and must not travel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

from runtime import metrics, upstream_metrics
from runtime.tracing import installed
from server.upstream.failures import Failure, Kind
from server.upstream.http import DIRECT, Client, Proxy

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from runtime.settings import RouteSettings
    from runtime.tracing import Asker, UpstreamSpan
    from server.upstream.endpoint import Endpoint
    from server.upstream.http import Address, Connection, HttpAnswer


MAX_ANSWER_BYTES = 32 * 1024 * 1024
"""No upstream answer longer than this is read (design section 7)."""

TOO_MANY_REQUESTS = 429

_NO_HEADERS: Mapping[str, str] = {}

Session = Client
"""The connections that all pools share."""


def open_session(outbound: RouteSettings | None = None) -> Session:
    """Return the HTTP client that all pools share. To be called on the running loop; the caller closes it.

    `outbound` is how endpoints are reached without settings of their own.
    """
    if outbound is None:
        return Client()
    return Client(proxy=proxy_of(outbound), tls=outbound.tls)


def proxy_of(route: RouteSettings) -> Proxy | None:
    """Return the proxy that the settings name, None where they name none."""
    if route.proxy is None:
        return None
    text = route.proxy.get_secret_value()
    return DIRECT if text == "direct" else Proxy.parse(text)


class Transport:
    """Sends requests over a shared session."""

    def __init__(self, http: Session, *, max_bytes: int = MAX_ANSWER_BYTES) -> None:
        self._http = http
        self._max_bytes = max_bytes

    def deadline(self, timeout: float) -> float:
        """Return when so many seconds will have passed, by the clock of `send`."""
        return self._http.time() + timeout

    async def post(self, address: Address, body: bytes, timeout: float) -> HttpAnswer | Failure:
        """Return the answer to a POST of `body`, or why there is none within `timeout` seconds."""
        request, deadline = address.post(body), self.deadline(timeout)
        got = await self.send(address, request, deadline)
        return await self.settle(got, address, request, deadline, timeout) if isinstance(got, Failure) else got

    def send(
        self, address: Address, request: bytes, deadline: float, on_bytes: Callable[[], None] | None = None
    ) -> Coroutine[Any, Any, HttpAnswer | Failure]:
        """Return the answer to a request that the address wrote, or why there is none; a failure is for `settle`.

        `on_bytes` is called when bytes of it come. To be awaited at once.
        """
        return self._http.exchange(address.origin, request, deadline, self._max_bytes, on_bytes=on_bytes)

    def take(self, address: Address) -> Connection | None:
        """Return an idle connection to the address, to be used at once; None where there is none."""
        return self._http.take(address.origin)

    def begin(
        self, connection: Connection, request: bytes, deadline: float, on_bytes: Callable[[], None]
    ) -> asyncio.Future[HttpAnswer | Failure]:
        """Write a request and return the answer to come, as `send` brings it.

        One that is not wanted any more is for `Connection.abandon`.
        """
        return connection.begin(request, deadline, self._max_bytes, on_bytes)

    async def settle(
        self,
        failure: Failure,
        address: Address,
        request: bytes,
        deadline: float,
        timeout: float,
        on_bytes: Callable[[], None] | None = None,
    ) -> HttpAnswer | Failure:
        """Return what a request comes to for which `send` brought a failure; `timeout` is what it had in seconds.

        A connection that turns out to be dead on first use is replaced once: servers close idle connections whenever
        they like, and every call here is a read.
        """
        got: HttpAnswer | Failure = failure
        if failure.kind is Kind.DROPPED:
            got = await self._http.exchange(
                address.origin, request, deadline, self._max_bytes, fresh=True, on_bytes=on_bytes
            )
        if isinstance(got, Failure) and got.kind is Kind.TIMED_OUT:
            return Failure(Kind.TIMED_OUT, f"no answer within {describe_seconds(timeout)}")
        return got


def describe_seconds(seconds: float) -> str:
    """Return a duration for people: `850 ms`, `4.9 s`."""
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


Purpose = Literal["call", "heavy", "probe", "verify", "head"]
"""Why a request leaves: for callers, for one costly call, to probe an endpoint, to check its chain, to learn its
head."""

State = Literal["closed", "open", "hung", "answers", "limited", "excluded", "admitted", "removed"]
"""A change of an endpoint's state: its breaker closed or opened, it hangs or answers again, it throttles us, it serves
the wrong or the right chain, it was taken out of the configuration."""


class Observer(Protocol):
    """Receives the events of all pools; called on the event loop, so it must be quick and must not raise."""

    def opened(self, chain: str, endpoint: str) -> None:
        """An endpoint is there to be asked."""
        ...

    def sent(self, chain: str, endpoint: str, purpose: Purpose, calls: int) -> None:
        """One HTTP request with that many JSON-RPC calls left."""
        ...

    def ended(self, chain: str, endpoint: str, outcome: metrics.Outcome, seconds: float, calls: int) -> None:
        """One HTTP request came to its end."""
        ...

    def transferred(self, chain: str, endpoint: str, purpose: Purpose, sent: int, received: int) -> None:
        """One HTTP request came to its end, with the bytes of it and of its answer's body; in its opener's context."""
        ...

    def failed(self, chain: str, endpoint: str, kind: Kind) -> None:
        """One call got no result from one endpoint."""
        ...

    def joined(self, chain: str) -> None:
        """One call shares the answer of an identical one in flight."""
        ...

    def hedged(self, chain: str, endpoint: str) -> None:
        """One call was asked of this endpoint as well, because the first one took long."""
        ...

    def disagreed(self, chain: str, endpoint: str, block: int) -> None:
        """An endpoint reported another hash of the block than others did."""
        ...

    def changed(self, chain: str, endpoint: str, state: State) -> None:
        """An endpoint is in another state than before."""
        ...

    def reported(self, chain: str, endpoint: str, head: int) -> None:
        """An endpoint's newest block is another one than before."""
        ...

    def moved(self, chain: str, head: int) -> None:
        """The chain's head is another block than before."""
        ...


class PrometheusObserver:
    """The observer that counts for Prometheus."""

    def opened(self, chain: str, endpoint: str) -> None:
        """Show the endpoint as used."""
        upstream_metrics.set_endpoint_up(chain, endpoint, True)

    def sent(self, chain: str, endpoint: str, purpose: Purpose, calls: int) -> None:
        """Count nothing: requests are counted when they end."""

    ended = staticmethod(upstream_metrics.count_upstream)

    def transferred(self, chain: str, endpoint: str, purpose: Purpose, sent: int, received: int) -> None:
        """Count the bytes."""
        upstream_metrics.count_upstream_bytes(chain, endpoint, sent, received)

    def failed(self, chain: str, endpoint: str, kind: Kind) -> None:
        """Count the failure by kind."""
        upstream_metrics.count_upstream_failure(chain, endpoint, kind.value)

    def joined(self, chain: str) -> None:
        """Count the joined call."""
        upstream_metrics.count_joined(chain)

    def hedged(self, chain: str, endpoint: str) -> None:
        """Count the hedge."""
        upstream_metrics.count_hedge(chain, endpoint)

    def disagreed(self, chain: str, endpoint: str, block: int) -> None:
        """Count the disagreement."""
        upstream_metrics.count_disagreement(chain, endpoint)

    def changed(self, chain: str, endpoint: str, state: State) -> None:
        """Show the endpoint as used or passed over; throttling passes by itself and is counted as a failure."""
        if state == "removed":
            upstream_metrics.forget_endpoint(chain, endpoint)
        elif state != "limited":
            upstream_metrics.set_endpoint_up(chain, endpoint, state in ("closed", "answers", "admitted"))

    def reported(self, chain: str, endpoint: str, head: int) -> None:
        """Show the endpoint's newest block."""
        upstream_metrics.set_endpoint_head(chain, endpoint, head)

    def moved(self, chain: str, head: int) -> None:
        """Show the head."""
        upstream_metrics.set_head(chain, head)


class Exchange:
    """One HTTP request and its answer, shared by its calls, so that it counts once for or against the endpoint.

    `askers` are those of its calls, for its `span`, which it has where requests are traced.
    """

    __slots__ = ("askers", "blamed", "credited", "headers", "retry_after", "seconds", "span", "started", "status")

    def __init__(self, started: float, askers: Sequence[Asker | None] = ()) -> None:
        self.started = started
        self.askers = askers
        self.status = 0
        self.retry_after: float | None = None
        self.headers: Mapping[str, str] = _NO_HEADERS
        self.seconds = 0.0
        self.blamed = False
        self.credited = False
        self.span: UpstreamSpan | None = None


class HttpConnector:
    """What the connectors share: one HTTP exchange with the endpoint, accounted to it and reported to the observer."""

    def __init__(
        self,
        chain: str,
        endpoint: Endpoint,
        transport: Transport,
        observer: Observer,
        clock: Callable[[], float],
    ) -> None:
        self._chain = chain
        self._endpoint = endpoint
        self._transport = transport
        self._observer = observer
        self._clock = clock
        self._tracer = installed()

    async def _exchange(
        self, exchange: Exchange, request: bytes, timeout: float, purpose: Purpose, calls: int = 1
    ) -> HttpAnswer | Failure:
        """Return the answer to a request of so many calls, or why there is none, and note both in the exchange."""
        transport, address, on_bytes = self._transport, self._endpoint.address, self._endpoint.note_byte
        request = self._begin(exchange, request, purpose, calls)
        got: HttpAnswer | Failure | None = None
        try:
            deadline = transport.deadline(timeout)
            got = await transport.send(address, request, deadline, on_bytes)
            if isinstance(got, Failure):
                got = await transport.settle(got, address, request, deadline, timeout, on_bytes)
        finally:
            self._end(exchange, got, len(request), purpose, calls)
        return got

    def _begin(self, exchange: Exchange, request: bytes, purpose: Purpose, calls: int = 1) -> bytes:
        """Note that a request leaves, and return it as it is to be sent; `_end` has to follow."""
        endpoint, chain = self._endpoint, self._chain
        endpoint.begin(exchange, is_heavy=purpose == "heavy")
        self._observer.sent(chain, endpoint.label, purpose, calls)
        if self._tracer is not None:
            exchange.span = self._tracer.start_upstream(chain, endpoint.label, purpose, calls, exchange.askers)
            if endpoint.is_traced:
                return exchange.span.stamp(request)
        return request

    def _end(
        self, exchange: Exchange, got: HttpAnswer | Failure | None, sent: int, purpose: Purpose, calls: int = 1
    ) -> None:
        """Note in the exchange what a request of so many bytes came to; None is one that was given up."""
        endpoint, chain, span = self._endpoint, self._chain, exchange.span
        endpoint.end(exchange)
        exchange.seconds = self._clock() - exchange.started
        self._observer.ended(chain, endpoint.label, outcome_of(got), exchange.seconds, calls)
        answer = None if got is None or isinstance(got, Failure) else got
        if span is not None:
            span.end(outcome_of(got), 0 if answer is None else answer.status)
            if span.is_recorded:
                upstream_metrics.note_upstream_trace(chain, endpoint.label, exchange.seconds, span.trace_id)
        self._observer.transferred(chain, endpoint.label, purpose, sent, 0 if answer is None else len(answer.body))
        if answer is not None:
            exchange.status, exchange.retry_after = answer.status, answer.retry_after
            exchange.headers = answer.headers


def outcome_of(got: HttpAnswer | Failure | None) -> metrics.Outcome:
    """Return how a request ended by its HTTP answer; None is a request that was given up."""
    if got is None:
        return "cancelled"
    if isinstance(got, Failure):
        return "timeout" if got.kind is Kind.TIMED_OUT else "sick"
    if got.status == TOO_MANY_REQUESTS:
        return "limited"
    return "sick" if got.status >= 500 else "answer"


def explain_status(failure: Failure, got: HttpAnswer) -> Failure:
    """Return the failure of a body that is no answer, by the HTTP status where that says more."""
    if got.status == TOO_MANY_REQUESTS:
        return Failure(Kind.LIMITED, "HTTP 429", got.retry_after)
    if got.status != 200:
        return Failure(Kind.HTTP_STATUS, f"HTTP {got.status}", got.retry_after)
    return failure
