"""Requests that do not wait for answers: a Poisson stream, and bursts of clients that write together."""

from __future__ import annotations

import asyncio
import random
import time
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from bench.http_load import Load

if TYPE_CHECKING:
    from collections.abc import Callable


class Client(asyncio.Protocol):
    """One keep-alive connection with at most one request in flight."""

    def __init__(self, head: bytes) -> None:
        self._head = head
        self._buffer = bytearray()
        self._answered: asyncio.Future[float] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's transports are not subclasses

    def data_received(self, data: bytes) -> None:
        """Collect the answer and return its latency."""
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self._buffer[:end]).lower()
        at = head.index(b"content-length:") + 15
        length = int(head[at : (head + b"\r\n").index(b"\r\n", at)])
        if len(self._buffer) < end + 4 + length or self._answered is None:
            return
        answered, self._answered = self._answered, None
        if b'"result"' in self._buffer:
            answered.set_result(time.perf_counter() - self._sent_at)
        else:
            answered.set_exception(AssertionError(f"unexpected answer: {bytes(self._buffer[-300:])!r}"))
        self._buffer.clear()

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the request in flight."""
        if self._answered is not None and not self._answered.done():
            self._answered.set_exception(exc or ConnectionError("the server closed the connection"))

    def send(self, body: bytes) -> asyncio.Future[float]:
        """Send one request; the future is its latency in seconds."""
        self._answered = asyncio.get_running_loop().create_future()
        self._sent_at = time.perf_counter()
        self._transport.write(self._head + str(len(body)).encode() + b"\r\n\r\n" + body)
        return self._answered

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()


async def connect(url: str, headers: str = "") -> Client:
    """Return a client of the URL; `headers` are further lines, each with its end."""
    parts = urlsplit(url)
    head = (
        f"POST {parts.path or '/'} HTTP/1.1\r\nHost: {parts.netloc}\r\n"
        f"Content-Type: application/json\r\n{headers}Content-Length: "
    ).encode()
    _, client = await asyncio.get_running_loop().create_connection(
        lambda: Client(head), parts.hostname or "127.0.0.1", parts.port or 80
    )
    return client


async def poisson(
    url: str,
    body: Callable[[], bytes],
    *,
    rate: float,
    seconds: float,
    sent: list[float] | None = None,
    headers: str = "",
) -> Load:
    """Post at `rate` a second on average, with independent gaps, whatever is unanswered.

    `sent` gets the seconds after the beginning at which requests were in fact sent; `headers` as for `connect`.
    """
    idle = [await connect(url, headers) for _ in range(32)]
    clients = list(idle)
    latencies: list[float] = []
    random_gaps = random.Random(1)
    running: set[asyncio.Task[None]] = set()

    async def one() -> None:
        client = idle.pop() if idle else await connect(url, headers)
        if client not in clients:
            clients.append(client)
        answer = client.send(body())
        if sent is not None:
            sent.append(time.perf_counter() - started)
        latencies.append(await answer)
        idle.append(client)

    started = time.perf_counter()
    due = started
    while (due := due + random_gaps.expovariate(rate)) < started + seconds:
        wait = due - time.perf_counter()
        if wait > 0:
            await asyncio.sleep(wait)
        task = asyncio.get_running_loop().create_task(one())
        running.add(task)
        task.add_done_callback(running.discard)
    await asyncio.gather(*running)
    elapsed = time.perf_counter() - started
    for client in clients:
        client.close()
    return Load(len(latencies) / elapsed, sorted(latencies))


class Crowd:
    """Clients that write at the same moment."""

    def __init__(self, clients: list[Client]) -> None:
        self._clients = clients

    @classmethod
    async def gather(cls, url: str, size: int) -> Crowd:
        """Return that many connected clients."""
        return cls([await connect(url) for _ in range(size)])

    async def ask(self, body: Callable[[], bytes]) -> float:
        """Let every client send one request; return the seconds that the writing took, once all are answered."""
        bodies = [body() for _ in self._clients]
        started = time.perf_counter()
        answers = [client.send(one) for client, one in zip(self._clients, bodies, strict=True)]
        written = time.perf_counter() - started
        await asyncio.gather(*answers)
        return written

    def close(self) -> None:
        """Close every connection."""
        for client in self._clients:
            client.close()
