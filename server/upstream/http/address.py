"""Where the requests of one endpoint go, and the bytes that they begin with."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, NamedTuple

from yarl import URL

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterable, Mapping, Sequence

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
# The length of a request is only known with its body.
_FRAMING = frozenset({"content-length", "transfer-encoding"})


class Proxy(NamedTuple):
    """An HTTP proxy that connections go through by `CONNECT`, with its `Proxy-Authorization`."""

    host: str
    port: int
    authorization: str | None = None

    @classmethod
    def parse(cls, url: str) -> Proxy:
        """Return the proxy of an http:// URL, in which a name and a password may stand; ValueError for any other."""
        parts = URL(url)
        if parts.scheme != "http" or not parts.raw_host or parts.port is None:
            raise ValueError("a proxy's URL begins with http:// and names a host")
        named = parts.raw_user is not None or parts.raw_password is not None
        return cls(parts.raw_host, parts.port, _basic(parts.user or "", parts.password or "") if named else None)

    def __repr__(self) -> str:
        return "Proxy()"


DIRECT = Proxy("", 0)
"""No proxy, whatever the client's is."""


class Origin(NamedTuple):
    """The server that is connected to, and how: connections serve every endpoint of one origin.

    `proxy` and `tls` take the place of the client's where they are set.
    """

    scheme: str
    host: str
    port: int
    proxy: Proxy | None = None
    tls: ssl.SSLContext | None = None

    def __repr__(self) -> str:
        return "Origin()"


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
            own["Authorization"] = _basic(self._url.user or "", self._url.password or "")
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


def _basic(user: str, password: str) -> str:
    text = f"{user}:{password}"
    try:
        raw = text.encode("latin-1")
    except UnicodeEncodeError:
        raw = text.encode()
    return "Basic " + base64.b64encode(raw).decode("ascii")
