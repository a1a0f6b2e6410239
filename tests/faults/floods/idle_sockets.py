"""Sockets that are opened and then do nothing: `python -m ... PORT COUNT`; a line on the input ends it.

It prints how many were opened, once they are. A process of its own, as its descriptors and its time are its own.
"""

from __future__ import annotations

import asyncio
import sys

from runtime.listening import ask_for_descriptors

AT_ONCE = 64
_ASK = (
    b"GET /local/v1/ws HTTP/1.1\r\nHost: waypost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n"
)
_PING, _PONG = 0x89, b"\x8a\x80\0\0\0\0"


class Idle(asyncio.Protocol):
    """One socket that answers pings; `opened` is whether it was upgraded."""

    def __init__(self) -> None:
        self.opened: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask to be upgraded."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(_ASK)

    def data_received(self, data: bytes) -> None:
        """Take the answer, later a ping."""
        if not self.opened.done():
            self.opened.set_result(data.startswith(b"HTTP/1.1 101 "))
        elif data[0] == _PING and self._transport is not None:
            self._transport.write(_PONG)

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that it was refused, if it was not open yet."""
        if not self.opened.done():
            self.opened.set_result(False)


async def main(port: int, count: int) -> None:
    """Open the sockets and hold them until a line comes; then print how many are open still."""
    ask_for_descriptors()
    loop = asyncio.get_running_loop()
    turn = asyncio.Semaphore(AT_ONCE)
    held: list[asyncio.Transport] = []

    async def open_one() -> bool:
        async with turn:
            transport, socket = await loop.create_connection(Idle, "127.0.0.1", port)
            held.append(transport)
            return await socket.opened

    opened = await asyncio.gather(*(open_one() for _ in range(count)))
    print(sum(opened), flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    print(sum(not transport.is_closing() for transport in held), flush=True)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
