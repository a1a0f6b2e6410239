"""Floods of a gRPC face, each over some connections for some seconds: `python -m ... PORT KIND [tls]`.

A process of its own, so that it takes no time from those whose calls are counted meanwhile. None brings a key,
but for the word `demo`.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import sys
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING

from tests.faults.floods.http2 import (
    CANCEL,
    CONTINUATION,
    DATA,
    END_HEADERS,
    HEADERS,
    NEWEST,
    RST_STREAM,
    Connection,
    frame,
    literal,
    request_headers,
)

if TYPE_CHECKING:
    from collections.abc import Callable

PATH = "/waypost.v1.AccountService/GetBalance"
HEALTH = "/grpc.health.v1.Health/Check"
# `FLOODS=full` measures what docs/decisions/0031 states, on a machine that has nothing else to do.
FULL = os.environ.get("FLOODS") == "full"
SECONDS = 6.0 if FULL else 2.5
CONNECTIONS = 10 if FULL else 6
# A rest after each write: a flood, but one that leaves the machine some time to answer any caller.
_REST = 0.0 if FULL else 0.002
_CALL = request_headers(PATH)
_DEMO = request_headers(PATH, ("x-api-key", "demo"))


def main(port: int, kind: str, *, tls: bool = False) -> None:
    """Run one flood to its end."""
    flood, connections = FLOODS[kind]
    if tls:
        port = _encrypt(port)
    end = time.monotonic() + SECONDS
    threads = [threading.Thread(target=_keep_at_it, args=(port, flood, end), daemon=True) for _ in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS + 5)


def _keep_at_it(port: int, flood: Callable[[Connection, float], None], end: float) -> None:
    while time.monotonic() < end:
        with suppress(OSError), Connection(port) as connection:
            flood(connection, end)
        time.sleep(0.01)


def _encrypt(port: int) -> int:
    """Return a port of this process that leads to the given one by TLS: two threads cannot share a socket of ssl."""
    ready: Future[int] = Future()
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while some := await reader.read(1 << 16):
                writer.write(some)
                await writer.drain()
        writer.transport.abort()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, onwards = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        except OSError:
            writer.transport.abort()
            return
        await asyncio.gather(pass_on(reader, onwards), pass_on(there, writer))

    async def relay() -> None:
        async with await asyncio.start_server(take, "127.0.0.1", 0, backlog=4096) as server:
            ready.set_result(server.sockets[0].getsockname()[1])
            await server.serve_forever()

    threading.Thread(target=lambda: asyncio.run(relay()), daemon=True).start()
    return ready.result(10)


def _read_on(connection: Connection) -> None:
    """Answer what the server sends, so that the flood is one of a client that keeps to HTTP/2."""

    def read() -> None:
        with suppress(OSError):
            while True:
                connection.receive()

    threading.Thread(target=read, daemon=True).start()


def _write(connection: Connection, end: float, some: Callable[[int], bytes], streams: int) -> None:
    _read_on(connection)
    stream = 1
    while time.monotonic() < end:
        connection.send(some(stream))
        stream += 2 * streams
        time.sleep(_REST)


def _resets(block: bytes) -> Callable[[Connection, float], None]:
    """Return a flood of calls with that header block, each reset at once."""

    def some(first: int) -> bytes:
        return b"".join(
            frame(HEADERS, END_HEADERS, stream, block) + frame(RST_STREAM, 0, stream, CANCEL)
            for stream in range(first, first + 100, 2)
        )

    return lambda connection, end: _write(connection, end, some, 50)


def _opened(connection: Connection, end: float) -> None:
    def some(first: int) -> bytes:
        return b"".join(frame(HEADERS, END_HEADERS, stream, _CALL) for stream in range(first, first + 100, 2))

    _write(connection, end, some, 50)


def _compressed(connection: Connection, end: float) -> None:
    connection.open(1, _CALL + literal("x-a", "a" * 3500, kept=True))
    block = _CALL + NEWEST * 4000  # fourteen megabytes, when unpacked
    _write(connection, end, lambda stream: frame(HEADERS, END_HEADERS, stream + 2, block), 1)


def _metadata(connection: Connection, end: float) -> None:
    block = request_headers(PATH, *((f"x-{number}", "b" * 1000) for number in range(12)))

    def some(first: int) -> bytes:
        return b"".join(frame(HEADERS, END_HEADERS, stream, block) for stream in range(first, first + 20, 2))

    _write(connection, end, some, 10)


def _continuations(connection: Connection, end: float) -> None:
    connection.open(1, _CALL, flags=0)
    piece = literal("x-a", "c" * 16_000)
    _write(connection, end, lambda stream: frame(CONTINUATION, 0, 1, piece), 1)


def _messages(block: bytes, size: int) -> Callable[[Connection, float], None]:
    """Return a flood of one message of `size` bytes a connection, of which the last byte never comes."""

    def flood(connection: Connection, end: float) -> None:
        connection.open(1, block)
        piece = b"\0" + size.to_bytes(4, "big")
        left = size + len(piece)
        while left > 1 and time.monotonic() < end:
            room = min(connection.window, connection.windows[1], left - 1, 16_384)
            if room <= 0:
                connection.receive()
                continue
            connection.send(frame(DATA, 0, 1, (piece + bytes(room))[:room]))
            piece = b""
            connection.window -= room
            connection.windows[1] -= room
            left -= room
        time.sleep(max(0.0, end - time.monotonic()))

    return flood


def _silence(connection: Connection, end: float) -> None:
    time.sleep(max(0.0, end - time.monotonic()))


FLOODS: dict[str, tuple[Callable[[Connection, float], None], int]] = {
    "resets": (_resets(_CALL), CONNECTIONS),
    "resets of the demo": (_resets(_DEMO), CONNECTIONS),
    "opened streams": (_opened, CONNECTIONS),
    "compressed headers": (_compressed, CONNECTIONS),
    "metadata": (_metadata, CONNECTIONS),
    "continuations": (_continuations, CONNECTIONS),
    "messages": (_messages(_CALL, 64 << 20), 25),
    "messages to health": (_messages(request_headers(HEALTH), (4 << 20) - 64), 60),
    "messages to the demo": (_messages(_DEMO, (4 << 20) - 64), 60),
    "connections": (_silence, 3000 if FULL else 1000),
}
"""By name: what one connection does, and how many there are."""


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], tls="tls" in sys.argv[3:])
