"""The open connections: how many there may be, which make room for new ones, and which are too slow to be kept."""

from __future__ import annotations

import asyncio
import itertools
import logging
import sys
from typing import TYPE_CHECKING, Any, cast

from aiohttp import EMPTY_PAYLOAD, StreamReader, hdrs, web
from aiohttp.http_exceptions import HttpProcessingError

from runtime.handshakes import KnowsRaw
from runtime.listening import client_network
from runtime.logs import LogLimit
from transcoder.errors import Failure, internal
from transcoder.exchange import REQUEST_ID, SERVER, request_id_from
from transcoder.handler import Handler
from transcoder.pages import JSON
from transcoder.requests import GRACE, NULL

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from runtime.settings import HttpSettings
    from transcoder.exchange import Clients

if sys.platform != "win32":
    import resource

LARGEST_HEAD = 32 * 1024
"""Most bytes of a request line and its headers together."""
READ_BUFFER = 32 * 1024
"""Bytes of a body that are buffered before its reader takes them: twice as many, and what one read has brought."""
LINGERING_SECONDS = 2.0
MOST_DROPPED = 8 << 20
"""How long, and how much of it, the rest of a refused body is read and dropped: its client shall read the answer."""

GRACE_OPEN = 60.0
"""Seconds from which on the least rate counts for what stays open: its client may pause."""

_SWEEP_SECONDS = 1.0
_EVICTED_SHARE = 128
_HOPELESS_SECONDS = 0.05
_MOST_SPARE = 1024
_UNLIMITED = 1 << 30

_log = logging.getLogger(__name__)
_malformed = LogLimit()


def _canned(status: str, failure: Failure) -> bytes:
    body = failure.body(NULL, "")
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nServer: waypost\r\nConnection: close\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


_TOO_MANY = _canned(
    "503 Service Unavailable",
    Failure(503, "UPSTREAM_UNAVAILABLE", "too many connections; close idle ones and try again", retry_after_ms=1000),
)
_HEAD_TOO_LARGE = _canned(
    "431 Request Header Fields Too Large",
    Failure(400, "INVALID_REQUEST", f"the headers are larger than {LARGEST_HEAD} bytes"),
)


class Connections:
    """Counts the connections by client and lets new ones in.

    `admitted` are those whose request is being executed: they are never closed for others. The face keeps it.
    `is_leaving`: each is closed after its next answer.
    """

    def __init__(self, settings: HttpSettings, clients: Clients) -> None:
        self.admitted: set[Any] = set()
        self.is_leaving = False
        self.total = 0
        self._most = settings.max_connections
        self._most_per_client = settings.max_connections_per_client
        self._min_rate = settings.min_transfer_rate
        self._clients = clients
        # By client: its connections, oldest first.
        self._by_client: dict[str, dict[Connection, None]] = {}
        self._leaving: set[Connection] = set()
        self._kept_open: set[Connection] = set()
        self._stalled: dict[Connection, tuple[float, int]] = {}
        self._sweeping: asyncio.TimerHandle | None = None
        self._hopeless_until = 0.0
        descriptors = _most_descriptors()
        spare = min(_MOST_SPARE, max(32, descriptors // 4))
        # The kernel gives the lowest free number: one from here on means that all below are taken, by anything.
        self._scarce_from = descriptors - spare
        self._exhausted_from = descriptors - spare // 2

    def open(self, connection: Connection, transport: asyncio.Transport) -> bool:
        """Count a new connection in and make room for it; False where there is none for it."""
        peer = transport.get_extra_info("peername")
        address = peer[0] if isinstance(peer, tuple) else ""
        client = client_network(address)
        if len(self._by_client.get(client, ())) >= self._most_per_client and not self._clients.trusts(address):
            return False
        number = transport.get_extra_info("socket").fileno()
        if self.total >= self._most or number >= self._scarce_from + len(self._leaving):
            # Looking through all of them for every single one would cost more than they do.
            made = self._make_room(1 + self.total // _EVICTED_SHARE)
            if not made and (self.total >= self._most or number >= self._exhausted_from):
                return False
        connection.client = client
        self._by_client.setdefault(client, {})[connection] = None
        self.total += 1
        return True

    def close(self, connection: Connection) -> None:
        """Count a connection out, if it was let in."""
        self._leaving.discard(connection)
        own = self._by_client.get(connection.client)
        if own is None or connection not in own:
            return
        del own[connection]
        if not own:
            del self._by_client[connection.client]
        self.total -= connection not in self._kept_open
        self._stalled.pop(connection, None)

    def keep_open(self, connection: Any) -> None:
        """Take a connection that carries a socket or event stream as none of these; only its client's count has it."""
        self.admitted.add(connection)
        self._kept_open.add(connection)
        self.total -= 1

    def release(self, connection: Any) -> None:
        """Take it as one of these again, if it is still there."""
        self.admitted.discard(connection)
        self._kept_open.discard(connection)
        self.total += connection in self._by_client.get(connection.client, ())

    def stall(self, connection: Connection, waiting: int) -> None:
        """Watch a connection whose client does not take what was written, `waiting` bytes of it."""
        loop = asyncio.get_running_loop()
        self._stalled[connection] = (loop.time(), waiting)
        if self._sweeping is None:
            self._sweeping = loop.call_later(_SWEEP_SECONDS, self._sweep)

    def flow(self, connection: Connection) -> None:
        """Watch it no more: all was taken."""
        self._stalled.pop(connection, None)

    def _make_room(self, wanted: int) -> int:
        """Close up to `wanted` connections that carry no admitted request; return how many."""
        now = asyncio.get_running_loop().time()
        if now < self._hopeless_until:
            return 0
        closed = 0
        for connection in itertools.islice(self._by_dispensability(), wanted):
            connection.dismiss()
            self.close(connection)
            # Its descriptor is free once the loop comes round.
            self._leaving.add(connection)
            closed += 1
        if not closed:
            self._hopeless_until = now + _HOPELESS_SECONDS
        return closed

    def _by_dispensability(self) -> Iterator[Connection]:
        """Yield first what the client with the most connections has idle, longest first, then what it is sending."""
        most_first = sorted(
            self._by_client.items(), key=lambda entry: (self._clients.trusts(_address(entry[0])), -len(entry[1]))
        )
        for _, own in most_first:
            idle = [connection for connection in own if connection.is_idle()]
            idle.sort(key=lambda connection: connection.idle_since())
            yield from idle
            yield from [connection for connection in own if connection.is_unadmitted(self.admitted)]

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        for connection, (since, waiting) in list(self._stalled.items()):
            left = connection.unsent()
            if not left:
                del self._stalled[connection]
                continue
            taken, grace = waiting - left, GRACE_OPEN if connection in self._kept_open else GRACE
            if now - since > grace and taken < max(1, self._min_rate * (now - since - grace)):
                connection.abort()
        self._sweeping = loop.call_later(_SWEEP_SECONDS, self._sweep) if self._stalled else None


def _most_descriptors() -> int:
    """Return how many files the process may have open."""
    if sys.platform == "win32":
        return _UNLIMITED
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _UNLIMITED if soft == resource.RLIM_INFINITY else soft


def _address(client: str) -> str:
    return client.partition("/")[0]


class Connection(Handler, KnowsRaw):
    """One connection, known to `Connections`; over TLS `raw` is the transport below."""

    __slots__ = ("_body", "_connections", "_is_addressed", "_unparsed", "arrived", "client", "raw")

    def __init__(self, manager: web.Server, connections: Connections, **options: Any) -> None:
        super().__init__(manager, **options)
        self._connections = connections
        # What came last: the body of the latest request, and how many bytes since that began none.
        self._body: StreamReader = EMPTY_PAYLOAD
        self._unparsed = 0
        self._is_addressed = False
        self.client = ""
        self.raw: asyncio.Transport | None = None
        # What is to be done with the number of bytes that came, once it carries a socket.
        self.arrived: Callable[[int], None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Serve the connection if there is room for it."""
        opened = cast("asyncio.Transport", transport)
        if not self._connections.open(self, opened):
            self._force_close = True
            opened.write(_TOO_MANY)
            opened.close()
            return
        # Whatever a client has not taken counts as stalled, not only what is beyond some size. TLS would take 0 for a
        # limit that nothing at all has reached.
        opened.set_write_buffer_limits(high=0 if self.raw is None else 1)
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Count it out."""
        self._connections.close(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes; headers without end, and bodies that are only dropped, end the connection."""
        if self.arrived is not None:
            super().data_received(data)
            self.arrived(len(data))
            return
        if self._connections.is_leaving:
            self._is_addressed = True
        count, belongs_to_body = self._request_count, not self._body.is_eof()
        super().data_received(data)
        if self._request_count != count:
            self._unparsed = 0
            if self._messages:
                self._body = self._messages[-1][1]
            return
        self._unparsed += len(data)
        if not belongs_to_body:
            if self._unparsed > LARGEST_HEAD:
                if self._waiter is not None and self.transport is not None:
                    self.transport.write(_HEAD_TOO_LARGE)
                self.force_close()
                # It holds what has come. The connection is lost in the next turn of the loop, after all others of this.
                self._parser = None
        elif self._request_in_progress or self._body.is_eof():
            # Its reader bounds it.
            self._unparsed = 0
        elif self._unparsed > MOST_DROPPED:
            self.abort()

    def pause_writing(self) -> None:
        """Watch how fast the client takes what was written."""
        super().pause_writing()
        self._connections.stall(self, self.unsent())

    def resume_writing(self) -> None:
        """Watch no longer."""
        super().resume_writing()
        self._connections.flow(self)

    def is_idle(self) -> bool:
        """Return whether no request has come whole and no answer leaves; the rest of a refused one may be dropped."""
        return not self._request_in_progress and not self._messages and not self._paused

    def is_unadmitted(self, admitted: set[Any]) -> bool:
        """Return whether there is a request that is neither admitted nor being answered."""
        if self._request_in_progress:
            return self._current_request is not None and self not in admitted
        return bool(self._messages) and self not in admitted

    def idle_since(self) -> float:
        """Return a time that is the smaller the longer it has been idle."""
        return self._next_keepalive_close_time

    def unsent(self) -> int:
        """Return how many bytes the client has yet to take."""
        if self.transport is None:
            return 0
        below = 0 if self.raw is None else self.raw.get_write_buffer_size()
        return below + self.transport.get_write_buffer_size()

    def dismiss(self) -> None:
        """Close it for another one."""
        if self.is_idle() and not self.unsent():
            self.force_close()
        else:
            self.abort()

    def abort(self) -> None:
        """End it with whatever is unsent."""
        transport = self.transport
        self.force_close()
        if transport is not None:
            transport.abort()

    def owes(self, *, first: bool) -> bool:
        """Return whether an answer is owed, or in transit; with `first`, also to a client without a request yet.

        What a client has sent since the face began to close is the beginning of a request: the answer to one before
        would have closed the connection.
        """
        is_idle = self._waiter is not None and not self._messages and not self._is_addressed and not self._paused
        return not is_idle or (first and self._request_count == 0)

    def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> Coroutine[Any, Any, tuple[web.StreamResponse, bool]]:
        """Send the answer; the last one when the face closes, unless further requests have come already."""
        if self._connections.is_leaving and not self._messages:
            resp.force_close()
        return super().finish_response(request, resp, start_time)

    def is_last(self) -> bool:
        """Return whether the face closes."""
        return self._connections.is_leaving

    def watch_unsent(self) -> None:
        """Over TLS, watch what the client has not taken: TLS has handed it on and reports nothing."""
        if self.raw is not None and self.unsent():
            self._connections.stall(self, self.unsent())

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
