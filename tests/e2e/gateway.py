"""A gateway on loopback sockets over local nodes, and two ways to ask it."""

from __future__ import annotations

import itertools
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import aiohttp
import grpc

from runtime.settings import load_settings
from server.app import Gateway
from tests.serving import serve_face
from transcoder.console_files import ConsoleFiles

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from google.protobuf.message import Message

    from devnet.launcher import Devnet
    from runtime.operations import Operation
    from runtime.settings import Settings

KEY = "local"
CREDENTIAL = "0123456789abcdef-split"
LONG_MESSAGES = [("grpc.max_receive_message_length", 64 << 20)]


class RunningGateway:
    """Asks one gateway over both faces; `behind_socket` is a transcoder behind its private listener, if it has one."""

    def __init__(
        self,
        http: str,
        grpc_target: str,
        session: aiohttp.ClientSession,
        behind_socket: str | None = None,
        server: Gateway | None = None,
    ) -> None:
        self.http, self.grpc_target, self.session, self.behind_socket = http, grpc_target, session, behind_socket
        self.server = server
        self.channel = grpc.aio.insecure_channel(grpc_target, options=LONG_MESSAGES)
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
    """Run a gateway with the transcoder in the same process, both on free ports.

    Where the settings have a private listener, a second transcoder stands behind it.
    """
    async with AsyncExitStack() as stack:
        server = await Gateway.create(settings)
        stack.push_async_callback(server.drain, 1.0)
        port = await server.start()
        console = ConsoleFiles(settings.profile) if settings.console.enabled else None
        http = await stack.enter_async_context(
            serve_face(
                server.channel(), settings.http, kept=server.responses, profile=settings.profile, console=console
            )
        )
        behind_socket = None
        if private := settings.grpc.private_listen:
            channel = await stack.enter_async_context(grpc.aio.insecure_channel(private, options=LONG_MESSAGES))
            behind_socket = await stack.enter_async_context(
                serve_face(channel, settings.http, CREDENTIAL, profile=settings.profile, console=console)
            )
        session = await stack.enter_async_context(aiohttp.ClientSession())
        running = RunningGateway(http, f"127.0.0.1:{port}", session, behind_socket, server)
        stack.push_async_callback(running.channel.close)
        yield running


def settings_over(devnet: Devnet, folder: Path) -> Settings:
    """Return settings of a gateway over all chains of the devnet, with a private listener, its files in the folder."""
    overrides = devnet.settings_overrides() | {
        "storage": {"url": f"sqlite+aiosqlite:///{folder / 'waypost.db'}"},
        "grpc": {
            "host": "127.0.0.1",
            "port": 0,
            "private_listen": f"unix:{folder}/private.sock",
            "credential": CREDENTIAL,
        },
        "http": {"host": "127.0.0.1"},
    }
    return load_settings(environ={}, overrides=overrides)


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
