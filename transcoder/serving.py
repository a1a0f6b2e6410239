"""How the application is served.

What aiohttp would answer by itself is answered in JSON too, and nothing is logged that holds a path: the path holds
the key. Connections are bounded (`transcoder.connections`).
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from contextlib import ExitStack
from time import monotonic
from typing import TYPE_CHECKING, Any

from aiohttp import hdrs, web
from aiohttp.http_exceptions import HttpProcessingError

from runtime.addresses import client_network
from runtime.listening import count_waiting, drop_new_connections
from runtime.log_limits import LogLimit
from transcoder.app import ANSWER, CONNECTIONS, REQUEST_ID, SERVER
from transcoder.connections import LINGERING_SECONDS, READ_BUFFER, Connection
from transcoder.errors import Failure, internal
from transcoder.exchange import request_id_from
from transcoder.pages import JSON
from transcoder.requests import NULL

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from transcoder.connections import Connections

# How long a client that has connected may take to begin its first request when the face ends.
FIRST_REQUEST = 1.0
# How long connections may take to be accepted beyond their time.
ACCEPTING = 1.0
# More clients may connect at a moment than the 128 of the library: each does so anew once their connections close.
BACKLOG = 1024

_log = logging.getLogger(__name__)
_malformed = LogLimit()


class Runner(web.AppRunner):
    """An `aiohttp.web.AppRunner` for `create_app`.

    It cancels a request, and the calls made for it, when the HTTP client goes away; it answers malformed HTTP with a
    JSON error object; it keeps no access log. Further arguments are `AppRunner`'s own (`keepalive_timeout`).
    Its end: `leave`, `stop_listening`, `close`, of which `close` alone does as well.
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

    def leave(self) -> None:
        """Have every connection closed after its next answer, which says so (`Connection: close`)."""
        if isinstance(self.server, _Server):
            self.server.is_leaving = True

    async def stop_listening(self, seconds: float) -> None:
        """Stop listening after `seconds` in which no new connection begins, so that no established one is reset.

        Takes up to a second longer while connections wait to be accepted.
        """
        with ExitStack() as stack:
            listeners = [
                stack.enter_context(socket.socket(fileno=os.dup(one.fileno())))
                for site in self.sites
                for one in getattr(site._server, "sockets", ())
            ]
            for listener in listeners:
                drop_new_connections(listener)
            await asyncio.sleep(seconds)
            latest = monotonic() + ACCEPTING
            while any(map(count_waiting, listeners)) and monotonic() < latest:  # noqa: ASYNC110  # the kernel's queue
                await asyncio.sleep(0.005)
        for site in self.sites:
            await site.stop()

    async def close(self, grace: float) -> None:
        """Stop listening, let what was asked be answered within `grace` seconds, then close the connections."""
        server, began = self.server, monotonic()
        if isinstance(server, _Server) and server.is_leaving and grace > 0:
            await self.stop_listening(0)
            while monotonic() - began < grace:
                if not server.owes(first=monotonic() - began < FIRST_REQUEST):
                    break
                await asyncio.sleep(0.01)
        # The library waits twice, and for ever with a timeout of 0.
        self._shutdown_timeout = max(0.01, (grace - (monotonic() - began)) / 2)
        await self.cleanup()

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
    is_leaving = False

    def __init__(self, bounds: Connections, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._bounds = bounds

    def owes(self, *, first: bool) -> bool:
        """Return whether a connection waits for an answer, or, if `first`, has not asked anything yet."""
        return any(one.owes(first=first) for one in self.connections if isinstance(one, _Connection))

    def __call__(self) -> web.RequestHandler:
        return _Connection(self, self._bounds, loop=self._loop, **self._kwargs)


class _Connection(Connection):
    __slots__ = ("_face", "_is_addressed")

    def __init__(self, face: _Server, connections: Connections, **options: Any) -> None:
        super().__init__(face, connections, **options)
        self._face = face
        self._is_addressed = False

    def owes(self, *, first: bool) -> bool:
        """Return whether an answer is owed, or on its way; with `first`, also to a client that has not asked yet.

        What a client has sent since the face takes leave is the beginning of a request: the answer to one before would
        have closed the connection.
        """
        is_idle = self._waiter is not None and not self._messages and not self._is_addressed
        return not is_idle or (first and self._request_count == 0)

    def data_received(self, data: bytes) -> None:
        """Take what the client has sent."""
        if self._face.is_leaving:
            self._is_addressed = True
        super().data_received(data)

    def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> Coroutine[Any, Any, tuple[web.StreamResponse, bool]]:
        """Send the answer; the last one when the face takes leave, unless further requests have come already."""
        if self._face.is_leaving and not self._messages:
            resp.force_close()
        return super().finish_response(request, resp, start_time)

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
