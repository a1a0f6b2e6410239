"""The connections to all origins, and exchanges over them."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from server.upstream.failures import Failure
from server.upstream.http.answer import DROPPED, TIMED_OUT
from server.upstream.http.connection import Connection
from server.upstream.http.opening import Names, Opener, Protocol

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Coroutine

    from server.upstream.http.answer import HttpAnswer
    from server.upstream.http.opening import LookUp, Origin, Proxy

CONNECTIONS = 128
"""The most connections to one origin."""

IDLE_SECONDS = 55.0
"""How long an unused connection is kept: servers and balancers commonly close theirs after 60 s."""

_TICK = 0.01

Loan = Connection | Failure


class Client:
    """Sends requests, keeps connections. To be built on the running loop; the builder closes it.

    `look_up` and `tls` replace the system's names and the certificates that it trusts; connections go through `proxy`;
    `limit` is the most connections to one origin. `time` is the clock of deadlines.
    """

    def __init__(
        self,
        *,
        look_up: LookUp | None = None,
        tls: ssl.SSLContext | None = None,
        proxy: Proxy | None = None,
        limit: int = CONNECTIONS,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self.time = self._loop.time
        self._limit = limit
        self._names = Names(self._loop, look_up)
        self._opener = Opener(self._loop, self._names, tls, proxy)
        self._origins: dict[Origin, Connections] = {}
        self._retired: set[Connections] = set()
        self._is_closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def exchange(
        self,
        origin: Origin,
        request: bytes,
        deadline: float,
        limit: int,
        *,
        fresh: bool = False,
        on_bytes: Callable[[], None] | None = None,
    ) -> Coroutine[Any, Any, HttpAnswer | Failure]:
        """Return the answer to one request, or why there is none.

        `request` is written as it stands; `deadline` is in the loop's time; the body of the answer may be `limit` bytes
        long. With `fresh` no connection is used that was idle. `on_bytes` is called when bytes of the answer come.
        `Kind.DROPPED` means that not a byte of an answer came. To be awaited at once: a connection is taken for it.
        """
        connections = self._origins.get(origin) or self._connections(origin)
        if not fresh and deadline > self._loop.time() and (connection := connections.take()) is not None:
            return connection.exchange(request, deadline, limit, on_bytes)
        return self._exchange_later(connections, request, deadline, limit, on_bytes)

    def take(self, origin: Origin) -> Connection | None:
        """Return an idle connection, to be used at once; None where there is none."""
        connections = self._origins.get(origin)
        return None if connections is None else connections.take()

    async def _exchange_later(
        self,
        connections: Connections,
        request: bytes,
        deadline: float,
        limit: int,
        on_bytes: Callable[[], None] | None,
    ) -> HttpAnswer | Failure:
        """Return what `exchange` does, on a connection that is not there yet."""
        if deadline <= self._loop.time():
            return TIMED_OUT
        loan = await connections.wait(deadline)
        if isinstance(loan, Failure):
            return loan
        return await loan.exchange(request, deadline, limit, on_bytes)

    async def open(self, origin: Origin, make: Callable[[], Protocol]) -> Protocol | Failure:
        """Return a new connection for another protocol, which is the caller's to close, or why there is none."""
        return await self._opener.open(origin, make)

    def retire(self, origin: Origin) -> None:
        """End the connections of an origin: idle ones now, the others after their answer.

        Whoever still asks that origin gets new ones.
        """
        connections = self._origins.pop(origin, None)
        if connections is not None and not connections.retire():
            self._retired.add(connections)
            connections.on_retired = self._retired.discard

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
        every = [*self._origins.values(), *self._retired]
        await asyncio.gather(*(connections.close() for connections in every))
        await self._names.close()


class Connections:
    """At most `limit` connections of one origin.

    The one used last is lent first, so that those left over from a peak fall idle. A request that finds none waits in
    order; an opening belongs to none of them: the first in line gets the next connection that is free or new, and a
    failure to open one. Once `is_closed` nothing is lent.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, origin: Origin, opener: Opener, limit: int) -> None:
        self._loop = loop
        self._origin = origin
        self._opener = opener
        self._limit = limit
        self._live: set[Connection] = set()
        self._idle: deque[Connection] = deque()
        self._waiting: deque[asyncio.Future[Loan]] = deque()
        self._opening: set[asyncio.Task[Loan]] = set()
        self._sweeping: asyncio.TimerHandle | None = None
        self.is_closed = False
        self.is_retired = False
        self.on_retired: Callable[[Connections], None] = lambda _: None
        """Called when the last connection of a retired origin is gone."""
        self._emptied = asyncio.Event()

    def take(self) -> Connection | None:
        """Return the idle connection that was used last; None if there is none that can be used."""
        while self._idle:
            connection = self._idle.pop()
            if connection.is_quiet():
                return connection
            connection.close()
        return None

    async def wait(self, deadline: float) -> Loan:
        """Return the next connection that is free or newly opened, or why there is none until `deadline`.

        The deadline is in the loop's time.
        """
        if self.is_closed:
            return DROPPED
        turn: asyncio.Future[Loan] = self._loop.create_future()
        self._waiting.append(turn)
        self._open_more()
        try:
            async with asyncio.timeout_at(deadline):
                return await turn
        except TimeoutError:
            self._give_up(turn)
            return TIMED_OUT
        except asyncio.CancelledError:
            self._give_up(turn)
            raise

    def release(self, connection: Connection) -> None:
        """Take back a connection that is good for another exchange."""
        if self.is_closed:
            connection.close()
            return
        if self._waiting and self._serve(connection):
            return
        if self.is_retired:
            connection.close()
            return
        connection.idle_since = self._loop.time()
        self._idle.append(connection)
        if self._sweeping is None:
            self._sweeping = self._loop.call_later(IDLE_SECONDS, self._sweep)

    def forget(self, connection: Connection) -> None:
        """Note that a connection is gone."""
        self._live.discard(connection)
        with suppress(ValueError):
            self._idle.remove(connection)
        if not self.is_closed:
            self._open_more()
        elif not self._live:
            self._emptied.set()
        if self.is_retired and not self._is_used:
            self.on_retired(self)

    @property
    def _is_used(self) -> bool:
        return bool(self._live or self._opening or self._waiting)

    def retire(self) -> bool:
        """Keep no connection idle from now on; return whether none is left."""
        self.is_retired = True
        while self._idle:
            self._idle.pop().close()
        return not self._is_used

    async def close(self) -> None:
        """Close every connection; exchanges under way end as dropped. Returns when all are gone."""
        self.is_closed = True
        if self._sweeping is not None:
            self._sweeping.cancel()
            self._sweeping = None
        while self._waiting and self._serve(DROPPED):
            pass
        opening = list(self._opening)
        for task in opening:
            task.cancel()
        await asyncio.gather(*opening, return_exceptions=True)
        for connection in self._live:
            connection.close()
        if self._live:
            await self._emptied.wait()

    def _serve(self, loan: Loan) -> bool:
        """Hand something to the longest waiter; return whether there is one."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(loan)
                return True
        return False

    def _give_up(self, turn: asyncio.Future[Loan]) -> None:
        if turn.done() and not turn.cancelled():
            loan = turn.result()
            if isinstance(loan, Connection) and loan.is_open:
                self.release(loan)
        else:
            with suppress(ValueError):
                self._waiting.remove(turn)

    def _open_more(self) -> None:
        """Open a connection for each waiting request, as far as the limit goes."""
        while len(self._opening) < len(self._waiting):
            if len(self._live) + len(self._opening) >= self._limit:
                if self._idle:
                    # A request wants a new one, because an old one turned out to be dead. This comes again when one is
                    # gone.
                    self._idle.popleft().close()
                return
            task = self._loop.create_task(self._opener.open(self._origin, self._make))
            self._opening.add(task)
            task.add_done_callback(self._opened)

    def _make(self) -> Connection:
        return Connection(self._loop, self)

    def _opened(self, task: asyncio.Task[Loan]) -> None:
        self._opening.discard(task)
        if task.cancelled():
            return
        loan = task.result()
        if isinstance(loan, Connection) and loan.is_open:
            self._live.add(loan)
            self.release(loan)
        else:
            # One that is closed already reports why where it is used.
            self._serve(loan)
        if not self.is_closed:
            self._open_more()

    def _sweep(self) -> None:
        """Close what was not used for long, the oldest first."""
        self._sweeping = None
        oldest = self._loop.time() - IDLE_SECONDS + _TICK
        while self._idle and self._idle[0].idle_since <= oldest:
            self._idle.popleft().close()
        if self._idle:
            self._sweeping = self._loop.call_at(self._idle[0].idle_since + IDLE_SECONDS, self._sweep)
