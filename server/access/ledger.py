"""The quotas of several workers of one machine, counted in their parent; each worker is connected by a socket pair.

A line of JSON is a question: its number, the charges and until when they hold by the machine's monotonic clock; or null
in place of charges, which asks how many processes there are. The answer has the same number, and null for charges that
came too late: whoever sent them has gone on without. A worker that is started again finds the quotas as they were;
nothing else can connect.
"""

from __future__ import annotations

import asyncio
import socket
from functools import partial
from time import monotonic_ns
from typing import TYPE_CHECKING, Any, cast

import orjson

from server.access.quotas import NANOSECONDS, Quotas

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.access.leases import Take

# The longest line: 128 charges with names of client addresses are a tenth of it.
_LONGEST = 1 << 20
# Lines hold integers of 64 bits; a debt of centuries is none that anyone waits for.
_FARTHEST = 1 << 62


class Ledger:
    """Counts the quotas of `processes` workers. Lives in their parent."""

    def __init__(self, processes: int) -> None:
        self._processes = processes
        self._quotas = Quotas()
        self._answering: set[asyncio.Task[None]] = set()

    async def connect(self) -> socket.socket:
        """Return the other end of a new connection, for a worker to inherit; the caller closes its own copy."""
        own, other = socket.socketpair()
        try:
            own.setblocking(False)
            reader, writer = await asyncio.open_unix_connection(sock=own, limit=_LONGEST)
        except BaseException:
            own.close()
            other.close()
            raise
        task = asyncio.create_task(self._answer(reader, writer))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)
        return other

    async def close(self) -> None:
        """End all connections."""
        for task in self._answering:
            task.cancel()
        await asyncio.gather(*self._answering, return_exceptions=True)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the lines of one worker until it is gone."""
        try:
            while line := await reader.readline():
                number, takes, until = orjson.loads(line)
                if takes is None:
                    answer: Any = self._processes
                else:
                    answer = None if monotonic_ns() > until else [self._take(*take) for take in takes]
                writer.write(orjson.dumps((number, answer)) + b"\n")
                await writer.drain()
        except (ConnectionError, ValueError):
            # The worker is gone, or writes nonsense: it counts alone then.
            pass
        finally:
            writer.close()

    def _take(self, name: str, interval: int, burst: int, debt: int, units: int) -> tuple[int, int]:
        admitted, ahead = self._quotas.take(name, interval, burst, debt, units)
        return admitted, min(ahead, _FARTHEST)


class LedgerSource:
    """See `Source`: the ledger at the other end of an inherited socket, by its file descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._socket.setblocking(False)
        self._socket.set_inheritable(False)
        self._connecting = asyncio.Lock()
        self._link: _Link | None = None
        self._counting: asyncio.Future[Any] | None = None

    async def exchange(self, takes: Sequence[Take], seconds: float) -> Sequence[tuple[int, int]]:
        """See `Source.exchange`."""
        until = monotonic_ns() + round(seconds * NANOSECONDS)
        answer: Sequence[tuple[int, int]] | None = await (await self._connected()).ask(takes, until)
        if answer is None:
            raise TimeoutError
        return answer

    async def count_processes(self) -> int:
        """See `Source.count_processes`: as many as were configured."""
        link = await self._connected()
        if self._counting is None or self._counting.done():
            # One question at a time: a parent that stands still must not find a heap of them.
            self._counting = link.ask(None)
        return int(await asyncio.shield(self._counting))

    async def close(self) -> None:
        """See `Source.close`."""
        if self._link is None:
            self._socket.close()
        else:
            self._link.close()

    async def _connected(self) -> _Link:
        async with self._connecting:
            if self._link is None:
                link = _Link()
                await asyncio.get_running_loop().create_unix_connection(lambda: link, sock=self._socket)
                self._link = link
        return self._link


class _Link(asyncio.Protocol):
    """One connection: questions and their answers by number. Answers that come too late are dropped."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._questions = 0
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._received = b""

    def ask(self, takes: Sequence[Take] | None, until: int = 0) -> asyncio.Future[Any]:
        """Return the answer to come. Raises ConnectionError when the parent is gone."""
        if self._transport is None or self._transport.is_closing():
            raise ConnectionResetError("the parent is gone")
        self._questions += 1
        number = self._questions
        answer = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        answer.add_done_callback(partial(self._end, number))
        charges = None if takes is None else [tuple(take) for take in takes]
        self._transport.write(orjson.dumps((number, charges, until)) + b"\n")
        return answer

    def _end(self, number: int, answer: asyncio.Future[Any]) -> None:
        del self._waiting[number]
        if not answer.cancelled():
            # Whoever asked may have left.
            answer.exception()

    def close(self) -> None:
        """Close the connection."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        # uvloop's are transports by what they do, not by class.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Hand each whole line to who waits for it."""
        *lines, self._received = (self._received + data).split(b"\n")
        for line in lines:
            number, answer = orjson.loads(line)
            waiting = self._waiting.get(number)
            if waiting is not None and not waiting.done():
                waiting.set_result(answer)

    def connection_lost(self, error: Exception | None) -> None:
        """Fail who waits."""
        for waiting in list(self._waiting.values()):
            if not waiting.done():
                waiting.set_exception(ConnectionResetError("the parent is gone"))
