"""Real nodes with a small world in them, and a stand-in for nodes that answer every height with the latest state."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import subprocess
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import aiohttp
from aiohttp import web
from eth_abi import encode
from eth_hash.auto import keccak

from devnet.evm.artifacts import RUNTIMES, multicall3, original, stand_ins, with_parent_number
from devnet.install import anvil_binary
from devnet.ports import free_port
from devnet.watchdog import Watchdog
from runtime.settings import Settings
from server.chains.capabilities.contracts import CallsContracts
from server.chains.registry import Chains
from server.upstream import open_session
from tests.operations import Operations

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


MULTICALL3 = "0xcA11bde05977b3631167028862bE2a173976CA11"
ARB_SYS = "0x0000000000000000000000000000000000000064"
OWNER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
ALICE = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
BOB = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
NOBODY = "0x1111111111111111111111111111111111111111"

USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
USDT = "0xdAC17F958D2ee523a2206206994597C13D831ec7"
MKR = "0x9f8F72aA9304c8B593d555F12eF6589cC3A579A2"
WETH = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"
NAMELESS = "0x00000000000000000000000000000000000000A1"
WHOLE = "0x00000000000000000000000000000000000000A2"
PROXY = "0x00000000000000000000000000000000000000A3"
HOSTILE = "0x00000000000000000000000000000000000000a4"
PROBER = "0x00000000000000000000000000000000000000A5"
GAS_BURNER = "0x00000000000000000000000000000000000000a6"
REVERT_BOMBER = "0x00000000000000000000000000000000000000A7"
RETURN_BOMBER = "0x00000000000000000000000000000000000000a8"
SILENT = "0x00000000000000000000000000000000000000A9"
DELEGATED = "0x00000000000000000000000000000000000000AA"


def call_data(signature: str, *arguments: object) -> str:
    """Return calldata in hex, by an ABI codec that the gateway does not use."""
    types = signature[signature.index("(") + 1 : -1]
    return "0x" + (keccak(signature.encode())[:4] + encode(types.split(",") if types else [], arguments)).hex()


@cache
def _guard() -> Watchdog:
    """Return what ends the nodes when the test process dies without ending them."""
    guard = Watchdog()
    atexit.register(guard.close)
    return guard


@dataclass
class Anvil:
    """One anvil process with its own plain JSON-RPC client."""

    url: str
    process: subprocess.Popen[bytes]
    session: aiohttp.ClientSession
    blocks: dict[str, int] = field(default_factory=dict)

    @classmethod
    async def start(cls, session: aiohttp.ClientSession, *options: str) -> Anvil:
        port = free_port()
        process = subprocess.Popen(  # noqa: ASYNC220 - takes milliseconds, and outlives the loop's own child handling
            [anvil_binary(), "--port", str(port), "--silent", "--max-persisted-states", "0", *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _guard().watch(process.pid)
        node = cls(f"http://127.0.0.1:{port}", process, session)
        for _ in range(400):
            with contextlib.suppress(aiohttp.ClientError):
                await node.call("eth_chainId")
                return node
            await asyncio.sleep(0.02)
        node.stop()
        raise AssertionError("anvil did not start")

    def stop(self) -> None:
        self.process.kill()
        self.process.wait(10)
        _guard().forget(self.process.pid)

    async def call(self, method: str, *params: object) -> Any:
        """Return the result of one request, asked of the node itself."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        async with self.session.post(self.url, json=body) as response:
            answer = await response.json()
        assert "error" not in answer, answer
        return answer["result"]

    async def height(self) -> int:
        return int(await self.call("eth_blockNumber"), 16)

    async def place(self, address: str, creation: bytes, arguments: bytes = b"", *, is_runtime: bool = False) -> None:
        """Put a contract at an address: its creation code is run there to get the runtime code."""
        await self.call("anvil_setCode", address, "0x" + (creation + arguments).hex())
        if not is_runtime:
            runtime = await self.call("eth_call", {"to": address, "data": "0x"}, "latest")
            await self.call("anvil_setCode", address, runtime)

    async def send(self, to: str, data: str = "0x", sender: str = OWNER, value: int = 0, **fees: str) -> dict[str, Any]:
        """Send a transaction, which is mined in a block of its own, and return its receipt; it must succeed."""
        transaction = {"from": sender, "to": to, "data": data, "value": hex(value), **fees}
        receipt = await self.mined(await self.call("eth_sendTransaction", transaction))
        assert receipt["status"] == "0x1", receipt
        return receipt

    async def mined(self, sent: str) -> dict[str, Any]:
        """Return the receipt of a transaction, once the node reports everywhere that it is in a block.

        Anvil answers its sender before the receipt is there, and the receipt while it still calls the transaction
        pending.
        """
        for _ in range(500):
            receipt: dict[str, Any] | None = await self.call("eth_getTransactionReceipt", sent)
            reply = await self.call("eth_getTransactionByHash", sent)
            if receipt is not None and reply is not None and reply["blockNumber"] is not None:
                return receipt
            await asyncio.sleep(0.01)
        raise AssertionError("the transaction was not mined")

    async def block(self, tag: str, full: bool = False) -> dict[str, Any]:
        found: dict[str, Any] = await self.call("eth_getBlockByNumber", tag, full)
        return found


async def build_world(node: Anvil) -> None:
    """Put Multicall3 and tokens of every kind on the chain."""
    await node.place(MULTICALL3, multicall3())
    code = stand_ins()
    for address, name, initialize, arguments in (
        (USDC, "token", "initialize(string,string,uint8,address)", ("USD Coin", "USDC", 6, OWNER)),
        (USDT, "silent_token", "initialize(string,string,uint8,address)", ("Tether USD", "USDT", 6, OWNER)),
        (
            MKR,
            "bytes32_token",
            "initialize(bytes32,bytes32,uint256,address)",
            (b"Maker".ljust(32, b"\0"), b"MKR".ljust(32, b"\0"), 18, OWNER),
        ),
        (NAMELESS, "nameless_token", "initialize(uint8,address)", (8, OWNER)),
        (WHOLE, "whole_token", "initialize(string,string,address)", ("Whole", "WHL", OWNER)),
    ):
        await node.place(address, code[name])
        await node.send(address, call_data(initialize, *arguments))
        await node.send(address, call_data("mint(address,uint256)", ALICE, 1_234_567_890))
    await node.place(
        PROXY, bytes.fromhex(f"363d3d373d3d3d363d73{_implementation()}5af43d82803e903d91602b57fd5bf3"), is_runtime=True
    )
    await node.place("0x" + _implementation(), code["token"])
    await node.send(PROXY, call_data("initialize(string,string,uint8,address)", "Proxied", "PRX", 18, OWNER))
    await node.send(PROXY, call_data("mint(address,uint256)", BOB, 5 * 10**17))
    await node.place(WETH, original("weth9"))
    await node.call("anvil_setStorageAt", WETH, "0x0", "0x" + (b"Wrapped Ether".ljust(31, b"\0") + bytes([26])).hex())
    await node.call("anvil_setStorageAt", WETH, "0x1", "0x" + (b"WETH".ljust(31, b"\0") + bytes([8])).hex())
    await node.call("anvil_setStorageAt", WETH, "0x2", "0x" + (18).to_bytes(32, "big").hex())
    await node.place(HOSTILE, code["hostile_token"])
    hostile = ("Hostile", "HSTL", USDC, 1_000_000)
    await node.send(HOSTILE, call_data("initialize(string,string,address,uint256)", *hostile))
    await node.send(USDC, call_data("mint(address,uint256)", HOSTILE, 10**12))
    await node.place(PROBER, code["prober"])
    for address, name in (
        (GAS_BURNER, "gas_burner"),
        (REVERT_BOMBER, "revert_bomber"),
        (RETURN_BOMBER, "return_bomber"),
        (SILENT, "silent"),
    ):
        await node.place(address, RUNTIMES[name], is_runtime=True)
    await node.place(DELEGATED, bytes.fromhex("ef0100") + bytes.fromhex(PROBER[2:]), is_runtime=True)
    await node.send(USDC, call_data("approve(address,uint256)", BOB, 2**256 - 1), sender=ALICE)
    await node.send(USDC, call_data("approve(address,uint256)", OWNER, 2_500_000), sender=ALICE)
    node.blocks["built"] = await node.height()
    await node.send(BOB, value=10**18, sender=ALICE, maxFeePerGas=hex(10**12), maxPriorityFeePerGas=hex(2 * 10**9))
    node.blocks["sent"] = await node.height()
    await node.call("anvil_mine", "0x3")


async def build_arbitrum(node: Anvil) -> None:
    """Put in Multicall3 as Nitro shows it (its NUMBER is another chain's) and ArbSys, which returns the chain's own."""
    await node.place(MULTICALL3, multicall3())
    code = await node.call("eth_getCode", MULTICALL3, "latest")
    await node.call("anvil_setCode", MULTICALL3, "0x" + with_parent_number(bytes.fromhex(code[2:])).hex())
    await node.place(ARB_SYS, stand_ins()["arb_sys"])
    await node.call("anvil_mine", "0x5")


def _implementation() -> str:
    return "00000000000000000000000000000000000000b1"


class LatestOnly:
    """Stands before a real node and answers every height with the latest state, as HyperEVM's default node does."""

    def __init__(self, target: str, session: aiohttp.ClientSession) -> None:
        self.url = ""
        self._target = target
        self._session = session
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        application = web.Application()
        application.router.add_post("/", self._answer)
        self._runner = web.AppRunner(application)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        port = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{port}"

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        body = await request.json()
        for item in body if isinstance(body, list) else [body]:
            if item["method"] in ("eth_call", "eth_getBalance", "eth_getCode"):
                item["params"][-1] = "latest"
        async with self._session.post(
            self._target, data=json.dumps(body), headers={"content-type": "application/json"}
        ) as response:
            return web.Response(body=await response.read(), content_type="application/json")


class MovesOn(LatestOnly):
    """Stands before a real node that makes a block after each of the first `moves` calls it is asked."""

    def __init__(self, target: str, session: aiohttp.ClientSession, moves: int) -> None:
        super().__init__(target, session)
        self.moves = moves

    async def _answer(self, request: web.Request) -> web.Response:
        body = await request.json()
        answers = []
        for item in body if isinstance(body, list) else [body]:
            answers.append(await self._forward(item))
            if self.moves > 0 and item["method"] != "eth_chainId":
                self.moves -= 1
                await self._forward({"jsonrpc": "2.0", "id": 0, "method": "evm_mine", "params": []})
        return web.json_response(answers if isinstance(body, list) else answers[0])

    async def _forward(self, item: dict[str, Any]) -> Any:
        async with self._session.post(self._target, json=item) as response:
            return await response.json()


async def load(http: aiohttp.ClientSession, tally: Any, **urls: str) -> Chains:
    """Return the chains with ethereum on these endpoints, by label, after the first has proved its chain id.

    The first is preferred, however fast the others are.
    """
    weights = (1000, 1, 1)
    endpoints = [
        {"label": label, "url": url, "weight": weight}
        for (label, url), weight in zip(urls.items(), weights, strict=False)
    ]
    loaded = Chains.load(
        Settings.model_validate({"profile": "devnet", "chains": {"ethereum": {"endpoints": endpoints}}}),
        http,
        observer=tally,
    )
    await Operations(loaded.get("ethereum")).pool.call("eth_chainId", [])
    tally.requests.clear()
    return loaded


@contextlib.asynccontextmanager
async def driver_on(tally: Any, **urls: str) -> AsyncIterator[Operations]:
    """The driver of ethereum on these endpoints, as `load` opens them."""
    async with open_session() as http:
        chains = await load(http, tally, **urls)
        driver: Any = Operations(chains.get("ethereum"))
        try:
            yield driver
        finally:
            await chains.close()


class Answers(LatestOnly):
    """Stands before a real node and answers some methods itself: a result by method, None for a method it lacks."""

    def __init__(self, target: str, session: aiohttp.ClientSession, results: dict[str, Any]) -> None:
        super().__init__(target, session)
        self.results = results

    async def _answer(self, request: web.Request) -> web.Response:
        body = await request.json()
        items = body if isinstance(body, list) else [body]
        answers = [await self._one(item) for item in items]
        return web.json_response(answers if isinstance(body, list) else answers[0])

    async def _one(self, item: dict[str, Any]) -> Any:
        if item["method"] not in self.results:
            async with self._session.post(self._target, json=item) as response:
                return await response.json()
        result = self.results[item["method"]]
        if result is None:
            return {"jsonrpc": "2.0", "id": item["id"], "error": {"code": -32601, "message": "Method not found"}}
        return {"jsonrpc": "2.0", "id": item["id"], "result": result}


def contracts_of(driver: Any) -> CallsContracts:
    """Return how contracts of a driver's chain are called."""
    found: CallsContracts = driver.capabilities[CallsContracts]
    return found
