"""A proxy, a private certificate authority, and a server that says why it refuses a certificate."""

from __future__ import annotations

import asyncio
import socket
import ssl
import subprocess
import threading
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from server.upstream.http import Proxy
from tests.server.upstream.http.scripted import LONGEST_SECONDS, plain

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


class ConnectProxy:
    """Opens tunnels to the targets `opened`, or sends `answer` instead; `heads` is all that it was asked."""

    def __init__(self, answer: bytes | None) -> None:
        self.answer = answer
        self.opened: list[str] = []
        self.heads: list[bytes] = []
        self.port = 0
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def url(self) -> str:
        return f"http://user:pass%21@127.0.0.1:{self.port}"

    @property
    def proxy(self) -> Proxy:
        return Proxy.parse(self.url)

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            self.heads.append(head)
            if self.answer is not None:
                writer.write(self.answer)
                if not self.answer:
                    await reader.read()
                return
            target = head.split()[1].decode()
            self.opened.append(target)
            # The proxy knows names that the gateway does not.
            to, back = await asyncio.open_connection("127.0.0.1", int(target.rpartition(":")[2]))
            writer.write(b"HTTP/1.1 200 Connection established\r\nVia: 1.1 proxy\r\n\r\n")
            try:
                await asyncio.gather(self._pipe(reader, back), self._pipe(to, writer))
            finally:
                back.transport.abort()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _pipe(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        finally:
            writer.close()

    async def stop(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@asynccontextmanager
async def proxying(answer: bytes | None = None) -> AsyncIterator[ConnectProxy]:
    proxy = ConnectProxy(answer)
    listening = await asyncio.start_server(proxy.accept, "127.0.0.1", 0)
    proxy.port = listening.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        listening.close()
        await proxy.stop()
        await asyncio.sleep(0.01)


class Authority:
    """A private certificate authority."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.certificate, self._key = self._issue("authority", "-addext", "basicConstraints=critical,CA:TRUE")

    def issue(self, name: str) -> tuple[Path, Path]:
        """Return a new certificate for a name that this authority vouches for, and its key."""
        signed = ("-CA", str(self.certificate), "-CAkey", str(self._key))
        return self._issue(name, *signed, "-addext", "basicConstraints=critical,CA:FALSE")

    def server(self, *, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> ssl.SSLContext:
        """Return a server for node.test that asks clients for certificates of this authority."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(self.certificate))
        context.load_cert_chain(*self.issue("node.test"))
        context.verify_mode = ssl.CERT_REQUIRED
        context.maximum_version = version
        return context

    def _issue(self, name: str, *options: str) -> tuple[Path, Path]:
        certificate, key = self._folder / f"{name}.pem", self._folder / f"{name}.secret-key"
        subprocess.run(
            [
                *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
                *("-days", "2", "-subj", f"/CN={name}", "-keyout", str(key), "-out", str(certificate)),
                *("-addext", f"subjectAltName=DNS:{name},DNS:localhost", *options),
            ],
            check=True,
            capture_output=True,
        )
        return certificate, key


@asynccontextmanager
async def strict(tls: ssl.SSLContext) -> AsyncIterator[int]:
    """Serve in a thread, on the port returned: servers of asyncio close without saying why a certificate is refused."""

    def visit(connection: ssl.SSLSocket) -> None:
        connection.settimeout(LONGEST_SECONDS)
        try:
            connection.do_handshake()
        except ssl.SSLError:
            # What the client sent meanwhile would make a reset of the close, which may overtake the alert.
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65536):
                pass
            return
        connection.recv(65536)
        connection.sendall(plain(b'{"jsonrpc":"2.0","id":1,"result":"0x1"}'))
        connection.recv(65536)

    def serve() -> None:
        while True:
            try:
                taken, _ = listening.accept()
            except OSError:
                return
            with (
                suppress(OSError),
                tls.wrap_socket(taken, server_side=True, do_handshake_on_connect=False) as connection,
            ):
                visit(connection)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            await asyncio.to_thread(thread.join)
