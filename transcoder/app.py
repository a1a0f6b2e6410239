"""The aiohttp application: path keys, sizes, statuses and headers around the JSON-RPC core.

One catch-all route and no middleware: the answer to every path and method, known or not, is made here, and every
error is a JSON error object (decisions 1.5).
"""

from __future__ import annotations

import logging
import re
from functools import partial
from typing import TYPE_CHECKING, Any

from aiohttp import hdrs, web
from aiohttp.http_exceptions import HttpProcessingError

from runtime.inflating import BadCodingError, TooLongError, decoded
from runtime.metrics import count_http_request, observe_batch
from runtime.operations import load_operations
from transcoder import envelope
from transcoder.admission import Admission, check_key, missing_key, over_quota, quota_headers
from transcoder.batch import MIRRORED, Answer, Batch, failed
from transcoder.clients import Clients
from transcoder.cors import Cors
from transcoder.discover import Discovery
from transcoder.envelope import NULL
from transcoder.errors import Failure, internal
from transcoder.exchange import Exchange, request_id_from, wants_fresh
from transcoder.index import Index
from transcoder.pages import JSON, Pages, base_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import msgspec
    from waypost.internal.v1.access_pb2 import AdmitResponse

    from runtime.settings import HttpSettings

DEMO = "demo"
REQUEST_ID = "X-Request-Id"
SERVER = "waypost"
"""What answers call the server: not the library and its version, as they would otherwise."""

ANSWER: web.AppKey[Callable[[Any], Awaitable[web.StreamResponse]]] = web.AppKey("answer")
"""The application's only handler, for a server that needs no routing."""

_API = re.compile(r"/(?:([^/]*)/)?v1")
_log = logging.getLogger(__name__)


def create_app(
    channel: Any,
    settings: HttpSettings,
    *,
    credential: str | None = None,
    is_stopping: Callable[[], bool] = lambda: False,
    workers: Callable[[], dict[str, int] | None] = lambda: None,
) -> web.Application:
    """Return the application that answers JSON-RPC over the channel (in process or a socket).

    `credential` is the transcoder's secret for a server in another process; `is_stopping` tells that this process takes
    leave, whatever the server says; `workers` returns what readiness says of the processes on the same ports. Serve it
    with `transcoder.serving`, which cancels the calls of clients that go away and answers malformed HTTP in JSON too.
    Raises DuplicateName when two operations claim one JSON-RPC name.
    """
    face = Face(channel, settings, credential, is_stopping, workers)
    app = web.Application(client_max_size=settings.max_body_bytes)
    app[ANSWER] = face.handle
    app.router.add_route("*", "/{path:.*}", face.handle, expect_handler=_leave_expectations)
    return app


async def _leave_expectations(_: web.Request) -> None:
    """Do nothing: the face answers expectations itself."""


class Face:
    """Answers HTTP requests."""

    def __init__(
        self,
        channel: Any,
        settings: HttpSettings,
        credential: str | None,
        is_stopping: Callable[[], bool],
        workers: Callable[[], dict[str, int] | None],
    ) -> None:
        operations = load_operations()
        discovery = Discovery(operations, channel)
        self._admission = Admission(channel)
        self._batch = Batch(Index(operations, channel), discovery)
        self._pages = Pages(self._admission, discovery, is_stopping, workers)
        self._clients = Clients(settings.trusted_proxies)
        self._cors = Cors(settings.cors_origins)
        self._credential = credential
        self._largest = settings.max_body_bytes
        self._most = settings.max_in_flight
        self._in_flight = 0

    async def handle(self, request: web.Request) -> web.Response:
        """Answer any request; every failure becomes a JSON error object."""
        refused = await self._expect(request) if request.headers.get(hdrs.EXPECT) else None
        response = refused or await self._answer(request)
        count_http_request(response.status)
        return response

    async def _answer(self, request: web.Request) -> web.Response:
        request_id = request_id_from(request.headers.get(REQUEST_ID))
        fresh = wants_fresh(request.headers.get(hdrs.CACHE_CONTROL))
        exchange = Exchange(request_id, self._clients.address_of(request), self._credential, fresh)
        headers = {hdrs.SERVER: SERVER, hdrs.CONTENT_TYPE: JSON, REQUEST_ID: request_id}
        if self._cors.enabled:
            headers.update(self._cors.headers(request.headers))
        path = request.rel_url.raw_path
        try:
            api = _API.fullmatch(path)
            if api is None:
                return await self._page(request, path, exchange, headers)
            if request.method != hdrs.METH_POST:
                return self._not_post(request, exchange, headers)
            if self._in_flight >= self._most:
                return error_response(_overload(self._most), 503, exchange, headers)
            self._in_flight += 1
            try:
                return await self._post(request, api[1], exchange, headers)
            finally:
                self._in_flight -= 1
        except ConnectionError:
            raise  # the client went away while it was sending
        except Exception:
            _log.exception("a request failed", extra={"request_id": request_id})
            return error_response(internal(), 500, exchange, headers)

    async def _expect(self, request: web.Request) -> web.Response | None:
        """Invite the body of `Expect: 100-continue`; return the refusal of any other expectation."""
        if request.headers[hdrs.EXPECT].lower() == "100-continue":
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            await request.writer.drain()
            request.writer.output_size = 0  # the answer itself has not begun
            return None
        exchange = Exchange(request_id_from(request.headers.get(REQUEST_ID)), "")
        failure = Failure(400, "INVALID_REQUEST", 'the only expectation understood is "100-continue"')
        return error_response(
            failure, 417, exchange, {hdrs.SERVER: SERVER, hdrs.CONTENT_TYPE: JSON, REQUEST_ID: exchange.request_id}
        )

    async def _post(
        self, request: web.Request, segment: str | None, exchange: Exchange, headers: dict[str, str]
    ) -> web.Response:
        if segment is None:
            return error_response(missing_key(), 401, exchange, headers)
        content, refusal, status = await self._content(request)
        base = partial(self._base, request)
        try:
            if segment != DEMO:
                check_key(segment)
                if refusal is None and not isinstance(content, list):
                    exchange.present(segment)
                    answer = await self._batch.run_single(content, exchange, base)
                    if answer.headers is not None:
                        return _single(answer, headers)
            count = len(content) if isinstance(content, list) else 1
            admitted = await self._admission.admit(None if segment == DEMO else segment, count, exchange)
        except Failure as failure:
            identity = NULL if refusal or isinstance(content, list) else envelope.identity_of(content)
            status = failure.code if failure.code in MIRRORED else 200
            return error_response(failure, status, exchange, headers, identity)
        headers.update(quota_headers(admitted))
        exchange.admit(admitted.principal)
        if isinstance(content, list):
            return await self._many(content, admitted, exchange, headers, base)
        if admitted.admitted < 1:
            identity = NULL if refusal else envelope.identity_of(content)
            return error_response(over_quota(admitted), 429, exchange, headers, identity)
        if refusal is not None:
            return error_response(refusal, status, exchange, headers)
        if segment == DEMO:
            answer = await self._batch.run_single(content, exchange, base)
        return _single(answer, headers)

    async def _many(
        self,
        items: list[msgspec.Raw],
        admitted: AdmitResponse,
        exchange: Exchange,
        headers: dict[str, str],
        base: Callable[[], str],
    ) -> web.Response:
        observe_batch(len(items))
        answers = await self._batch.run(items[: admitted.admitted], exchange, base)
        over = items[admitted.admitted :]
        if over:
            failure = over_quota(admitted)
            answers += [failed(failure, envelope.identity_of(item), exchange) for item in over]
            if failure.retry_after_ms:
                headers[hdrs.RETRY_AFTER] = seconds(failure.retry_after_ms)
        bodies = [answer.body for answer in answers if answer.body is not None]
        return _response(b"[" + b",".join(bodies) + b"]" if bodies else None, 200 if bodies else 204, headers)

    async def _content(self, request: web.Request) -> tuple[bytes | list[msgspec.Raw], Failure | None, int]:
        """Return the body's items, or the failure that answers the whole request once it is admitted."""
        length = request.content_length
        try:
            if length is not None and length > self._largest:
                raise web.HTTPRequestEntityTooLarge(self._largest, length)
            coding = ",".join(request.headers.getall(hdrs.CONTENT_ENCODING, ()))
            body = decoded(await request.read(), coding, self._largest)
        except (web.HTTPRequestEntityTooLarge, TooLongError):
            message = f"the body is larger than {self._largest} bytes; send less at once"
            return b"", Failure(400, "BODY_TOO_LARGE", message), 413
        except (HttpProcessingError, web.RequestPayloadError, BadCodingError):
            return b"", Failure(400, "PARSE_ERROR", "the body's transfer or content encoding is broken"), 400
        try:
            return envelope.outline(body), None, 200
        except Failure as failure:
            return b"", failure, 200

    async def _page(self, request: web.Request, path: str, exchange: Exchange, headers: dict[str, str]) -> web.Response:
        if path not in self._pages:
            failure = Failure(404, "NOT_FOUND", "there is nothing here; the API is at POST /<API_KEY>/v1")
            return error_response(failure, 404, exchange, headers)
        if request.method not in {hdrs.METH_GET, hdrs.METH_HEAD}:
            headers[hdrs.ALLOW] = "GET, HEAD"
            failure = Failure(400, "INVALID_REQUEST", f"{path} answers GET only; the API is at POST /<API_KEY>/v1")
            return error_response(failure, 405, exchange, headers)
        status, headers[hdrs.CONTENT_TYPE], body = await self._pages.answer(path, self._base(request), exchange)
        return web.Response(body=body, status=status, headers=headers)

    def _base(self, request: web.Request) -> str:
        return base_of(request, behind_proxy=self._clients.trusts_peer(request))

    def _not_post(self, request: web.Request, exchange: Exchange, headers: dict[str, str]) -> web.Response:
        if request.method == hdrs.METH_OPTIONS and self._cors.enabled:
            del headers[hdrs.CONTENT_TYPE]
            headers.update(self._cors.preflight(request.headers))
            return web.Response(status=204, headers=headers)
        headers[hdrs.ALLOW] = "POST, OPTIONS" if self._cors.enabled else "POST"
        failure = Failure(400, "INVALID_REQUEST", "send JSON-RPC 2.0 requests with POST")
        return error_response(failure, 405, exchange, headers)


def error_response(
    failure: Failure, status: int, exchange: Exchange, headers: dict[str, str], identity: bytes = NULL
) -> web.Response:
    """Return one error object as a whole HTTP answer."""
    if failure.retry_after_ms and status in MIRRORED:
        headers[hdrs.RETRY_AFTER] = seconds(failure.retry_after_ms)
    return web.Response(body=failure.body(identity, exchange.request_id), status=status, headers=headers)


def seconds(milliseconds: int) -> str:
    """Return a Retry-After value: whole seconds, rounded up."""
    return str(-(-milliseconds // 1000))


def _single(answer: Answer, headers: dict[str, str]) -> web.Response:
    if answer.headers:
        headers.update(answer.headers)
    if answer.retry_after_ms and answer.status in MIRRORED:
        headers[hdrs.RETRY_AFTER] = seconds(answer.retry_after_ms)
    return _response(answer.body, answer.status, headers)


def _response(body: bytes | None, status: int, headers: dict[str, str]) -> web.Response:
    if body is None:
        del headers[hdrs.CONTENT_TYPE]
    return web.Response(body=body, status=status, headers=headers)


def _overload(most: int) -> Failure:
    message = f"the gateway already has {most} requests in progress; try again shortly"
    return Failure(503, "UPSTREAM_UNAVAILABLE", message, retry_after_ms=1000)
