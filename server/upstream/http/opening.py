"""Opening a connection: the name's addresses, TCP to one of them, TLS where the URL says https."""

from __future__ import annotations

import asyncio
import functools
import ssl
from typing import TYPE_CHECKING

import aiohappyeyeballs

from server.upstream.http.failures import HOST_NOT_FOUND, NO_CONNECTION, NOT_IN_TIME, REFUSED, TLS_FAILURE

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from aiohappyeyeballs import AddrInfoType

    from server.upstream.failures import Failure
    from server.upstream.http.address import Origin
    from server.upstream.http.connection import Connection
    from server.upstream.http.names import Names

CONNECT_SECONDS = 3.0
"""How long TCP and TLS may take, all addresses of the name together."""

# RFC 8305 section 5: how long the first address is waited for before the next is tried as well.
_NEXT_ADDRESS_SECONDS = 0.25


class Opener:
    """Opens connections. `tls` replaces the certificates that the system trusts."""

    def __init__(self, loop: asyncio.AbstractEventLoop, names: Names, tls: ssl.SSLContext | None = None) -> None:
        self._loop = loop
        self._names = names
        self._tls = tls

    async def open(self, origin: Origin, make: Callable[[], Connection]) -> Connection | Failure:
        """Return a new connection to the origin, or why there is none."""
        try:
            addresses = await self._names.resolve(origin.host, origin.port)
        except OSError:
            return HOST_NOT_FOUND
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                return await self._connect(origin, addresses, make)
        except TimeoutError:
            return NOT_IN_TIME
        except ssl.SSLError:
            return TLS_FAILURE
        except ConnectionRefusedError:
            return REFUSED
        except (OSError, RuntimeError, ValueError):
            # uvloop raises RuntimeError for some of what the system refuses, TLS ValueError for names it cannot check.
            return NO_CONNECTION

    async def _connect(
        self, origin: Origin, addresses: list[AddrInfoType], make: Callable[[], Connection]
    ) -> Connection:
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
                return await self._take(sock, origin, make)
            except (ssl.SSLError, ConnectionError):
                # One machine of several may be the broken one.
                others = [address for address in addresses if address[-1] != peer]
                if not others or len(others) == len(addresses):
                    raise
                addresses = others

    async def _take(self, sock: socket.socket, origin: Origin, make: Callable[[], Connection]) -> Connection:
        """Return the connection over a connected socket, which is the loop's from here on, to close as well."""
        tls = (self._tls or trusted()) if origin.scheme == "https" else None
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
