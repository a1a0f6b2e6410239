"""The yardsticks: a bare aiohttp + orjson echo and a bare grpc.aio echo, each in a process of its own.

Run as `python -m bench.echoes http|grpc PORT`; prints one line when it listens. With a third argument the HTTP echo's
answers have that many bytes.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import grpc
import orjson
import uvloop
from aiohttp import web
from waypost.v1 import account_pb2, account_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

ANSWER = account_pb2.GetBalanceResponse(
    chain="0x1",
    address="0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045",
    block_height=23_000_000,
    token="ETH",
    balance="1.5",
    balance_raw="1500000000000000000",
    decimals=18,
)


async def answer_http(request: web.Request) -> web.Response:
    """Parse the body and print a JSON-RPC answer of a balance's size."""
    asked = orjson.loads(await request.read())
    result = {"data": {"chain": "0x1", "balance": "1.5", "decimals": 18, "address": asked["params"]["address"]}}
    body = orjson.dumps({"jsonrpc": "2.0", "result": result, "id": asked["id"]})
    return web.Response(body=body, content_type="application/json")


def answer_of(size: int) -> Callable[[web.Request], Awaitable[web.Response]]:
    """Return a handler that parses the body and prints a JSON-RPC answer of so many bytes."""
    padding = "x" * (size - len(orjson.dumps({"jsonrpc": "2.0", "result": {"data": ""}, "id": 1})))

    async def answer(request: web.Request) -> web.Response:
        asked = orjson.loads(await request.read())
        body = orjson.dumps({"jsonrpc": "2.0", "result": {"data": padding}, "id": asked["id"]})
        return web.Response(body=body, content_type="application/json")

    return answer


async def serve_http(port: int, size: int | None = None) -> None:
    """Serve the HTTP echo until the process ends."""
    app = web.Application()
    app.router.add_post("/v1", answer_http if size is None else answer_of(size))
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()


class Echo(account_pb2_grpc.AccountServiceServicer):
    """Answers every balance alike."""

    async def GetBalance(self, request: object, context: object) -> account_pb2.GetBalanceResponse:
        """Answer without looking at anything."""
        return ANSWER


async def serve_grpc(port: int, size: int | None = None) -> None:
    """Serve the gRPC echo until the process ends."""
    server = grpc.aio.server()
    account_pb2_grpc.add_AccountServiceServicer_to_server(Echo(), server)  # type: ignore[no-untyped-call]
    server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    serve_grpc.server = server  # type: ignore[attr-defined]  # a collected server stops


async def main(kind: str, port: int, size: int | None = None) -> None:
    """Start one echo and wait for ever."""
    await {"http": serve_http, "grpc": serve_grpc}[kind](port, size)
    print("listening", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1], *map(int, sys.argv[2:])))
