"""The WebSocket of a node that announces what a test says."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from aiohttp import WSMsgType, web

if TYPE_CHECKING:
    from collections.abc import Callable

HASH = "0x" + "ab" * 32
SECONDS = 10.0


class PushNode:
    """A node's WebSocket. `sockets` are those open now, `asked` the calls, `handshakes` the headers of each."""

    def __init__(self) -> None:
        self.sockets: list[web.WebSocketResponse] = []
        self.asked: list[dict[str, Any]] = []
        self.handshakes: list[web.BaseRequest] = []
        self.chain_id = "0x1"
        self.refusal: dict[str, Any] | None = None
        self.status: web.Response | None = None
        self.url = ""
        self.runner = web.ServerRunner(web.Server(self._serve), shutdown_timeout=0.1)

    async def start(self) -> None:
        await self.runner.setup()
        await web.TCPSite(self.runner, "127.0.0.1", 0).start()
        self.url = f"ws://127.0.0.1:{self.runner.addresses[0][1]}/ws"

    async def announce(self, number: int, block_hash: str = HASH, subscription: str = "0xs") -> None:
        params = {"subscription": subscription, "result": {"number": hex(number), "hash": block_hash}}
        await self.send(json.dumps({"jsonrpc": "2.0", "method": "eth_subscription", "params": params}))

    async def send(self, text: str) -> None:
        await self.subscribed()
        await self.sockets[-1].send_str(text)

    async def subscribed(self, times: int = 1) -> None:
        await until(lambda: sum(call["method"] == "eth_subscribe" for call in self.asked) >= times)

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        self.handshakes.append(request)
        if self.status is not None:
            return self.status
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self.sockets.append(socket)
        async for message in socket:
            if message.type is not WSMsgType.TEXT:
                break
            call = json.loads(message.data)
            answer: dict[str, Any] = {"jsonrpc": "2.0", "id": call["id"]}
            if call["method"] == "eth_chainId":
                answer["result"] = self.chain_id
            elif self.refusal is not None:
                answer["error"] = self.refusal
            else:
                answer["result"] = "0xs"
            await socket.send_json(answer)
            self.asked.append(call)
        self.sockets.remove(socket)
        return socket


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.005)
