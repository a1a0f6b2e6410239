"""TLS in front of an aiohttp face: connections are counted from their first byte, and each gets the newest certificate.

asyncio's own servers with TLS show a connection when its handshake is over: those that never finish theirs would count
nowhere. Here the connection is accepted plain, let in or not, and only then asked for its handshake.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol, cast

from aiohttp import web

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

HANDSHAKE_SECONDS = 10.0
"""How long a client may take for its handshake."""

SHUTDOWN_SECONDS = 2.0
"""How long a client may take to say good-bye once the connection is closed."""


class Room(Protocol):
    """Where connections are counted (`transcoder.connections.Connections`)."""

    def open(self, connection: Any, transport: asyncio.Transport) -> bool:
        """Count a connection in; False where there is no room for it."""
        ...

    def close(self, connection: Any) -> None:
        """Count it out."""
        ...


class Handshake(asyncio.Protocol):
    """A connection until its handshake is over; then `serve` makes what serves it.

    It counts in the `room` as an idle connection, which goes first where room is short.
    """

    def __init__(
        self, serve: Callable[[], asyncio.Protocol], tls: Callable[[], ssl.SSLContext], room: Room | None
    ) -> None:
        self.client = ""
        self._serve = serve
        self._tls = tls
        self._room = room
        self._began = 0.0
        self._transport: asyncio.Transport | None = None
        self._task: asyncio.Task[None] | None = None
        # What comes between the end of the handshake and whoever serves it.
        self._early: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin the handshake if there is room."""
        raw = self._transport = cast("asyncio.Transport", transport)
        if self._room is not None and not self._room.open(self, raw):
            raw.abort()
            return
        # What the client's socket does not take counts at once (see transcoder.connections).
        raw.set_write_buffer_limits(high=0)
        loop = asyncio.get_running_loop()
        self._began = loop.time()
        self._task = loop.create_task(self._shake_hands(raw))

    def data_received(self, data: bytes) -> None:
        """Keep it for whoever serves the connection."""
        self._early.append(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Count it out."""
        if self._task is not None:
            self._task.cancel()
        self._leave()

    def is_idle(self) -> bool:
        """Return True: no request has come."""
        return True

    def is_unadmitted(self, _admitted: set[Any]) -> bool:
        """Return False: it is idle already."""
        return False

    def idle_since(self) -> float:
        """Return a time that is the smaller the longer it takes."""
        return self._began

    def dismiss(self) -> None:
        """Close it for another one."""
        if self._transport is not None:
            self._transport.abort()

    async def _shake_hands(self, raw: asyncio.Transport) -> None:
        loop = asyncio.get_running_loop()
        try:
            secured = await loop.start_tls(
                raw,
                self,
                self._tls(),
                server_side=True,
                ssl_handshake_timeout=HANDSHAKE_SECONDS,
                ssl_shutdown_timeout=SHUTDOWN_SECONDS,
            )
        except (OSError, ValueError):
            # Plain text, an unknown client, or one that left: the loop has closed it.
            raw.abort()
            secured = None
        self._leave()
        if secured is None:
            return
        served = self._serve()
        if isinstance(served, KnowsRaw):
            served.raw = raw
        secured.set_protocol(served)
        served.connection_made(secured)
        for data in self._early:
            served.data_received(data)

    def _leave(self) -> None:
        if self._room is not None:
            self._room.close(self)


class KnowsRaw:
    """Marks connections that want the transport below TLS, where bytes may wait that are sent as far as TLS knows."""

    __slots__ = ()
    raw: asyncio.Transport | None


class TlsSite(web.TCPSite):
    """A `TCPSite` whose connections begin with a handshake; `tls` returns what new ones are served with."""

    __slots__ = ("_room", "_tls")

    def __init__(
        self,
        runner: web.BaseRunner,
        host: str,
        port: int,
        tls: Callable[[], ssl.SSLContext],
        room: Room | None = None,
        **options: Any,
    ) -> None:
        super().__init__(runner, host, port, **options)
        self._tls = tls
        self._room = room

    async def start(self) -> None:
        """Listen."""
        await web.BaseSite.start(self)
        serve = cast("Callable[[], asyncio.Protocol]", self._runner.server)
        self._server = await asyncio.get_running_loop().create_server(
            lambda: Handshake(serve, self._tls, self._room),
            self._host,
            self._port,
            backlog=self._backlog,
            reuse_port=self._reuse_port,
        )
