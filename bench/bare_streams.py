"""What streams are compared with: a bare grpc.aio stream and a bare aiohttp WebSocket that send an event at a word.

Run as `python -m bench.bare_streams grpc|socket PORT`. Every stream gets one event when it is opened. `go`, as a cursor
or a message, has `EVENTS` sent to each of the others.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import grpc
import orjson
import uvloop
from aiohttp import web
from google.protobuf.json_format import MessageToDict
from waypost.v1 import stream_pb2, stream_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

EVENTS = 64
GO = "go"
# As long as events of the gateway: with a cursor of all the blocks that one knows.
EVENT = stream_pb2.WatchBlocksResponse(
    cursor="A" * 800,
    chain="base",
    kind=stream_pb2.EVENT_KIND_ADDED,
    block_number=23_000_000,
    block_hash="0x" + "ab" * 32,
    finality=stream_pb2.FINALITY_LATEST,
    block=stream_pb2.BlockHeader(
        number=23_000_000,
        hash="0x" + "ab" * 32,
        parent_number=22_999_999,
        parent_hash="0x" + "cd" * 32,
        transaction_count=0,
        gas_used="0",
        gas_limit="30000000",
        base_fee_per_gas="1000000000",
    ),
)


class Word:
    """A word that all who wait for it get, those who are late too; `times` is how often it was given."""

    def __init__(self) -> None:
        self.times = 0
        self._given = asyncio.Event()

    def give(self) -> None:
        """Wake everyone who waits."""
        self.times += 1
        self._given.set()
        self._given = asyncio.Event()

    async def wait(self, times: int) -> None:
        """Return once it was given more often."""
        while self.times <= times:
            await self._given.wait()


class Streams(stream_pb2_grpc.StreamServiceServicer):
    """Sends the same event again and again."""

    def __init__(self, word: Word) -> None:
        self._word = word

    async def WatchBlocks(
        self, request: stream_pb2.WatchBlocksRequest, context: object
    ) -> AsyncIterator[stream_pb2.WatchBlocksResponse]:
        """Send one event, then many at each word."""
        if request.cursor == GO:
            self._word.give()
            return
        times = self._word.times
        yield EVENT
        while True:
            await self._word.wait(times)
            times += 1
            for _ in range(EVENTS):
                yield EVENT


async def serve_grpc(port: int) -> None:
    """Serve streams over gRPC until the process ends."""
    server = grpc.aio.server()
    stream_pb2_grpc.add_StreamServiceServicer_to_server(Streams(Word()), server)  # type: ignore[no-untyped-call]
    server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    await server.wait_for_termination()


async def serve_socket(port: int) -> None:
    """Serve WebSockets until the process ends."""
    word = Word()
    params = {"subscription": "0x1", "cursor": EVENT.cursor, "event": MessageToDict(EVENT)}
    text = orjson.dumps({"jsonrpc": "2.0", "method": "subscription", "params": params}).decode()

    async def answer(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(compress=False)
        await socket.prepare(request)
        if await socket.receive_str() == GO:
            word.give()
            return socket
        times = word.times
        await socket.send_str(text)
        while True:
            await word.wait(times)
            times += 1
            for _ in range(EVENTS):
                await socket.send_str(text)

    app = web.Application()
    app.router.add_get("/", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    serve = {"grpc": serve_grpc, "socket": serve_socket}[sys.argv[1]]
    uvloop.run(serve(int(sys.argv[2])))
