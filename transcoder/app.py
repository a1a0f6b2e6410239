"""The aiohttp application: path keys, sizes, statuses and headers around the JSON-RPC core.

One catch-all route and no middleware: the answer to every path and method, known or not, is made here, and every
error is a JSON error object (decisions 1.5).
"""

from __future__ import annotations

import asyncio
import logging
import re
from functools import partial
from typing import TYPE_CHECKING, Any

from aiohttp import HttpVersion11, hdrs, web

from runtime.fair_share import FairShare
from runtime.listening import client_network
from runtime.metrics import count_http_request
from runtime.operations import load_operations, load_watches
from runtime.tracing import installed
from transcoder.calls import Admission
from transcoder.chain_rpc import CHAIN_PATH, ChainRpc, print_failure
from transcoder.chain_sockets import ChainSockets, ChainSpeaker
from transcoder.connections import Connections
from transcoder.discover import Discovery
from transcoder.dispatch import Batch, Index
from transcoder.errors import Failure, internal
from transcoder.exchange import (
    CHAIN_ROUTE,
    REQUEST_ID,
    REST_ROUTE,
    ROUTE,
    SERVER,
    SOCKET_ROUTE,
    STREAM_ROUTE,
    Clients,
    Cors,
    Exchange,
    request_id_from,
    trace_requests,
    wants_fresh,
)
from transcoder.messages import DEMO, Messages
from transcoder.pages import JSON, Pages, base_of, vary_by
from transcoder.requests import (
    NULL,
    SMALL,
    BodyReader,
    OpenBodies,
    unacceptable,
)
from transcoder.responses import (
    WholeResponse,
    closing,
    error_response,
    refused_response,
    single_response,
    status_of,
    whole_response,
)
from transcoder.server_sent_events import EventStreams
from transcoder.sockets import Sockets
from transcoder.subscriptions import ApiSpeaker
from transcoder.upgrades import Refusal, Upgrades, answered
from transcoder.watches import Watches

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from runtime.settings import HttpSettings
    from runtime.tracing import Tracer
    from transcoder.console_files import ConsoleFiles
    from transcoder.kept import KeptAnswers
    from transcoder.sockets import Socket, Speaker

ANSWER: web.AppKey[Callable[[Any], Awaitable[web.StreamResponse]]] = web.AppKey("answer")
"""The application's only handler, for a server that needs no routing."""
CONNECTIONS: web.AppKey[Connections] = web.AppKey("connections")
"""Which connections may be open, for a server that bounds them."""
UPGRADES: web.AppKey[Upgrades] = web.AppKey("upgrades")
"""What stays open, for a server that ends it."""

MOST_OPEN_PER_KEY = 256
MOST_OPEN_PER_DEMO_CLIENT = 4
MOST_OPEN_ON_DEMO = 128
"""Most bodies that are still arriving; those that come with their headers do not count."""

_API = re.compile(r"/(?:([^/]*)/)?v1")
_OPEN = re.compile(r"/(?:(?P<key>[^/]*)/)?v1/(?:ws|stream/(?P<watch>[^/]*))")
_log = logging.getLogger(__name__)


def create_app(
    channel: Any,
    settings: HttpSettings,
    *,
    credential: str | None = None,
    is_stopping: Callable[[], bool] = lambda: False,
    workers: Callable[[], dict[str, int] | None] = lambda: None,
    generation: Callable[[], int | None] = lambda: None,
    kept: KeptAnswers | None = None,
    profile: str = "mainnet",
    console: ConsoleFiles | None = None,
) -> web.Application:
    """Return the application that answers JSON-RPC over the channel (in process or a socket).

    `credential` is the transcoder's secret for a server in another process; `is_stopping` returns whether this process
    is leaving, whatever the server reports; `workers` returns what readiness reports of the processes on the same
    ports, `generation` which of its settings this process has. `kept` are the answers that the server keeps, where it
    is in this process. `profile` is whose examples documents have; `console` what browsers get at `/`, text where it is
    None. Serve it with `transcoder.serving`: it cancels the calls of clients that go away and answers malformed HTTP in
    JSON too. Raises DuplicateName when two operations claim one JSON-RPC name.
    """
    clients = Clients(settings.trusted_proxies)
    connections = Connections(settings, clients)
    tracer = installed()
    rpc = JsonRpcApp(
        channel,
        settings,
        credential,
        is_stopping,
        workers,
        generation,
        clients,
        connections,
        kept,
        profile,
        console,
        tracer,
    )
    handle = rpc.handle if tracer is None else rpc.traced(tracer)
    app = web.Application(client_max_size=settings.max_body_bytes)
    app[ANSWER] = handle
    app[CONNECTIONS] = connections
    app[UPGRADES] = rpc.upgrades
    app.on_startup.append(rpc.discovery.prepare)
    if console is not None:
        app.on_startup.append(console.prepare)
    app.router.add_route("*", "/{path:.*}", handle, expect_handler=_leave_expectations)
    return app


async def _leave_expectations(_: web.Request) -> None:
    """Do nothing: the face answers expectations itself."""


class JsonRpcApp:
    """Answers HTTP requests: JSON-RPC at `/<key>/v1`, plain pages beside it."""

    def __init__(
        self,
        channel: Any,
        settings: HttpSettings,
        credential: str | None,
        is_stopping: Callable[[], bool],
        workers: Callable[[], dict[str, int] | None],
        generation: Callable[[], int | None],
        clients: Clients,
        connections: Connections,
        kept: KeptAnswers | None = None,
        profile: str = "mainnet",
        console: ConsoleFiles | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        self.discovery = Discovery(channel, profile)
        self._admission = Admission(channel)
        self._batch = Batch(Index((*load_operations(), *load_watches()), channel, kept), self.discovery)
        self._chain_rpc = ChainRpc(channel)
        self._chain_sockets = ChainSockets(channel, self._chain_rpc)
        self._pages = Pages(self._admission, self.discovery, is_stopping, workers, generation, console)
        self._clients = clients
        self._cors = Cors(settings.cors_origins)
        self._credential = credential
        self._exchange: Callable[[str, str, str | None, bool], Exchange] = Exchange
        in_flight = FairShare(settings.max_in_flight)
        self._messages = Messages(self._admission, in_flight, connections.admitted)
        self._tracer = tracer
        pace = (settings.body_timeout, settings.min_transfer_rate)
        keyed = OpenBodies(MOST_OPEN_PER_KEY, settings.max_in_flight)
        self._bodies = BodyReader(settings.max_body_bytes, *pace, keyed)
        demo = OpenBodies(MOST_OPEN_PER_DEMO_CLIENT, MOST_OPEN_ON_DEMO)
        self.upgrades = Upgrades(self._admission, connections, settings, self._base)
        self._watches = Watches(load_watches(), channel)
        self._sockets = Sockets(self.upgrades, settings, credential, keyed)
        self._event_streams = EventStreams(self.upgrades, self._admission, self._watches)
        self._demo_bodies = BodyReader(min(SMALL, settings.max_body_bytes), *pace, demo)

    def traced(self, tracer: Tracer) -> Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]:
        """Return a `handle` that puts a span around each request to the API, of which its calls are part."""
        handle, self._exchange = trace_requests(tracer, self.handle, _route_of)
        return handle

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer any request; every failure becomes a JSON error object."""
        began = asyncio.get_running_loop().time()
        given = request.headers
        request_id = request_id_from(given.get(REQUEST_ID))
        fresh = hdrs.CACHE_CONTROL in given and wants_fresh(given[hdrs.CACHE_CONTROL])
        exchange = self._exchange(request_id, self._clients.address_of(request), self._credential, fresh)
        headers = {hdrs.SERVER: SERVER, hdrs.CONTENT_TYPE: JSON, REQUEST_ID: request_id}
        if self._cors.enabled:
            headers.update(self._cors.headers(given))
        path = request.rel_url.raw_path
        try:
            is_usual = hdrs.EXPECT not in given and request.version >= HttpVersion11
            broken = None if is_usual else unacceptable(request)
            api = _API.fullmatch(path)
            if broken is not None:
                response = closing(error_response(*broken, exchange, headers))
            elif api is None and (chain := CHAIN_PATH.fullmatch(path)) is not None:
                if hdrs.UPGRADE in given and request.method == hdrs.METH_GET and chain["rest"] is None:
                    return await self._stay_open(request, chain, exchange, headers)
                response = await self._serve_chain(request, chain, exchange, headers, began)
            elif api is None:
                place = _OPEN.fullmatch(path)
                if place is None:
                    response = await self._page(request, path, exchange, headers)
                elif request.method == hdrs.METH_GET:
                    return await self._stay_open(request, place, exchange, headers)
                else:
                    message = "open this with GET; the API is at POST /<API_KEY>/v1"
                    response = self._not_allowed(request, "GET", message, exchange, headers)
            elif request.method != hdrs.METH_POST:
                message = "send JSON-RPC 2.0 requests with POST"
                response = self._not_allowed(request, "POST", message, exchange, headers)
            else:
                response = await self._post(request, api[1], self._batch, exchange, headers, began)
        except ConnectionError:
            raise  # the client disconnected while it was sending
        except Exception:
            _log.exception("a request failed", extra=exchange.log_ids())
            response = error_response(internal(), 500, exchange, headers)
        count_http_request(response.status)
        return response

    async def _serve_chain(
        self,
        request: web.BaseRequest,
        place: re.Match[str],
        exchange: Exchange,
        headers: dict[str, str],
        began: float,
    ) -> web.Response:
        """Answer a request to a chain's own interface: its JSON-RPC by POST, its REST gateway by GET."""
        key, chain = place["key"], place["chain"]
        if place["rest"] is not None:
            call = self._chain_rpc.below(chain, request.rel_url.raw_path_qs[place.start("rest") :], exchange)
            if request.method == hdrs.METH_GET:
                return await self._get(request, key, call, exchange, headers)
            message = "this is a path of the chain's REST gateway, of which GETs are passed on; POST JSON-RPC above it"
            return self._not_allowed(request, "GET", message, exchange, headers)
        calls = self._chain_rpc.of(chain, exchange)
        if request.method == hdrs.METH_POST:
            return await self._post(request, key, calls, exchange, headers, began)
        message = "POST JSON-RPC 2.0 requests of the chain here, or open a WebSocket"
        return self._not_allowed(request, "POST", message, exchange, headers)

    async def _get(
        self, request: web.BaseRequest, segment: str, calls: Batch, exchange: Exchange, headers: dict[str, str]
    ) -> web.Response:
        """Answer a request that is its path and query alone."""
        try:
            await self._messages.check_caller(segment, exchange, headers, soon=request.content.is_eof())
            base = partial(self._base, request)
            answer = await self._messages.answer(calls, segment, b"", None, exchange, headers, base, request.protocol)
        except Failure as failure:
            return error_response(failure, status_of(failure), exchange, headers)
        return single_response(answer, request, headers)

    async def _post(
        self,
        request: web.BaseRequest,
        segment: str | None,
        calls: Batch,
        exchange: Exchange,
        headers: dict[str, str],
        began: float,
    ) -> web.Response:
        """Answer a request to the API, or to a chain, by what makes its `calls`."""
        try:
            return await self._read_and_answer(request, segment, calls, exchange, headers, began)
        except Failure as failure:
            return await refused_response(request, failure, calls, exchange, headers, began)

    async def _read_and_answer(
        self,
        request: web.BaseRequest,
        segment: str | None,
        calls: Batch,
        exchange: Exchange,
        headers: dict[str, str],
        began: float,
    ) -> web.Response:
        """Answer as `_post` does. Raises Failure for what is refused before its body is read."""
        segment = await self._messages.check_caller(segment, exchange, headers, soon=request.content.is_eof())
        if segment == DEMO:
            bodies, owner = self._demo_bodies, client_network(exchange.client)
        else:
            bodies, owner = self._bodies, self._admission.holder_of(segment)
        self._messages.check_room(segment)
        content, broken, soon = await bodies.items(request, owner, began, calls.most_items)
        base = partial(self._base, request)
        try:
            answer = await self._messages.answer(
                calls, segment, content, broken, exchange, headers, base, request.protocol
            )
            if answer.refusal is not None and not soon:
                headers.update(answer.headers or {})
                raise answer.refusal
        except Failure as failure:
            identity = NULL if broken or not soon or isinstance(content, list) else calls.identity_of(content)
            response = error_response(failure, status_of(failure), exchange, headers, identity)
            return response if soon and request.content.is_eof() else closing(response)
        response = single_response(answer, request, headers)
        return response if broken is None or request.content.is_eof() else closing(response)

    async def _stay_open(
        self, request: web.BaseRequest, place: re.Match[str], exchange: Exchange, headers: dict[str, str]
    ) -> web.StreamResponse:
        """Serve a socket or an event stream until its end."""
        key, watch, chain = place["key"], place.groupdict().get("watch"), place.groupdict().get("chain")
        if chain is not None:
            exchange.print_failure = print_failure
        if self._tracer is not None:
            route = CHAIN_ROUTE if chain is not None else SOCKET_ROUTE if watch is None else STREAM_ROUTE
            exchange.trace(self._tracer.start_http(request.method, route, request.headers.get("traceparent")))
        try:
            if watch is not None:
                return await self._event_streams.serve(request, key, watch, exchange, headers)
            return await self._sockets.serve(request, key, exchange, headers, partial(self._speaker, request, chain))
        except Refusal as refusal:
            answered(exchange, refusal.status)
            return error_response(refusal.failure, refusal.status, exchange, headers)
        except Exception as failure:
            if isinstance(failure, ConnectionError) or not request.writer.output_size:
                raise
            _log.exception("what stayed open failed", extra=exchange.log_ids())
            raise ConnectionError("the answer has begun already") from None
        finally:
            if exchange.span is not None:
                # The client has gone, or a defect is answered.
                exchange.span.end({})

    def _speaker(self, request: web.BaseRequest, chain: str | None, socket: Socket, segment: str) -> Speaker:
        base = partial(self._base, request)
        if chain is not None:
            shared = self._chain_sockets
            return ChainSpeaker(socket, segment, chain, shared, self._messages, self._admission, base, request.protocol)
        return ApiSpeaker(
            socket, segment, self._messages, self._batch, self._admission, self._watches, base, request.protocol
        )

    async def _page(
        self, request: web.BaseRequest, path: str, exchange: Exchange, headers: dict[str, str]
    ) -> web.Response:
        if path not in self._pages:
            failure = Failure(404, "NOT_FOUND", "there is nothing here; the API is at POST /<API_KEY>/v1")
            return error_response(failure, 404, exchange, headers)
        methods = self._pages.methods_of(path)
        if request.method not in methods:
            message = f"{path} answers {methods[0]} only; the API is at POST /<API_KEY>/v1"
            return self._not_allowed(request, ", ".join(methods), message, exchange, headers)
        page = await self._pages.answer(request, self._base(request), exchange)
        if page.own:
            for name in self._cors.headers(request.headers):
                del headers[name]
        headers[hdrs.CONTENT_TYPE] = page.content_type
        headers.update(page.headers)
        if page.varies:
            vary_by(headers, *page.varies)
        response = whole_response(page.body, page.status, request, headers)
        return response if request.content.is_eof() else closing(response)

    def _base(self, request: web.BaseRequest) -> str:
        return base_of(request, behind_proxy=self._clients.trusts_peer(request))

    def _not_allowed(
        self, request: web.BaseRequest, methods: str, message: str, exchange: Exchange, headers: dict[str, str]
    ) -> web.Response:
        if request.method == hdrs.METH_OPTIONS and self._cors.enabled:
            del headers[hdrs.CONTENT_TYPE]
            headers.update(self._cors.preflight(request.headers, methods))
            return WholeResponse(None, 204, headers)
        headers[hdrs.ALLOW] = f"{methods}, OPTIONS" if self._cors.enabled else methods
        return error_response(Failure(400, "INVALID_REQUEST", message), 405, exchange, headers)


def _route_of(request: web.BaseRequest) -> str | None:
    """Return the route of a request that is answered as a whole; sockets and streams have spans of their own."""
    path, method = request.rel_url.raw_path, request.method
    if method == hdrs.METH_POST and _API.fullmatch(path):
        return ROUTE
    chain = CHAIN_PATH.fullmatch(path)
    if chain is not None and method == hdrs.METH_POST:
        return CHAIN_ROUTE
    return REST_ROUTE if chain is not None and chain["rest"] is not None and method == hdrs.METH_GET else None
