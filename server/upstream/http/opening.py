"""Opening a connection: the name's addresses, TCP to one of them, a proxy's `CONNECT`, TLS where the URL says https."""

from __future__ import annotations

import asyncio
import base64
import functools
import ipaddress
import re
import socket
import ssl
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import aiohappyeyeballs
from yarl import URL

from server.upstream.failures import Failure, Kind
from server.upstream.http.answer import (
    HOST_NOT_FOUND,
    NO_CONNECTION,
    NOT_IN_TIME,
    PROXY_INVALID,
    PROXY_NOT_FOUND,
    PROXY_SILENT,
    PROXY_UNAUTHORISED,
    PROXY_UNREACHABLE,
    REFUSED,
    TLS_FAILURE,
    UNIDENTIFIED,
    UNTRUSTED,
)
from server.upstream.single_flight import SingleFlight

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from aiohappyeyeballs import AddrInfoType

    LookUp = Callable[[str, int], Awaitable[Sequence[AddrInfoType]]]

Protocol = TypeVar("Protocol", bound=asyncio.BaseProtocol)

CONNECT_SECONDS = 3.0
"""How long TCP and TLS may take, all addresses of the name together."""

# RFC 8305 section 5: how long the first address is waited for before the next is tried as well.
_NEXT_ADDRESS_SECONDS = 0.25

_PROXY_HEAD_BYTES = 16 * 1024
_PROXY_ANSWER = re.compile(rb"HTTP/1\.[01] (?P<status>\d{3})[ \r].*?\r\n\r\n(?P<rest>.*)", re.DOTALL)
_SUCCESS, _REDIRECTION, _UNAUTHORISED = 200, 300, 407
_THROUGH_PROXY = {
    HOST_NOT_FOUND: PROXY_NOT_FOUND,
    REFUSED: PROXY_UNREACHABLE,
    NO_CONNECTION: PROXY_UNREACHABLE,
    NOT_IN_TIME: PROXY_SILENT,
}

NAME_SECONDS = 60.0


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
        return cls(
            parts.raw_host, parts.port, basic_authorization(parts.user or "", parts.password or "") if named else None
        )

    def __repr__(self) -> str:
        return "Proxy()"


DIRECT = Proxy("", 0)
"""No proxy, whatever the client's is."""


class Origin(NamedTuple):
    """Who is connected to, and how: connections serve every endpoint of one origin.

    `proxy` and `tls` take the place of the client's where they are set.
    """

    scheme: str
    host: str
    port: int
    proxy: Proxy | None = None
    tls: ssl.SSLContext | None = None

    def __repr__(self) -> str:
        return "Origin()"


class _Known(NamedTuple):
    addresses: list[AddrInfoType]
    until: float


class Names:
    """Asks the system, once for all callers at the same time. `look_up` replaces the system."""

    def __init__(self, loop: asyncio.AbstractEventLoop, look_up: LookUp | None = None) -> None:
        self._loop = loop
        self._look_up = look_up or self._ask_system
        self._known: dict[tuple[str, int], _Known] = {}
        self._asking: SingleFlight[_Known] = SingleFlight()

    async def resolve(self, host: str, port: int) -> list[AddrInfoType]:
        """Return the addresses of a host, the first another one each time. Raises OSError where it has none."""
        literal = _literal(host, port)
        if literal is not None:
            return [literal]
        key = (host, port)
        known = self._known.get(key)
        if known is None or known.until <= self._loop.time():
            known = await self._asking.share(key, lambda: self._find(key))
        addresses = known.addresses
        addresses.append(addresses.pop(0))
        return addresses[-1:] + addresses[:-1]

    async def close(self) -> None:
        """Cancel the look-ups under way."""
        await self._asking.close()

    async def _find(self, key: tuple[str, int]) -> _Known:
        try:
            found = await self._look_up(*key)
        except UnicodeError:
            raise OSError("a name that no host can have") from None
        if not found:
            raise OSError("a name without an address")
        known = self._known[key] = _Known(list(found), self._loop.time() + NAME_SECONDS)
        return known

    async def _ask_system(self, host: str, port: int) -> Sequence[AddrInfoType]:
        return await self._loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)


def _literal(host: str, port: int) -> AddrInfoType | None:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    if address.version == 4:
        return (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (host, port))
    if address.scope_id is not None:
        # A network interface, whose number comes from the system.
        return None
    return (socket.AF_INET6, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (host, port, 0, 0))


class _ProxyRefusedError(Exception):
    """A proxy that does not connect to the origin."""

    def __init__(self, failure: Failure) -> None:
        self.failure = failure


class Opener:
    """Opens connections, through `proxy` where the origin names none of its own; `tls` likewise."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        names: Names,
        tls: ssl.SSLContext | None = None,
        proxy: Proxy | None = None,
    ) -> None:
        self._loop = loop
        self._names = names
        self._tls = tls
        self._proxy = proxy

    async def open(self, origin: Origin, make: Callable[[], Protocol]) -> Protocol | Failure:
        """Return a new connection to the origin, through a proxy where one is set, or why there is none."""
        proxy = origin.proxy or self._proxy
        if proxy is None or proxy is DIRECT:
            return await self._try_open(origin, None, make)
        got = await self._try_open(origin, proxy, make)
        return _THROUGH_PROXY.get(got, got) if isinstance(got, Failure) else got

    async def _try_open(self, origin: Origin, proxy: Proxy | None, make: Callable[[], Protocol]) -> Protocol | Failure:
        host, port = (origin.host, origin.port) if proxy is None else (proxy.host, proxy.port)
        try:
            addresses = await self._names.resolve(host, port)
        except OSError:
            return HOST_NOT_FOUND
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                return await self._connect(origin, proxy, addresses, make)
        except TimeoutError:
            return NOT_IN_TIME
        except _ProxyRefusedError as refused:
            return refused.failure
        except ssl.SSLError as error:
            return explain_tls(error)
        except ConnectionRefusedError:
            return REFUSED
        except (OSError, RuntimeError, ValueError):
            # uvloop raises RuntimeError for some of what the system refuses, TLS ValueError for names it cannot check.
            return NO_CONNECTION

    async def _connect(
        self, origin: Origin, proxy: Proxy | None, addresses: list[AddrInfoType], make: Callable[[], Protocol]
    ) -> Protocol:
        while True:
            sock = await aiohappyeyeballs.start_connection(
                addresses, happy_eyeballs_delay=_NEXT_ADDRESS_SECONDS, interleave=1, loop=self._loop
            )
            try:
                peer = sock.getpeername()
            except OSError:
                sock.close()
                raise
            try:
                if proxy is not None:
                    await self._tunnel(sock, origin, proxy)
                return await self._take(sock, origin, make)
            except (ssl.SSLError, ConnectionError):
                # One machine of several may be the broken one.
                others = [address for address in addresses if address[-1] != peer]
                if not others or len(others) == len(addresses):
                    raise
                addresses = others

    async def _tunnel(self, sock: socket.socket, origin: Origin, proxy: Proxy) -> None:
        """Have the proxy connect a socket to the origin (RFC 9110 section 9.3.6).

        Raises:
            _ProxyRefusedError: it does not.
        """
        authority = f"[{origin.host}]:{origin.port}" if ":" in origin.host else f"{origin.host}:{origin.port}"
        lines = [f"CONNECT {authority} HTTP/1.1", f"Host: {authority}"]
        if proxy.authorization is not None:
            lines.append(f"Proxy-Authorization: {proxy.authorization}")
        try:
            await self._loop.sock_sendall(sock, "\r\n".join([*lines, "", ""]).encode())
            head = b""
            while b"\r\n\r\n" not in head:
                piece = await self._loop.sock_recv(sock, 4096)
                head += piece
                if not piece or len(head) > _PROXY_HEAD_BYTES:
                    raise _ProxyRefusedError(PROXY_INVALID)
            # The server behind the proxy does not send first.
            answer = _PROXY_ANSWER.fullmatch(head)
            status = int(answer["status"]) if answer else 0
            if status == _UNAUTHORISED:
                raise _ProxyRefusedError(PROXY_UNAUTHORISED)
            if status >= _REDIRECTION:
                raise _ProxyRefusedError(Failure(Kind.UNREACHABLE, f"the proxy refused: HTTP {status}"))
            if answer is None or status < _SUCCESS or answer["rest"]:
                raise _ProxyRefusedError(PROXY_INVALID)
        except BaseException:
            sock.close()
            raise

    async def _take(self, sock: socket.socket, origin: Origin, make: Callable[[], Protocol]) -> Protocol:
        """Return the connection over a connected socket, which is the loop's from here on, to close as well."""
        tls = (origin.tls or self._tls or trusted()) if origin.scheme == "https" else None
        _, connection = await self._loop.create_connection(
            make, sock=sock, ssl=tls, server_hostname=origin.host if tls else None
        )
        return connection


@functools.cache
def trusted() -> ssl.SSLContext:
    """Return the context that checks certificates and host names against what the system trusts."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def explain_tls(error: ssl.SSLError) -> Failure:
    """Return what failed of TLS: the check of the server's certificate, or the server's check of ours."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return UNTRUSTED
    reason = error.reason or ""
    is_about_ours = "ALERT" in reason and ("CERTIFICATE" in reason or "UNKNOWN_CA" in reason)
    return UNIDENTIFIED if is_about_ours else TLS_FAILURE


def basic_authorization(user: str, password: str) -> str:
    """Return the header of basic authentication (RFC 7617)."""
    text = f"{user}:{password}"
    try:
        raw = text.encode("latin-1")
    except UnicodeEncodeError:
        raw = text.encode()
    return "Basic " + base64.b64encode(raw).decode("ascii")
