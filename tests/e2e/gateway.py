"""A gateway on loopback sockets over local nodes, and two ways to ask it."""

from __future__ import annotations

import itertools
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import aiohttp
import grpc
from aiohttp import web

from runtime.settings import load_settings
from server.app import Gateway
from transcoder.app import create_app

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from google.protobuf.message import Message

    from runtime.operations import Operation
    from runtime.settings import Settings

KEY = "local"


class RunningGateway:
    """Asks one gateway over both faces."""

    def __init__(self, http: str, grpc_target: str, session: aiohttp.ClientSession) -> None:
        self.http, self.grpc_target, self.session = http, grpc_target, session
        self.channel = grpc.aio.insecure_channel(grpc_target, options=[("grpc.max_receive_message_length", 64 << 20)])
        self._ids = itertools.count(1)

    async def post(self, body: Any, *, path: str = f"/{KEY}/v1", **options: Any) -> aiohttp.ClientResponse:
        """Post JSON (or bytes as they are) and return the response, its body read."""
        content = {"data": body} if isinstance(body, bytes) else {"json": body}
        response = await self.session.post(self.http + path, **content, **options)
        await response.read()
        return response

    async def ask(self, method: str, params: Any) -> dict[str, Any]:
        """Return the response object of one JSON-RPC request."""
        request = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}
        response = await self.post(request)
        answer: dict[str, Any] = await response.json()
        assert answer["id"] == request["id"]
        return answer

    async def ask_grpc(self, operation: Operation, request: Message, key: str | None = KEY) -> Message:
        """Return the response message of one gRPC call over the socket."""
        call = self.channel.unary_unary(
            operation.path,
            request_serializer=operation.request.SerializeToString,
            response_deserializer=operation.response.FromString,
        )
        metadata = (("x-api-key", key),) if key is not None else ()
        answer: Message = await call(request, metadata=metadata, timeout=20)
        return answer


@asynccontextmanager
async def run_gateway(settings: Settings) -> AsyncIterator[RunningGateway]:
    """Run a gateway with the transcoder in the same process, both on free ports."""
    server = await Gateway.create(settings)
    port = await server.start()
    runner = web.AppRunner(create_app(server.channel(), settings.http), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    async with aiohttp.ClientSession() as session:
        running = RunningGateway(f"http://127.0.0.1:{runner.addresses[0][1]}", f"127.0.0.1:{port}", session)
        try:
            yield running
        finally:
            await running.channel.close()
            await runner.cleanup()
            await server.drain(1.0)


@asynccontextmanager
async def run_gateway_on(
    chains: dict[str, Any], folder: Path, *, sources: dict[str, Any] | None = None
) -> AsyncIterator[RunningGateway]:
    """Run a gateway over these settings of chains and off-chain sources, its database in the folder."""
    overrides = {
        "profile": "devnet",
        "chains": chains,
        "sources": sources or {},
        "storage": {"url": f"sqlite+aiosqlite:///{folder / 'waypost.db'}"},
        "grpc": {"host": "127.0.0.1", "port": 0},
        "http": {"host": "127.0.0.1"},
    }
    async with run_gateway(load_settings(environ={}, overrides=overrides)) as running:
        yield running
