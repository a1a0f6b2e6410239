"""Server-sent events: `GET /<key>/v1/stream/<watch>?...` (docs/decisions/0071).

Parameters are query members. What is refused before the first byte is an HTTP answer, later an event `error`.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

import orjson
from aiohttp import hdrs, web

from runtime.metrics import socket_events
from transcoder.errors import Failure, internal, printable
from transcoder.fields import fields_of
from transcoder.requests import NULL
from transcoder.subscriptions import charge_refused, open_stream
from transcoder.upgrades import Refusal, answered
from transcoder.watches import CURSOR

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from transcoder.calls import Admission
    from transcoder.connections import Connection
    from transcoder.exchange import Exchange
    from transcoder.upgrades import Upgrades
    from transcoder.watches import Rendered, Stream, Watch, Watches

LAST_EVENT_ID = "Last-Event-ID"
COMMENT_SECONDS = 15.0
"""After how many seconds without an event a comment is sent, which shows proxies that the stream lives."""
RETRY_MS = 1000
OVER = "end"
"""The kind, and the id, of the event that says that a stream is over: who comes back with it is sent away."""

_HEADERS = {
    hdrs.CONTENT_TYPE: "text/event-stream",
    hdrs.CACHE_CONTROL: "no-store",
    "X-Accel-Buffering": "no",
}
_BEGINNING = b"retry: %d\n\n" % RETRY_MS
_COMMENT = b":\n\n"
_LEAVING_SECONDS = 2.0

_log = logging.getLogger(__name__)


class EventStreams:
    """Answers requests for server-sent events."""

    def __init__(self, upgrades: Upgrades, admission: Admission, watches: Watches) -> None:
        self._upgrades = upgrades
        self._admission = admission
        self._watches = watches

    async def serve(
        self, request: web.BaseRequest, segment: str | None, name: str, exchange: Exchange, headers: dict[str, str]
    ) -> web.StreamResponse:
        """Send the events of the watch of that name until one side ends them; `headers` are those of the answer.

        Raises Refusal for what is answered before the first byte.
        """
        await self._upgrades.check(request, segment, exchange, headers)
        assert segment is not None
        try:
            watch = self._watches.find(name)
            given = printable(request.headers.get(LAST_EVENT_ID, ""))
            if given == OVER and not watch.takes_cursor:
                response = web.Response(status=204, headers=headers)
                del response.headers[hdrs.CONTENT_TYPE]
                answered(exchange, response.status)
                return response
            message = _read(watch, request, given)
        except Failure as failure:
            refusal = await charge_refused(segment, self._admission, failure, exchange)
            raise Refusal(refusal, refusal.code) from None
        stream: Stream | None = None
        answer = web.StreamResponse(headers={**headers, **_HEADERS})
        sent = _EventStream(answer, cast("Connection", request.protocol), exchange.request_id)
        try:
            with self._upgrades.open(request, segment, exchange, "sse", sent):
                try:
                    stream = await open_stream(watch, message, segment, self._admission, exchange)
                except Failure as failure:
                    raise Refusal(failure, failure.code) from None
                if self._upgrades.is_leaving:
                    raise Refusal(_stopping(), 503)
                answer.force_close()
                await answer.prepare(request)
                answered(exchange, answer.status)
                await sent.run(stream)
        finally:
            if stream is not None:
                stream.cancel()
        return answer


def _read(watch: Watch, request: web.BaseRequest, last_event_id: str) -> Message:
    """Return the request that the query members stand for. Raises Failure (400)."""
    query = request.rel_url.query
    params: dict[str, Any] = {}
    fields = {field.json: field for field in fields_of(watch.operation.request.DESCRIPTOR)}
    for name in query:
        if name in params:
            continue
        values, field = query.getall(name), fields.get(name)
        if field is not None and field.repeated:
            is_text = field.options.csv or watch.operation.takes_items
            params[name] = ",".join(values) if is_text else values
        elif len(values) > 1:
            raise Failure(400, "INVALID_ARGUMENT", f"{name} is given {len(values)} times; give it once", field=name)
        else:
            params[name] = values[0]
    if last_event_id and watch.takes_cursor:
        params[CURSOR] = last_event_id
    return watch.read(orjson.dumps(params))


class _EventStream:
    """One answer that stays open."""

    def __init__(self, answer: web.StreamResponse, connection: Connection, request_id: str) -> None:
        self._answer = answer
        self._connection = connection
        self._request_id = request_id
        self._stream: Stream | None = None
        self._is_over = asyncio.Event()
        self._is_silent = True

    async def run(self, stream: Stream) -> None:
        """Send the events of the stream, then why there are no more."""
        self._stream, count = stream, socket_events("sse")
        commenting = asyncio.create_task(self._comment())
        try:
            await self._send(_BEGINNING)
            while events := await stream.next():
                await self._send(b"".join(map(_event, events)))
                count.count += len(events)
            last = b"event: %s\nid: %s\ndata: {}\n\n" % (OVER.encode(), OVER.encode())
        except Failure as failure:
            last = b"event: error\ndata: %s\n\n" % failure.body(NULL, self._request_id)
        except ConnectionError:
            raise
        except Exception:
            _log.exception("an event stream failed", extra={"request_id": self._request_id})
            last = b"event: error\ndata: %s\n\n" % internal().body(NULL, self._request_id)
        finally:
            commenting.cancel()
            self._is_over.set()
        await self._send(last)
        await self._answer.write_eof()

    async def leave(self) -> None:
        """End it because the gateway stops."""
        if self._stream is None:
            # It is still being opened, and refused once that has ended.
            return
        self._stream.end(_stopping())
        try:
            async with asyncio.timeout(_LEAVING_SECONDS):
                await self._is_over.wait()
                await self._connection.drained()
        except (TimeoutError, ConnectionError):
            self._connection.abort()

    async def _send(self, text: bytes) -> None:
        await self._connection.drained()
        self._is_silent = False
        await self._answer.write(text)
        self._connection.watch_unsent()

    async def _comment(self) -> None:
        with suppress(ConnectionError):
            while True:
                await asyncio.sleep(COMMENT_SECONDS)
                if self._is_silent:
                    await self._send(_COMMENT)
                self._is_silent = True


def _stopping() -> Failure:
    message = "this gateway is stopping; go on at the cursor"
    return Failure(503, "UPSTREAM_UNAVAILABLE", message, retry_after_ms=RETRY_MS)


def _event(event: Rendered) -> bytes:
    if not event.cursor:
        return b"event: %s\ndata: %s\n\n" % (event.kind.encode(), event.text)
    return b"event: %s\nid: %s\ndata: %s\n\n" % (event.kind.encode(), event.cursor.encode(), event.text)
