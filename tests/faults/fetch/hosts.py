"""Hosts that a contract could name: real servers on loopback addresses that count the connections to them."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    Answer = Callable[["Host", bytes, asyncio.StreamWriter], Awaitable[None]]


class Host:
    """A server that keeps what it was sent. `answers` holds whole answers (or what writes one) by path."""

    def __init__(self, answers: dict[str, bytes | Answer]) -> None:
        self.answers = answers
        self.connections = 0
        self.requests: list[bytes] = []
        self.port = 0
        self.server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                head = await reader.readuntil(b"\r\n\r\n")
                size = next(
                    (int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
                )
                self.requests.append(head + await reader.readexactly(size))
                path = head.split(b" ", 2)[1].decode()
                answer = self.answers.get(path, b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                if isinstance(answer, bytes):
                    writer.write(answer)
                    await writer.drain()
                else:
                    await answer(self, head, writer)
        finally:
            self._tasks.discard(task)
            writer.close()
            with suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()

    def refuse(self) -> None:
        """Take no connection any more."""
        assert self.server is not None
        self.server.close()

    async def stop(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def run_host(
    answers: dict[str, bytes | Answer], *, address: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Host]:
    host = Host(answers)
    server = await asyncio.start_server(host.serve, address, port, ssl=tls)
    host.server = server
    host.port = server.sockets[0].getsockname()[1]
    try:
        yield host
    finally:
        server.close()
        await host.stop()
        await server.wait_closed()


def whole(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def redirect(location: str, status: str = "302 Found", *headers: str) -> bytes:
    return whole(b"", f"Location: {location}", *headers, status=status)


def make_certificate(folder: Path, *names: str) -> tuple[Path, Path]:
    """Return a new certificate that vouches for itself and the names, and its key."""
    certificate, key = folder / f"{names[0]}.pem", folder / f"{names[0]}.key"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-days", "2", "-subj", f"/CN={names[0]}", "-keyout", str(key), "-out", str(certificate)),
            *("-addext", "subjectAltName=" + ",".join(f"DNS:{name}" for name in names)),
        ],
        check=True,
        capture_output=True,
    )
    return certificate, key
