"""How the application is served.

What aiohttp would answer by itself is answered in JSON too, and nothing is logged that holds a path: the path holds
the key. Connections are bounded (`transcoder.connections`).
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from aiohttp import hdrs, web
from aiohttp.http_exceptions import HttpProcessingError

from runtime.addresses import client_network
from runtime.log_limits import LogLimit
from transcoder.app import ANSWER, CONNECTIONS, REQUEST_ID, SERVER
from transcoder.connections import LINGERING_SECONDS, READ_BUFFER, Connection
from transcoder.envelope import NULL
from transcoder.errors import Failure, internal
from transcoder.exchange import request_id_from
from transcoder.pages import JSON

if TYPE_CHECKING:
    from transcoder.connections import Connections

_log = logging.getLogger(__name__)
_malformed = LogLimit()


class Runner(web.AppRunner):
    """An `aiohttp.web.AppRunner` for `create_app`.

    It cancels a request, and the calls made for it, when the HTTP client goes away; it answers malformed HTTP with a
    JSON error object; it keeps no access log. Further arguments are `AppRunner`'s own (`keepalive_timeout`,
    `shutdown_timeout`).
    """

    def __init__(self, app: web.Application, **options: Any) -> None:
        # The face undoes compression itself, within its bound. The library would go on with what is left of a refused
        # body, for seconds: half a megabyte may become five hundred.
        super().__init__(
            app,
            access_log=None,
            handler_cancellation=True,
            handle_signals=False,
            auto_decompress=False,
            lingering_time=LINGERING_SECONDS,
            read_bufsize=READ_BUFFER,
            **options,
        )

    async def _make_server(self) -> web.Server:
        server = await super()._make_server()
        return _Server(
            self.app[CONNECTIONS],
            # One route has all paths: looking for it would take longer than most of what the face does.
            self.app[ANSWER],
            request_factory=server.request_factory,
            handler_cancellation=server.handler_cancellation,
            loop=asyncio.get_running_loop(),
            **server._kwargs,
        )


class _Server(web.Server):
    def __init__(self, bounds: Connections, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._bounds = bounds

    def __call__(self) -> web.RequestHandler:
        return _Connection(self, self._bounds, loop=self._loop, **self._kwargs)


class _Connection(Connection):
    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer what is no HTTP request, or a handler's defect, with a JSON error object; closes the connection."""
        request_id = request_id_from(None)
        # The exception's own text repeats what was sent, perhaps a key: its type must do.
        kind = type(exc).__name__
        unwritten = 0 if status >= 500 else _malformed.count((kind, client_network(request.remote or "")))
        if unwritten is not None:
            more = {"request_id": request_id, "unwritten": unwritten}
            _log.warning("an HTTP request failed: %s", kind, extra=more)
        if request.writer.output_size > 0:
            raise ConnectionError("the answer has begun already")
        failure = internal() if status >= 500 else Failure(400, "INVALID_REQUEST", "this is not a valid HTTP request")
        response = _json(failure, status, request_id)
        response.force_close()
        return response

    def log_exception(self, *args: Any, **details: Any) -> None:
        """Log a defect with its traceback; a broken body, met again when its rest is read away, is a client's own.

        So is a connection that was closed meanwhile.
        """
        failure = details.get("exc_info")
        is_closed = isinstance(failure, RuntimeError) and self.transport is None
        if not is_closed and not isinstance(failure, HttpProcessingError | web.RequestPayloadError):
            super().log_exception(*args, **details)


def _json(failure: Failure, status: int, request_id: str) -> web.Response:
    headers = {hdrs.SERVER: SERVER, hdrs.CONTENT_TYPE: JSON, REQUEST_ID: request_id}
    return web.Response(body=failure.body(NULL, request_id), status=status, headers=headers)
