"""A server that does on each connection what a script says, and tests that run on both event loops."""

from __future__ import annotations

import asyncio
import inspect
import socket
import struct
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import uvloop

from server.upstream.http import Address, Client
from server.upstream.transport import Transport

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Awaitable, Callable

    from server.upstream.failures import Failure
    from server.upstream.http import HttpAnswer

    Script = Callable[["Visit"], Awaitable[None]]

LIMIT = 1 << 20
LONGEST_SECONDS = 30.0


def on_both_loops(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run an async test on asyncio's loop and on uvloop's; what a loop reports as an error fails it."""

    def run(**given: Any) -> None:
        loop = given.pop("make_loop")()
        reported: list[dict[str, Any]] = []
        loop.set_exception_handler(lambda _, context: reported.append(context))
        try:
            loop.run_until_complete(test(**given))
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
        finally:
            loop.close()
        assert not reported, reported

    signature = inspect.signature(test)
    extra = inspect.Parameter("make_loop", inspect.Parameter.KEYWORD_ONLY)
    run.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), extra], return_annotation=None
    )
    run.__name__, run.__module__, run.__doc__ = test.__name__, test.__module__, test.__doc__
    for mark in getattr(test, "pytestmark", []):
        run = pytest.MarkDecorator(mark, _ispytest=True)(run)
    loops = pytest.mark.parametrize(
        "make_loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"]
    )
    return loops(run)  # type: ignore[no-any-return]


class Visit:
    """One connection, as the server sees it. `number` counts from 0."""

    def __init__(self, server: Server, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.number = number
        self._server = server
        self._reader = reader
        self._writer = writer

    @property
    def tls(self) -> Any:
        return self._writer.get_extra_info("ssl_object")

    async def request(self) -> bytes:
        """Return the next request; it is noted. Raises IncompleteReadError where none comes any more."""
        head = await self._reader.readuntil(b"\r\n\r\n")
        size = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
        request = head + await self._reader.readexactly(size)
        self._server.requests.append((self.number, request))
        return request

    async def begun(self) -> None:
        """Return once a request has begun to come."""
        await self._reader.readexactly(4)

    async def send(self, *pieces: bytes) -> None:
        """Send pieces, each as good as surely in a packet of its own."""
        for number, piece in enumerate(pieces):
            if number:
                await asyncio.sleep(0.005)
            self._writer.write(piece)
            await self._writer.drain()

    async def gone(self) -> None:
        """Return once the client has closed."""
        try:
            while await self._reader.read(65536):
                pass
        except ConnectionError:
            pass

    def reset(self) -> None:
        """Close with RST instead of FIN."""
        sock = self._writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    def leave(self) -> None:
        self._writer.transport.abort()


class Server:
    """What was seen: `requests` in order, each with the number of its connection; `ended` are those that are gone."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self.connections = 0
        self.ended: set[int] = set()
        self.requests: list[tuple[int, bytes]] = []
        self.port = 0
        self.name = "127.0.0.1"
        self.scheme = "http"

    @property
    def address(self) -> Address:
        return Address(f"{self.scheme}://{self.name}:{self.port}/path?key=k", {"Content-Type": "application/json"})

    @property
    def used(self) -> list[int]:
        """The connection of each request."""
        return [number for number, _ in self.requests]

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something is so."""
        async with asyncio.timeout(LONGEST_SECONDS):
            while not holds():  # noqa: ASYNC110
                await asyncio.sleep(0.002)

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visit = Visit(self, self.connections, reader, writer)
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._script(visit)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            self.ended.add(visit.number)
            if not writer.transport.is_closing():
                # What is written still goes out; TLS says good-bye.
                writer.close()

    async def stop(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@asynccontextmanager
async def serving(
    script: Script, *, address: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Server]:
    server = Server(script)
    listening = await asyncio.start_server(server.accept, address, port, ssl=tls, limit=1 << 22)
    server.port = listening.sockets[0].getsockname()[1]
    server.name = address
    server.scheme = "http" if tls is None else "https"
    try:
        yield server
    finally:
        listening.close()
        await server.stop()
        await asyncio.sleep(0.01)


def answering(*answers: bytes) -> Script:
    """Answer each connection's requests with these, the last one again and again."""

    async def script(visit: Visit) -> None:
        for number in range(10_000):
            await visit.request()
            await visit.send(answers[min(number, len(answers) - 1)])

    return script


async def echoing(visit: Visit) -> None:
    """Answer every request with its body."""
    while True:
        await visit.send(plain((await visit.request()).partition(b"\r\n\r\n")[2]))


def plain(body: bytes, *headers: bytes, status: bytes = b"200 OK") -> bytes:
    lines = b"".join(header + b"\r\n" for header in (b"Content-Length: %d" % len(body), *headers))
    return b"HTTP/1.1 %b\r\n%b\r\n%b" % (status, lines, body)


async def ask(
    client: Client, server: Server, body: bytes = b"{}", *, seconds: float = LONGEST_SECONDS, limit: int = LIMIT
) -> HttpAnswer | Failure:
    return await Transport(client, max_bytes=limit).post(server.address, body, seconds)
