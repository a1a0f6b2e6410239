"""Contracts that write many logs, and a stand-in for providers that limit `eth_getLogs`."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from aiohttp import web
from eth_abi import encode

if TYPE_CHECKING:
    from collections.abc import Callable

    import aiohttp

    from tests.server.chains.evm.nodes import Anvil

LOGGER = "0x00000000000000000000000000000000000000c1"
ID_LOGGER = "0x00000000000000000000000000000000000000c2"
OTHER_LOGGER = "0x00000000000000000000000000000000000000C3"
TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"


def logger_code(topics: int) -> bytes:
    """Runtime code that writes `count` logs of that many topics; calldata is count and the topics, a word each.

    The data of each log is how many more are to come.
    """
    push_topics = b"".join(bytes([0x60, 32 * number, 0x35]) for number in range(topics, 0, -1))
    body = (
        bytes.fromhex("6001900380600052") + push_topics + bytes([0x60, 0x20, 0x60, 0x00, 0xA0 + topics, 0x60, 3, 0x56])
    )
    end = 3 + 1 + 5 + len(body)
    return bytes.fromhex("6000355b8015") + bytes([0x60, end, 0x57]) + body + bytes.fromhex("5b00")


async def place_loggers(node: Anvil) -> None:
    for address, topics in ((LOGGER, 3), (ID_LOGGER, 4), (OTHER_LOGGER, 3)):
        await node.place(address, logger_code(topics), is_runtime=True)


async def write_logs(node: Anvil, count: int, *topics: str, contract: str = LOGGER, gas: int = 29_000_000) -> int:
    """Write that many logs in one block and return its number."""
    words = [int(topic, 16) for topic in topics]
    data = "0x" + encode(["uint256"] * (1 + len(words)), [count, *words]).hex()
    receipt = await node.send(contract, data, gas=hex(gas))
    return int(receipt["blockNumber"], 16)


class LimitedNode:
    """Stands before a real node and refuses `eth_getLogs` as a provider would; `asked` holds the ranges it was asked.

    `refuse(low, high, logs)` returns the error object, or None to let the answer through. `delay(low, high)` is how
    many seconds it takes.
    """

    def __init__(self, target: str, session: aiohttp.ClientSession) -> None:
        self.url = ""
        self.refuse: Callable[[int, int, int], dict[str, Any] | None] = lambda low, high, logs: None
        self.delay: Callable[[int, int], float] = lambda low, high: 0.0
        self.asked: list[tuple[int, int]] = []
        self._target = target
        self._session = session
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        application = web.Application()
        application.router.add_post("/", self._answer)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        return await self._send(request)

    async def _send(self, request: web.Request) -> web.Response:
        body = await request.json()
        async with self._session.post(
            self._target, data=json.dumps(body), headers={"content-type": "application/json"}
        ) as response:
            answer = await response.read()
        if not isinstance(body, list):
            # Counted, not decoded: pages of thousands of logs are what these tests ask for.
            error = await self._refusal(body, answer.count(b'"logIndex"'))
            if error is not None:
                answer = json.dumps({"jsonrpc": "2.0", "id": body["id"], "error": error}).encode()
        elif any(call["method"] == "eth_getLogs" for call in body):
            reply = json.loads(answer)
            for position, call in enumerate(body):
                error = await self._refusal(call, len(reply[position].get("result") or ()))
                if error is not None:
                    reply[position] = {"jsonrpc": "2.0", "id": call["id"], "error": error}
                    answer = json.dumps(reply).encode()
        return web.Response(body=answer, content_type="application/json")

    async def _refusal(self, call: dict[str, Any], logs: int) -> dict[str, Any] | None:
        if call["method"] != "eth_getLogs":
            return None
        [query] = call["params"]
        low, high = int(query["fromBlock"], 16), int(query["toBlock"], 16)
        self.asked.append((low, high))
        await asyncio.sleep(self.delay(low, high))
        return self.refuse(low, high, logs)


def at_most(blocks: int, message: str, code: int = -32005) -> Callable[[int, int, int], dict[str, Any] | None]:
    """Refuse more blocks; `{low}`, `{good}`, `{blocks}` in the message stand for a range that would work."""

    def refuse(low: int, high: int, logs: int) -> dict[str, Any] | None:
        if high - low + 1 <= blocks:
            return None
        good = low + blocks - 1
        hexes = {"hex_low": hex(low), "hex_good": hex(good)}
        return {"code": code, "message": message.format(low=low, good=good, blocks=blocks, **hexes)}

    return refuse
