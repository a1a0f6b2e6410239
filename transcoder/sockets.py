"""WebSockets: the upgrade, messages and their answers, bounds, and the end of each (docs/decisions/0071).

What is said over a socket is its `Speaker`'s: the API's, or a chain's own JSON-RPC.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from http import HTTPStatus
from struct import pack
from typing import TYPE_CHECKING, Any, Protocol, cast

from aiohttp import WSCloseCode, WSMsgType, hdrs, web

from runtime.metrics import count_socket_message
from transcoder.errors import Failure, internal
from transcoder.exchange import Exchange
from transcoder.messages import DEMO
from transcoder.requests import NULL, SMALL, OpenBodies
from transcoder.upgrades import Refusal, answered

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime.settings import HttpSettings
    from transcoder.connections import Connection
    from transcoder.upgrades import Upgrades

LONGEST_MESSAGE = 1 << 20
MOST_CALLS = 64
"""Most messages of one socket that are being answered; the next one is read when there is room."""
PING_SECONDS = 30.0
CLOSING_SECONDS = 2.0
"""How long a client may take to say good-bye."""

# From so many bytes on a message that has not come whole counts as one that is arriving.
_LARGE = 4096
_CONTROL = frozenset({WSMsgType.PING, WSMsgType.PONG})
# The last frame of a text message.
_TEXT = 0x81
# Bytes of a control frame besides its payload.
_CONTROL_HEAD = 6
_LONGEST_ID = 48
_VERSION = "13"

_REASONS: dict[int, bytes] = {
    WSCloseCode.GOING_AWAY: b"this gateway is stopping; connect again",
    WSCloseCode.PROTOCOL_ERROR: b"this is no WebSocket frame of RFC 6455",
    WSCloseCode.UNSUPPORTED_DATA: b"send JSON-RPC 2.0 in text frames",
    WSCloseCode.INVALID_TEXT: b"the message is not UTF-8",
    WSCloseCode.MESSAGE_TOO_BIG: b"the message is too large; send less at once",
    WSCloseCode.TRY_AGAIN_LATER: b"too many large messages are arriving",
}

_log = logging.getLogger(__name__)
# It would write what clients send, each time.
logging.getLogger("aiohttp.websocket").setLevel(logging.ERROR)


class Speaker(Protocol):
    """Answers what one socket's client sends, and may send of its own.

    With `takes_binary` binary messages are read as text ones; others end the socket.
    """

    takes_binary: bool

    async def answer(self, message: bytes, exchange: Exchange) -> bytes | None:
        """Return the answer to a message that is UTF-8, None for none; it raises nothing of its own."""
        ...

    async def leave(self) -> None:
        """End what it sends of its own because the gateway stops, and say so."""
        ...

    def close(self) -> None:
        """End what it sends of its own: the client has gone."""
        ...


class Sockets:
    """Upgrades requests and serves their sockets. `bodies` are what counts large messages that are arriving."""

    def __init__(self, upgrades: Upgrades, settings: HttpSettings, credential: str | None, bodies: OpenBodies) -> None:
        self._upgrades = upgrades
        self._credential = credential
        self._bodies = bodies
        self._longest = min(LONGEST_MESSAGE, settings.max_body_bytes)
        self._patience = settings.body_timeout

    async def serve(
        self,
        request: web.BaseRequest,
        segment: str | None,
        exchange: Exchange,
        headers: dict[str, str],
        speaker: Callable[[Socket, str], Speaker],
    ) -> web.StreamResponse:
        """Upgrade a GET request and serve its socket until one side ends it; `speaker` makes what speaks over it.

        `headers` are those of the answer. Raises Refusal for what is not upgraded.
        """
        _check_handshake(request, headers)
        await self._upgrades.check(request, segment, exchange, headers)
        assert segment is not None
        longest = min(SMALL, self._longest) if segment == DEMO else self._longest
        response = _Response(longest)
        response.headers.update({name: value for name, value in headers.items() if name != hdrs.CONTENT_TYPE})
        connection = cast("Connection", request.protocol)
        identity = (exchange.request_id[:_LONGEST_ID], exchange.client, self._credential)
        socket = Socket(response, connection, identity)
        with self._upgrades.open(request, segment, exchange, "websocket", socket):
            await response.prepare(request)
            answered(exchange, HTTPStatus.SWITCHING_PROTOCOLS)
            owner = self._upgrades.owner_of(segment, exchange)
            arriving = _Arriving(socket, self._bodies, owner, self._patience)
            connection.arrived = arriving.take
            try:
                await socket.run(speaker(socket, segment))
            finally:
                connection.arrived = None
                arriving.end()
                response.stop()
        return response


def _check_handshake(request: web.BaseRequest, headers: dict[str, str]) -> None:
    """Raise Refusal for a request that asks for no upgrade to WebSocket, or wrongly."""
    given = request.headers
    if given.get(hdrs.UPGRADE, "").strip().lower() != "websocket" or not request._message.upgrade:
        headers.update({hdrs.UPGRADE: "websocket", hdrs.CONNECTION: "Upgrade"})
        message = "this is a WebSocket; open it with a WebSocket client (Upgrade: websocket)"
    elif given.get(hdrs.SEC_WEBSOCKET_VERSION, "").strip() != _VERSION:
        headers[hdrs.SEC_WEBSOCKET_VERSION] = _VERSION
        message = f"the version of WebSocket understood is {_VERSION}"
    elif not web.WebSocketResponse(compress=False).can_prepare(request):
        raise Refusal(Failure(400, "INVALID_REQUEST", "Sec-WebSocket-Key must be 16 bytes in base64"), 400)
    else:
        return
    raise Refusal(Failure(400, "INVALID_REQUEST", message), HTTPStatus.UPGRADE_REQUIRED)


class _Response(web.WebSocketResponse):
    """A WebSocket of aiohttp that says why it closes."""

    def __init__(self, longest: int) -> None:
        super().__init__(
            timeout=CLOSING_SECONDS,
            heartbeat=PING_SECONDS,
            compress=False,
            # The library refuses what is as long as this.
            max_msg_size=longest + 1,
            decode_text=False,
        )

    async def close(self, *, code: int = WSCloseCode.OK, message: bytes = b"", drain: bool = True) -> bool:
        return await super().close(code=code, message=message or _REASONS.get(code, b""), drain=drain)

    def stop(self) -> None:
        """Ping no more: its client has gone, and the timer would keep all that there was of it."""
        self._cancel_heartbeat()

    def untaken(self) -> list[tuple[WSMsgType, int]] | None:
        """Return the kinds and lengths of the frames that have come whole and were not taken yet; None for many."""
        reader = self._reader
        if reader is None or reader._stalled_reader is not None:
            return None
        return [(message.type, length) for message, length in reader._buffer]


class Socket:
    """One open socket. `identity` is that of its upgrade: request id, client's address, credential."""

    def __init__(self, response: _Response, connection: Connection, identity: tuple[str, str, str | None]) -> None:
        self._response = response
        self._connection = connection
        self._identity = identity
        self._count = 0
        self._calls: set[asyncio.Task[None]] = set()
        self._speaker: Speaker | None = None

    async def send(self, *texts: bytes) -> None:
        """Send messages once the client has taken those before. Raises ConnectionError when it has gone."""
        connection = self._connection
        await connection.drained()
        transport = connection.transport
        if transport is None or transport.is_closing() or self._response.closed:
            raise ConnectionResetError("the socket is closed")
        # In one write: the library makes one of each.
        transport.write(b"".join([part for text in texts for part in (_head(len(text)), text)]))
        connection.watch_unsent()

    async def run(self, speaker: Speaker) -> None:
        """Have messages answered until one side ends the socket."""
        self._speaker, response = speaker, self._response
        is_lenient = speaker.takes_binary
        try:
            while True:
                if len(self._calls) >= MOST_CALLS:
                    await asyncio.wait(self._calls, return_when=asyncio.FIRST_COMPLETED)
                message = await response.receive()
                if message.type is not WSMsgType.TEXT and not (is_lenient and message.type is WSMsgType.BINARY):
                    if message.type is WSMsgType.BINARY:
                        await response.close(code=WSCloseCode.UNSUPPORTED_DATA)
                    return
                count_socket_message()
                text = cast("bytes", message.data)
                if not _is_utf8(text):
                    await response.close(code=WSCloseCode.INVALID_TEXT)
                    return
                call = asyncio.create_task(self._answer(speaker, bytes(text)))
                self._calls.add(call)
                call.add_done_callback(self._calls.discard)
        finally:
            for call in self._calls:
                call.cancel()
            speaker.close()

    async def leave(self) -> None:
        """End it because the gateway stops, once what is being answered is."""
        try:
            if self._speaker is None:
                raise ConnectionError("the client has not taken the upgrade yet")
            async with asyncio.timeout(CLOSING_SECONDS):
                await self._speaker.leave()
            if self._calls:
                await asyncio.wait(self._calls)
            async with asyncio.timeout(2 * CLOSING_SECONDS):
                await self._response.close(code=WSCloseCode.GOING_AWAY)
        except (TimeoutError, ConnectionError):
            self.abort()

    async def refuse(self, code: int, reason: str = "") -> None:
        """Close it with a code; the client is not waited for. The reason may have 123 bytes."""
        with suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(CLOSING_SECONDS):
                await self._response.close(code=code, message=reason.encode(), drain=False)
        self.abort()

    def abort(self) -> None:
        """End it with whatever is unsent."""
        self._connection.abort()

    def untaken(self) -> list[tuple[WSMsgType, int]] | None:
        """Return the kinds and lengths of the frames that have come whole and were not taken yet; None for many."""
        return self._response.untaken()

    async def _answer(self, speaker: Speaker, message: bytes) -> None:
        self._count += 1
        request_id, client, credential = self._identity
        exchange = Exchange(f"{request_id}-{self._count}", client, credential)
        try:
            body = await speaker.answer(message, exchange)
            if body is not None:
                await self.send(body)
        except ConnectionError:
            pass  # the client has gone
        except Exception:
            _log.exception("a message failed", extra=exchange.log_ids())
            with suppress(ConnectionError):
                await self.send(internal().body(NULL, exchange.request_id))


class _Arriving:
    """Bounds the messages that have not come whole: how many large ones there may be, and how long one may take."""

    def __init__(self, socket: Socket, bodies: OpenBodies, owner: str, patience: float) -> None:
        self._socket = socket
        self._bodies = bodies
        self._owner = owner
        self._patience = patience
        self._size = 0
        self._counted: Any = None
        self._alarm: asyncio.TimerHandle | None = None
        self._refusing: asyncio.Task[None] | None = None

    def take(self, size: int) -> None:
        """Take note of bytes that came."""
        untaken = self._socket.untaken()
        if untaken is None:
            # Nothing more is read until they are taken.
            return
        self._size += size
        for kind, length in untaken:
            if kind in _CONTROL:
                # They come between the frames of a message, and are none of it.
                self._size = max(0, self._size - length - _CONTROL_HEAD)
            else:
                self.end()
                return
        if self._size <= _LARGE or self._counted is not None or self._refusing is not None:
            return
        try:
            counted = self._bodies.enter(self._owner)
        except Failure:
            self._refusing = asyncio.create_task(self._socket.refuse(WSCloseCode.TRY_AGAIN_LATER))
            return
        counted.__enter__()
        self._counted = counted
        self._alarm = asyncio.get_running_loop().call_later(self._patience, self._socket.abort)

    def end(self) -> None:
        """Take note that nothing is arriving."""
        self._size = 0
        if self._counted is not None:
            self._counted.__exit__(None, None, None)
            self._counted = None
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None


def _head(size: int) -> bytes:
    """Return the head of a text frame of the server's (RFC 6455, section 5.2)."""
    if size < 126:
        return bytes((_TEXT, size))
    return pack("!BBH", _TEXT, 126, size) if size < 1 << 16 else pack("!BBQ", _TEXT, 127, size)


def _is_utf8(text: bytes) -> bool:
    if text.isascii():
        return True
    try:
        str(text, "utf-8")
    except UnicodeDecodeError:
        return False
    return True
