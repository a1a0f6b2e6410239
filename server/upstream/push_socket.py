"""The WebSocket over which one endpoint announces new blocks: opened, subscribed, watched for silence, opened again."""

from __future__ import annotations

import asyncio
import random
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import aiohttp
import msgspec
import structlog
from yarl import URL

from runtime.upstream_metrics import count_announcement, forget_announcements, set_announcing
from server.upstream.failures import Failure, Kind
from server.upstream.http.connection import Address
from server.upstream.transport import describe_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from runtime.metrics import Outcome
    from server.upstream.http import Client
    from server.upstream.identity import IdentityCheck
    from server.upstream.transport import Observer

MAX_MESSAGE_BYTES = 256 * 1024
"""The longest message that is read of a node: a block's header has two or three kilobytes."""

_HANDSHAKE_SECONDS = 8.0
_PING_SECONDS = 15.0
_CLOSE_WITHIN = aiohttp.ClientWSTimeout(ws_close=0.5)
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
# A node that refuses will hardly answer otherwise soon.
_REFUSED_PAUSE = 600.0
_LEAST_BETWEEN = 0.05
_IDENTITY, _SUBSCRIPTION = 1, 2

_log = structlog.get_logger("waypost.upstream")


class Announcement(NamedTuple):
    """A block that a node says is its newest: height and hash in lower case, and the endpoint's label."""

    number: int
    hash: str
    endpoint: str


@dataclass(frozen=True, slots=True)
class PushQuery:
    """A family's way to have new blocks announced: the call that subscribes, and the method of notifications.

    `read` returns height and hash of a notification's result; ValueError for what is none.
    """

    method: str
    params: Sequence[object]
    notification: str
    read: Callable[[bytes], tuple[int, str]]


class PushAddress:
    """Where one endpoint announces blocks: a ws or wss URL, with the headers and the route of the endpoint.

    A name and password in the URL are sent as basic authentication. Raises ValueError for another URL, and as `Address`
    for headers. Nothing of it is in any text that this class produces.
    """

    __slots__ = ("headers", "origin", "url")

    def __init__(self, url: str, headers: Mapping[str, str], like: Address) -> None:
        parts = URL(url)
        if parts.scheme not in ("ws", "wss"):
            raise ValueError("an address of announcements begins with ws:// or wss://")
        over_http = parts.with_scheme("http" if parts.scheme == "ws" else "https")
        address = Address(str(over_http), headers, proxy=like.origin.proxy, tls=like.origin.tls)
        self.origin = address.origin
        self.headers = dict(address.headers)
        self.url = parts.with_user(None)

    def __repr__(self) -> str:
        return "PushAddress()"


class Push:
    """The announcements of one endpoint, from now until `close`."""

    def __init__(
        self,
        chain: str,
        verify: IdentityCheck | None,
        http: Client,
        observer: Observer,
        clock: Callable[[], float],
        announce: Callable[[Announcement], None],
        label: str,
        address: PushAddress,
        query: PushQuery,
        silence: float,
    ) -> None:
        self._chain = chain
        self._label = label
        self._address = address
        self._query = query
        self._verify = verify
        self._http = http
        self._silence = silence
        self._observer = observer
        self._announce = announce
        self._clock = clock
        self.is_healthy = False
        """Whether the subscription stands and the node is not silent."""
        self.failure: Failure | None = None
        """Why the last socket ended, None while the first one has not."""
        self._has_announced = False
        self._waiting: Announcement | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._next_at = 0.0
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """Close the socket."""
        if self._timer is not None:
            self._timer.cancel()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        forget_announcements(self._chain, self._label)

    async def _run(self) -> None:
        failures = 0
        while True:
            self._has_announced = False
            try:
                failure = await self._follow()
            finally:
                self._show(is_healthy=False)
            self.failure = failure
            self._observer.failed(self._chain, self._label, failure.kind)
            failures = 0 if self._has_announced else failures + 1
            pause = min(_FIRST_PAUSE * 2.0 ** max(min(failures, 10) - 1, 0), _LONGEST_PAUSE)
            if failure.kind in (Kind.NODE_ERROR, Kind.EXCLUDED):
                pause = _REFUSED_PAUSE if failure.kind is Kind.NODE_ERROR else _LONGEST_PAUSE
            if failures <= 1:
                _log.warning("announcements ended", chain=self._chain, endpoint=self._label, reason=failure.words)
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))

    async def _follow(self) -> Failure:
        """Return why announcements ended, or could not begin."""
        started = self._clock()
        calls = 1 if self._verify is None else 2
        outcome: Outcome = "cancelled"
        self._observer.sent(self._chain, self._label, "head", calls)
        try:
            async with AsyncExitStack() as stack:
                try:
                    async with asyncio.timeout(_HANDSHAKE_SECONDS):
                        socket = await self._open(stack)
                        subscription = await self._subscribe(socket)
                    outcome = "answer"
                except TimeoutError:
                    outcome = "timeout"
                    words = f"no subscription within {describe_seconds(_HANDSHAKE_SECONDS)}"
                    return Failure(Kind.TIMED_OUT, words)
                except Exception:
                    outcome = "sick"
                    raise
                finally:
                    self._observer.ended(self._chain, self._label, outcome, self._clock() - started, calls)
                self._show(is_healthy=True)
                return await self._listen(socket, subscription)
        except _EndedError as ended:
            return ended.failure
        except aiohttp.WSServerHandshakeError as error:
            return Failure(Kind.HTTP_STATUS, f"HTTP {error.status} instead of a WebSocket")
        except (aiohttp.ClientError, OSError, ValueError, RuntimeError):
            return _DROPPED

    async def _open(self, stack: AsyncExitStack) -> aiohttp.ClientWebSocketResponse:
        session = await stack.enter_async_context(
            aiohttp.ClientSession(
                connector=_OneConnection(self._http, self._address),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding"),
            )
        )
        return await stack.enter_async_context(
            session.ws_connect(
                self._address.url,
                headers=self._address.headers,
                heartbeat=_PING_SECONDS,
                max_msg_size=MAX_MESSAGE_BYTES,
                timeout=_CLOSE_WITHIN,
            )
        )

    async def _subscribe(self, socket: aiohttp.ClientWebSocketResponse) -> str:
        """Return the id of the subscription, once the node has proved its chain on the same socket."""
        verify, query = self._verify, self._query
        if verify is not None:
            await socket.send_str(_call(_IDENTITY, verify.method, verify.params))
            answer = await self._answer(socket, _IDENTITY)
            # A node that answers the question with an error is believed to be right, as over HTTP.
            if not answer.is_error and (wrong := verify.judge(bytes(answer.result))) is not None:
                raise _EndedError(Kind.EXCLUDED, f"its WebSocket {wrong}")
        await socket.send_str(_call(_SUBSCRIPTION, query.method, query.params))
        answer = await self._answer(socket, _SUBSCRIPTION)
        if answer.is_error:
            raise _EndedError(Kind.NODE_ERROR, f"the node refuses {query.method}")
        with suppress(msgspec.MsgspecError):
            return msgspec.json.decode(answer.result, type=str)
        raise _EndedError(Kind.UNSOUND, "not a subscription")

    async def _answer(self, socket: aiohttp.ClientWebSocketResponse, number: int) -> _Message:
        while True:
            message = await _receive(socket)
            if message.id == number and message.method is None:
                return message

    async def _listen(self, socket: aiohttp.ClientWebSocketResponse, subscription: str) -> NoReturn:
        """Announce until the socket ends or is silent, which is raised."""
        until = asyncio.get_running_loop().time() + self._silence
        while True:
            try:
                async with asyncio.timeout_at(until):
                    message = await _receive(socket)
            except TimeoutError:
                silent = f"silent for {describe_seconds(self._silence)}"
                raise _EndedError(Kind.TIMED_OUT, f"open, but {silent}") from None
            params = message.params
            if message.method != self._query.notification or params is None or params.subscription != subscription:
                continue
            try:
                number, block_hash = self._query.read(bytes(params.result))
            except (ValueError, msgspec.MsgspecError, RecursionError):
                raise _EndedError(Kind.UNSOUND, "an announcement that is no block") from None
            until = asyncio.get_running_loop().time() + self._silence
            self._has_announced = True
            count_announcement(self._chain, self._label)
            self._pass_on(Announcement(number, block_hash, self._label))

    def _pass_on(self, announcement: Announcement) -> None:
        """Announce, at most twenty times a second: of more only the last."""
        self._waiting = announcement
        if self._timer is None:
            loop = asyncio.get_running_loop()
            if loop.time() >= self._next_at:
                self._flush()
            else:
                self._timer = loop.call_at(self._next_at, self._flush)

    def _flush(self) -> None:
        self._timer = None
        self._next_at = asyncio.get_running_loop().time() + _LEAST_BETWEEN
        announcement, self._waiting = self._waiting, None
        if announcement is not None:
            self._announce(announcement)

    def _show(self, *, is_healthy: bool) -> None:
        self.is_healthy = is_healthy
        set_announcing(self._chain, self._label, is_healthy)


class _Params(msgspec.Struct):
    subscription: str
    result: msgspec.Raw = msgspec.Raw(b"null")


class _Message(msgspec.Struct):
    id: int | str | None = None
    method: str | None = None
    params: _Params | None = None
    result: msgspec.Raw = msgspec.Raw(b"null")
    error: msgspec.Raw = msgspec.Raw(b"null")

    @property
    def is_error(self) -> bool:
        """Whether it is the refusal of a call."""
        return bytes(self.error) != b"null"


_decode = msgspec.json.Decoder(_Message).decode


class _EndedError(Exception):
    """The announcements of an endpoint are over."""

    def __init__(self, kind: Kind, words: str) -> None:
        self.failure = Failure(kind, words)


_DROPPED = Failure(Kind.DROPPED, "connection dropped")


async def _receive(socket: aiohttp.ClientWebSocketResponse) -> _Message:
    """Return the next message of a node.

    Raises:
        _EndedError: the socket is closed, or holds what is no message of JSON-RPC.
    """
    frame = await socket.receive()
    if frame.type is aiohttp.WSMsgType.ERROR and isinstance(frame.data, aiohttp.WebSocketError):
        is_long = frame.data.code == aiohttp.WSCloseCode.MESSAGE_TOO_BIG
        raise _EndedError(Kind.TOO_LARGE if is_long else Kind.NOT_JSON_RPC, "a message that is none, or too long")
    if frame.type not in (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY):
        raise _EndedError(Kind.DROPPED, "connection closed")
    try:
        return _decode(frame.data)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        raise _EndedError(Kind.NOT_JSON_RPC, "not JSON-RPC") from None


def _call(number: int, method: str, params: Sequence[object]) -> str:
    call = {"jsonrpc": "2.0", "id": number, "method": method, "params": list(params)}
    return msgspec.json.encode(call).decode()


class _OneConnection(aiohttp.BaseConnector):
    """Opens one connection, as all others to the endpoint are opened; none for where a server would send us instead."""

    def __init__(self, http: Client, address: PushAddress) -> None:
        super().__init__(force_close=True)
        self._http = http
        self._origin = address.origin
        self._is_used = False

    async def _create_connection(self, *_: object) -> Any:
        if self._is_used:
            raise _EndedError(Kind.HTTP_STATUS, "a redirection instead of a WebSocket")
        self._is_used = True
        opened = await self._http.open(self._origin, self._factory)
        if isinstance(opened, Failure):
            raise _EndedError(opened.kind, opened.words)
        return opened
