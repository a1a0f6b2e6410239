"""One connection: a request is written, its answer read, and then the next; and the requests of one endpoint."""

from __future__ import annotations

import asyncio
import re
import select
import ssl
from typing import TYPE_CHECKING, cast

from yarl import URL

from server.upstream.http.answer import DROPPED, TIMED_OUT, UNIDENTIFIED, AnswerReader
from server.upstream.http.opening import Origin, basic_authorization, explain_tls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from server.upstream.failures import Failure
    from server.upstream.http.answer import HttpAnswer
    from server.upstream.http.client import Connections
    from server.upstream.http.opening import Proxy

# Loops count time in milliseconds: a timer may fire that much before its moment, and is set once more.
_TICK = 0.001

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
# How long a request is, only who writes its body knows.
_FRAMING = frozenset({"content-length", "transfer-encoding"})


class Connection(asyncio.Protocol):
    """Carries one exchange at a time.

    After anything out of order it is closed, so that no answer meets another's request.
    """

    __slots__ = (
        "_answer",
        "_deadline",
        "_ended",
        "_loop",
        "_on_bytes",
        "_owner",
        "_poll",
        "_reader",
        "_timer",
        "_timer_at",
        "_transport",
        "idle_since",
    )

    def __init__(self, loop: asyncio.AbstractEventLoop, owner: Connections) -> None:
        self._loop = loop
        self._owner = owner
        self._reader = AnswerReader()
        self._transport: asyncio.Transport | None = None
        self._poll: select.poll | None = None
        self._answer: asyncio.Future[HttpAnswer | Failure] | None = None
        self._ended: asyncio.Future[Failure] = loop.create_future()
        self._deadline = 0.0
        self._on_bytes: Callable[[], None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self.idle_since = 0.0

    @property
    def is_open(self) -> bool:
        """Whether the connection stands, as far as is known."""
        return self._transport is not None and not self._transport.is_closing()

    def is_quiet(self) -> bool:
        """Return whether an idle connection stands and holds nothing unread, as the operating system sees it now.

        What came since the loop last looked is the server's good-bye, or unrequested bytes: the next request
        must not take them for its answer.
        """
        transport = self._transport
        return transport is not None and not transport.is_closing() and (self._poll is None or not self._poll.poll(0))

    async def exchange(
        self, request: bytes, deadline: float, limit: int, on_bytes: Callable[[], None] | None = None
    ) -> HttpAnswer | Failure:
        """Return the answer to a request, written whole as given, or why there is none until `deadline`.

        The deadline is in the loop's time; the body may be `limit` bytes long; `on_bytes` is called when bytes come.
        The connection goes back to its owner by itself, or is closed: also where the caller is cancelled.
        """
        transport = self._transport
        if transport is None or transport.is_closing():
            return await asyncio.shield(self._ended)
        answer = self.begin(request, deadline, limit, on_bytes)
        try:
            return await answer
        finally:
            self.abandon(answer)

    def begin(
        self, request: bytes, deadline: float, limit: int, on_bytes: Callable[[], None] | None = None
    ) -> asyncio.Future[HttpAnswer | Failure]:
        """Write a request on a connection that stands, and return its answer to come; see `exchange`.

        One that is not wanted any more is to be abandoned.
        """
        assert self._transport is not None
        answer: asyncio.Future[HttpAnswer | Failure] = self._loop.create_future()
        self._answer = answer
        self._on_bytes = on_bytes
        self._reader.begin(limit)
        self._watch(deadline)
        self._transport.write(request)
        return answer

    def abandon(self, answer: asyncio.Future[HttpAnswer | Failure]) -> None:
        """Close the connection, unless that answer has come: what comes later must not be taken for another one."""
        if self._answer is answer:
            self._answer = None
            self.close()

    def close(self) -> None:
        """Close at once, whatever is under way."""
        if not self._ended.done():
            self._ended.set_result(DROPPED)
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Loop: the connection stands."""
        self._transport = cast("asyncio.Transport", transport)
        sock = transport.get_extra_info("socket")
        if sock is not None and hasattr(select, "poll"):
            self._poll = select.poll()
            self._poll.register(sock.fileno(), select.POLLIN)

    def data_received(self, data: bytes) -> None:
        """Loop: bytes came."""
        if self._answer is None:
            # Not requested.
            self.close()
            return
        if self._on_bytes is not None:
            self._on_bytes()
        got = self._reader.feed(data)
        if got is not None:
            self._settle(got, is_reusable=self._reader.is_reusable)

    def eof_received(self) -> None:
        """Loop: the server will send no more."""
        if self._answer is not None:
            self._settle(self._reader.end(), is_reusable=False)
        else:
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Loop: the connection is gone."""
        # With TLS 1.3 a server refuses our certificate behind the handshake.
        is_refused = isinstance(exc, ssl.SSLError) and explain_tls(exc) is UNIDENTIFIED
        if not self._ended.done():
            self._ended.set_result(UNIDENTIFIED if is_refused else DROPPED)
        if self._answer is not None:
            self._settle(UNIDENTIFIED if is_refused else self._reader.broken(), is_reusable=False)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._transport = self._poll = None
        self._reader.drop()
        self._owner.forget(self)

    def _settle(self, got: HttpAnswer | Failure, *, is_reusable: bool) -> None:
        answer, self._answer = self._answer, None
        transport = self._transport
        # An answer that came before its request was out would leave the rest of it to the next exchange.
        if is_reusable and transport is not None and not transport.is_closing():
            if transport.get_write_buffer_size() == 0:
                self._owner.release(self)
            else:
                self.close()
        else:
            self.close()
        if answer is not None and not answer.done():
            answer.set_result(got)

    def _watch(self, deadline: float) -> None:
        """See to it that the exchange ends by the deadline.

        The timer of an exchange before, which ends sooner, is left to run and set anew when it fires: a connection in
        use starts one timer in a while instead of one for each exchange.
        """
        self._deadline = deadline
        if self._timer is not None:
            if self._timer_at <= deadline:
                return
            self._timer.cancel()
        self._timer_at = deadline
        self._timer = self._loop.call_at(deadline, self._tick)

    def _tick(self) -> None:
        self._timer = None
        if self._answer is None:
            return
        now = self._loop.time()
        if now < self._deadline:
            self._watch(max(self._deadline, now + _TICK))
        else:
            self._settle(TIMED_OUT, is_reusable=False)


class Address:
    """The URL and headers of one endpoint. Nothing of them is in any text that this class produces.

    A name and password in the URL are sent as basic authentication (RFC 7617). Connections go through `proxy`; `tls` is
    by which certificates are checked, and which one is shown. Raises ValueError for a URL without
    host or with another scheme than http and https, and for headers that HTTP cannot carry or that are not an
    endpoint's to set.
    """

    __slots__ = ("_get_head", "_headers", "_post_head", "_url", "origin")

    def __init__(
        self, url: str, headers: Mapping[str, str], *, proxy: Proxy | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        self._url = URL(url)
        host, port = self._url.raw_host, self._url.port
        if self._url.scheme not in ("http", "https") or not host or port is None:
            raise ValueError("an endpoint's URL begins with http:// or https:// and names a host")
        self.origin = Origin(self._url.scheme, host.rstrip("."), port, proxy, tls)
        self._headers = self._own(headers)
        self._post_head = b"POST %b HTTP/1.1\r\n%bContent-Length: " % (
            _target(self._url),
            _lines(self._headers.items()),
        )
        self._get_head = _lines(self._without_body())

    def __repr__(self) -> str:
        return "Address()"

    @property
    def headers(self) -> Sequence[tuple[str, str]]:
        """The headers of every request, the authentication in the URL among them."""
        return [*self._headers.items()]

    def post(self, body: bytes) -> bytes:
        """Return a POST of `body` to the URL, as it is sent."""
        return b"%b%d\r\n\r\n%b" % (self._post_head, len(body), body)

    def get(self, path: str, query: Sequence[tuple[str, str]] = (), headers: Sequence[tuple[str, str]] = ()) -> bytes:
        """Return a GET of a path below the URL, as it is sent.

        `path` starts with a slash and is not percent-encoded; `query` follows the URL's own; `headers` replace the
        endpoint's of the same name. Raises ValueError as the class does.
        """
        return b"GET %b HTTP/1.1\r\n%b\r\n" % (self._below(path, query), self._head(headers))

    def post_below(
        self, path: str, query: Sequence[tuple[str, str]], headers: Sequence[tuple[str, str]], body: bytes
    ) -> bytes:
        """Return a POST of `body` to a path below the URL, as it is sent; see `get` for the other arguments.

        Its `Content-Type` has to be among the headers: the endpoint's is that of the calls to the URL itself.
        """
        target, head = self._below(path, query), self._head(headers)
        return b"POST %b HTTP/1.1\r\n%bContent-Length: %d\r\n\r\n%b" % (target, head, len(body), body)

    def _below(self, path: str, query: Sequence[tuple[str, str]]) -> bytes:
        base = self._url
        return _target(base.with_path(base.path.rstrip("/") + path).with_query([*base.query.items(), *query]))

    def _head(self, headers: Sequence[tuple[str, str]]) -> bytes:
        if not headers:
            return self._get_head
        names = {name.lower() for name, _ in headers}
        own = [(name, value) for name, value in self._without_body() if name.lower() not in names]
        return _lines([*own, *headers])

    def _own(self, headers: Mapping[str, str]) -> dict[str, str]:
        named = {name.lower() for name in headers}
        own: dict[str, str] = {}
        if "host" not in named:
            own["Host"] = self._url.host_port_subcomponent or ""
        if (self._url.raw_user is not None or self._url.raw_password is not None) and "authorization" not in named:
            own["Authorization"] = basic_authorization(self._url.user or "", self._url.password or "")
        return own | dict(headers)

    def _without_body(self) -> list[tuple[str, str]]:
        return [(name, value) for name, value in self._headers.items() if name.lower() != "content-type"]


def _target(url: URL) -> bytes:
    return url.raw_path_qs.encode("ascii")


def _lines(headers: Iterable[tuple[str, str]]) -> bytes:
    lines = []
    for name, value in headers:
        if not _NAME.fullmatch(name) or _CONTROL.search(value) or name.lower() in _FRAMING:
            raise ValueError("a header that cannot be sent to an endpoint")
        lines.append(f"{name}: {value}\r\n")
    return "".join(lines).encode()
