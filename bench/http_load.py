"""A small HTTP/1.1 load generator: keep-alive connections, one request in flight on each.

It is our own because it must cost next to nothing beside the servers it measures on the same two cores; a client
library would spend more time than the server under test.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Load:
    """What one run measured: requests per second, and latencies in seconds, sorted."""

    rate: float
    latencies: list[float]

    @property
    def median(self) -> float:
        """The median latency in seconds."""
        return self.latencies[len(self.latencies) // 2]


class _Connection(asyncio.Protocol):
    def __init__(self, head: bytes, body: Callable[[], bytes], expect: bytes, stop_at: float) -> None:
        self.head, self.body, self.expect, self.stop_at = head, body, expect, stop_at
        self.buffer = bytearray()
        self.latencies: list[float] = []
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)  # uvloop's transports are not subclasses
        self._send()

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self.buffer[:end]).lower()
        at = head.index(b"content-length:") + 15
        length = int(head[at : (head + b"\r\n").index(b"\r\n", at)])
        if len(self.buffer) < end + 4 + length:
            return
        now = time.perf_counter()
        self.latencies.append(now - self.sent_at)
        if self.expect not in self.buffer:
            self.done.set_exception(AssertionError(f"unexpected answer: {bytes(self.buffer[-300:])!r}"))
            self.transport.close()
            return
        self.buffer.clear()
        if now < self.stop_at:
            self._send()
        else:
            self.transport.close()
            self.done.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(exc or ConnectionError("the server closed the connection"))

    def _send(self) -> None:
        body = self.body()
        self.sent_at = time.perf_counter()
        self.transport.write(self.head + str(len(body)).encode() + b"\r\n\r\n" + body)


async def post(
    url: str, body: Callable[[], bytes], *, expect: bytes, connections: int, seconds: float, headers: str = ""
) -> Load:
    """Post bodies for `seconds` over `connections` connections; every answer must contain `expect`.

    `headers` are further lines, each with its end.
    """
    parts = urlsplit(url)
    head = (
        f"POST {parts.path or '/'} HTTP/1.1\r\nHost: {parts.netloc}\r\n"
        f"Content-Type: application/json\r\n{headers}Content-Length: "
    ).encode()
    loop = asyncio.get_running_loop()
    started = time.perf_counter()
    clients = []
    for _ in range(connections):
        _, client = await loop.create_connection(
            lambda: _Connection(head, body, expect, started + seconds), parts.hostname or "127.0.0.1", parts.port or 80
        )
        clients.append(client)
    await asyncio.gather(*(client.done for client in clients))
    elapsed = time.perf_counter() - started
    latencies = sorted(latency for client in clients for latency in client.latencies)
    return Load(len(latencies) / elapsed, latencies)
