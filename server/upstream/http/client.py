"""The connections to all origins, and exchanges over them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

from server.upstream.failures import Failure
from server.upstream.http.failures import TIMED_OUT
from server.upstream.http.names import Names
from server.upstream.http.opening import Opener
from server.upstream.http.origin import Connections

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from server.upstream.http.address import Origin
    from server.upstream.http.answer import HttpAnswer
    from server.upstream.http.names import LookUp

CONNECTIONS = 128
"""The most connections to one origin."""


class Client:
    """Sends requests, keeps connections. To be built on the running loop; whoever builds it closes it.

    `look_up` and `tls` replace the system's names and the certificates that it trusts; `limit` is the most connections
    to one origin. `time` is the clock of deadlines.
    """

    def __init__(
        self, *, look_up: LookUp | None = None, tls: ssl.SSLContext | None = None, limit: int = CONNECTIONS
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self.time = self._loop.time
        self._limit = limit
        self._names = Names(self._loop, look_up)
        self._opener = Opener(self._loop, self._names, tls)
        self._origins: dict[Origin, Connections] = {}
        self._is_closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def exchange(
        self,
        origin: Origin,
        request: bytes,
        deadline: float,
        limit: int,
        *,
        fresh: bool = False,
        hear: Callable[[], None] | None = None,
    ) -> HttpAnswer | Failure:
        """Return the answer to one request, or why there is none.

        `request` is written as it stands; `deadline` is in the loop's time; the body of the answer may be `limit` bytes
        long. With `fresh` no connection is used that was idle. `hear` is called when bytes of the answer come.
        `Kind.DROPPED` means that not a byte of an answer came.
        """
        if deadline <= self._loop.time():
            return TIMED_OUT
        connections = self._origins.get(origin) or self._connections(origin)
        connection = None if fresh else connections.take()
        if connection is None:
            loan = await connections.wait(deadline)
            if isinstance(loan, Failure):
                return loan
            connection = loan
        return await connection.exchange(request, deadline, limit, hear)

    def _connections(self, origin: Origin) -> Connections:
        connections = Connections(self._loop, origin, self._opener, self._limit)
        if self._is_closed:
            connections.is_closed = True
        else:
            self._origins[origin] = connections
        return connections

    async def close(self) -> None:
        """Close every connection; exchanges under way end as dropped, later ones too."""
        self._is_closed = True
        await asyncio.gather(*(connections.close() for connections in self._origins.values()))
        await self._names.close()
