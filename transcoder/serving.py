"""How the application is served.

What aiohttp would answer by itself is answered in JSON too, and nothing is logged that holds a path: the path holds
the key. Connections are bounded (`transcoder.connections`).
"""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import ExitStack
from time import monotonic
from typing import TYPE_CHECKING, Any

from aiohttp import web

from runtime.listening import count_waiting, drop_new_connections
from transcoder.app import ANSWER, CONNECTIONS, UPGRADES
from transcoder.connections import LINGERING_SECONDS, READ_BUFFER, Connection

if TYPE_CHECKING:
    from transcoder.connections import Connections

# How long a client that has connected may take to begin its first request when the face ends.
FIRST_REQUEST = 1.0
# How long connections may take to be accepted beyond their time.
ACCEPTING = 1.0
# More clients may connect at a moment than the 128 of the library: each does so anew once their connections close.
BACKLOG = 1024


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
        """Have every connection closed after its next answer, which announces it (`Connection: close`)."""
        self.app[CONNECTIONS].is_leaving = True

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
        self.app[UPGRADES].leave()

    async def close(self, grace: float) -> None:
        """Stop listening, let requests be answered within `grace` seconds, then close the connections."""
        server, began = self.server, monotonic()
        if grace > 0:
            self.app[UPGRADES].leave()
        if isinstance(server, _Server) and self.app[CONNECTIONS].is_leaving and grace > 0:
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
            handler_cancellation=server.handler_cancellation,
            loop=asyncio.get_running_loop(),
            **server._kwargs,
        )


class _Server(web.Server):
    def __init__(self, bounds: Connections, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._bounds = bounds

    def owes(self, *, first: bool) -> bool:
        """Return whether a connection waits for an answer, or, if `first`, has sent no request yet."""
        return any(one.owes(first=first) for one in self.connections if isinstance(one, Connection))

    def __call__(self) -> web.RequestHandler:
        return Connection(self, self._bounds, loop=self._loop, **self._kwargs)
