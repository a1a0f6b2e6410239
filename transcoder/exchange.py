"""One HTTP request's identity: its id, its client's address, the metadata that carries them, its browser origin."""

from __future__ import annotations

import random
import re
from contextvars import ContextVar
from typing import TYPE_CHECKING

from runtime.listening import Proxies
from runtime.logs import redact_text
from transcoder.errors import Failure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from aiohttp import web

    from runtime.tracing import Span, Tracer


REQUEST_ID = "X-Request-Id"
SERVER = "waypost"
"""The server's name in answers: not the library and its version, as they would otherwise."""

CACHE_CONTROL = "x-waypost-cache-control"
CREDENTIAL = "x-waypost-credential"

COST = "x-waypost-cost"
COST_HEADER = "X-Waypost-Cost"
CACHE_HEADER = "X-Waypost-Cache"

# Headers that describe an answer besides its body, by the server's metadata that holds them.
ANSWER_HEADERS = {
    "x-waypost-cache": CACHE_HEADER,
    COST: COST_HEADER,
    "ratelimit": "RateLimit",
    "ratelimit-policy": "RateLimit-Policy",
}

# Directives of RFC 9111, section 5.2.1, by which a caller asks for an answer that comes from a node now.
_FRESH = frozenset({"no-cache", "no-store", "max-age=0"})
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Exchange:
    """Identity of one HTTP request.

    `metadata` goes with every call made for it; `fresh` requests to bypass the cache; `admitted`: the server has
    charged it, so that its calls need no key. `span` is that of the request where it is traced. `print_failure` returns
    the response object of a failure, of its request's id as it stood in the body and this request's own id.
    """

    __slots__ = ("admitted", "client", "metadata", "print_failure", "request_id", "span")

    def __init__(self, request_id: str, client: str, credential: str | None = None, fresh: bool = False) -> None:
        self.request_id = request_id
        self.client = client
        self.admitted = False
        self.span: Span | None = None
        self.print_failure: Callable[[Failure, bytes, str], bytes] = Failure.body
        self.metadata: tuple[tuple[str, str], ...] = (("x-request-id", request_id), ("x-waypost-client", client))
        if credential is not None:
            self.metadata += ((CREDENTIAL, credential),)
        if fresh:
            self.metadata += ((CACHE_CONTROL, "no-cache"),)

    def trace(self, span: Span) -> None:
        """Make the calls that follow, and the log lines, part of a trace."""
        self.span = span
        self.metadata += (("traceparent", span.traceparent),)

    def log_ids(self) -> dict[str, str]:
        """Return what the log lines of the request name."""
        ids = {"request_id": self.request_id}
        return ids if self.span is None else {**ids, "trace_id": self.span.trace_id}

    def present(self, key: str) -> None:
        """Let the call that follows be admitted by its key."""
        self.metadata += (("x-api-key", key),)

    def admit(self, principal: str) -> None:
        """Make the calls that follow on behalf of the principal that the server named."""
        self.admitted = True
        self.metadata += (("x-waypost-principal", principal),)


ROUTE = "/{key}/v1"
"""The API's path as traces name it: a key in it stays out of them."""
SOCKET_ROUTE = ROUTE + "/ws"
STREAM_ROUTE = ROUTE + "/stream/{watch}"
CHAIN_ROUTE = "/{key}/rpc/{chain}"
REST_ROUTE = CHAIN_ROUTE + "/{path}"


def trace_requests(
    tracer: Tracer,
    handle: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]],
    route_of: Callable[[web.BaseRequest], str | None],
) -> tuple[Callable[[web.BaseRequest], Awaitable[web.StreamResponse]], Callable[..., Exchange]]:
    """Return a `handle` that puts a span around each request to the API, and what makes exchanges that are part of it.

    `route_of` returns the path of a request to the API without what its caller wrote there, None for any other.
    """
    running: ContextVar[Span | None] = ContextVar("waypost_http_span", default=None)

    def identify(request_id: str, client: str, credential: str | None, fresh: bool) -> Exchange:
        exchange = Exchange(request_id, client, credential, fresh)
        span = running.get()
        if span is not None:
            exchange.trace(span)
        return exchange

    async def traced(request: web.BaseRequest) -> web.StreamResponse:
        route = route_of(request)
        if route is None:
            running.set(None)
            return await handle(request)
        span = tracer.start_http(request.method, route, request.headers.get("traceparent"))
        running.set(span)
        ended: dict[str, str | int] = {}
        try:
            response = await handle(request)
            ended["http.response.status_code"] = response.status
            if span.is_recorded:
                ended["waypost.request_id"] = redact_text(response.headers[REQUEST_ID])
            return response
        finally:
            # Without a status the client has gone.
            span.end(ended, failed=int(ended.get("http.response.status_code", 0)) >= 500)

    return traced, identify


def request_id_from(header: str | None) -> str:
    """Return the caller's own request id where it is well formed, else a fresh one."""
    if header is not None and _REQUEST_ID.fullmatch(header):
        return header
    # Ids are to be distinct, not secret: what is cheap will do.
    return f"{random.getrandbits(80):020x}"


def wants_fresh(header: str | None) -> bool:
    """Return whether a `Cache-Control` header asks for an answer that is not out of a cache."""
    return header is not None and any(word.strip().lower() in _FRESH for word in header.split(","))


UNKNOWN = "unknown"


class Clients(Proxies):
    """Finds client addresses of HTTP requests."""

    def address_of(self, request: web.BaseRequest) -> str:
        """Return the client's address: the last one in X-Forwarded-For that is no trusted proxy, else the peer's."""
        return self.client_of(request.remote or UNKNOWN, lambda: request.headers.getall("X-Forwarded-For", ()))

    def trusts_peer(self, request: web.BaseRequest) -> bool:
        """Return whether the socket's peer is a trusted proxy."""
        return bool(self.trusts(request.remote or ""))


EXPOSED = "X-Request-Id, RateLimit, RateLimit-Policy, Retry-After, X-Waypost-Cache, X-Waypost-Cost"

_ALLOWED = "Content-Type, X-Request-Id, Cache-Control, Last-Event-ID, traceparent"
_PRIVATE_NETWORK = "Access-Control-Request-Private-Network"


class Cors:
    """Decides which response headers a browser's origin gets."""

    def __init__(self, origins: Sequence[str]) -> None:
        self._origins = frozenset(origins)
        self._any = "*" in self._origins
        self.enabled = bool(self._origins)

    def headers(self, request: Mapping[str, str]) -> dict[str, str]:
        """Return the headers that let the request's origin read the answer; empty for an origin not allowed."""
        if not self.enabled:
            return {}
        if self._any:
            return {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": EXPOSED}
        origin = request.get("Origin")
        if origin not in self._origins:
            return {"Vary": "Origin"}
        return {
            "Access-Control-Allow-Origin": str(origin),
            "Access-Control-Expose-Headers": EXPOSED,
            "Vary": "Origin",
        }

    def preflight(self, request: Mapping[str, str], methods: str) -> dict[str, str]:
        """Return the headers of the answer to an `OPTIONS` preflight of a path that takes the methods."""
        headers = self.headers(request)
        if "Access-Control-Allow-Origin" in headers:
            headers["Access-Control-Allow-Methods"] = methods
            headers["Access-Control-Allow-Headers"] = _ALLOWED
            if _PRIVATE_NETWORK in request:
                # Browsers ask so before a public page reaches an address of the private network.
                headers["Access-Control-Allow-Private-Network"] = "true"
            headers["Access-Control-Max-Age"] = "600"
        return headers
