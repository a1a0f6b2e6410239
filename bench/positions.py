"""What positions and quotes cost beside the bare node, in a world of mainnet's size: `python -m bench.positions`.

What a gateway sends for an operation is taken from one that has a relay in front of its node; the bare node is asked
exactly that. Each of the gateway's own answers is for a wallet, or an amount, that was not asked for before; what does
not depend on the wallet is kept for the block, as it is for any callers at the same time.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import orjson
import uvloop

from bench import http_load
from bench.processes import python, set_processor_apart
from bench.promises import Promise, compare_medians, judge, measure_added
from bench.questions import FRESH, USDC, node_request, single
from bench.relay import CountingRelay
from devnet.launcher import Devnet
from devnet.ports import free_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

WALLETS = 50
_SECONDS = 2.0
_WETH = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"
_AMOUNTS = itertools.count(1)


async def measure(node: str, base: str, processors: set[int] | None) -> list[Promise]:
    """Measure a gateway at `base`, whose ethereum is the node at `node`, which is of mainnet's size."""
    asked = await _observe(node, processors)
    for body in (_summary, _quote):
        await _answers(base, body())  # tables are read on first use
    ratio = await compare_medians(
        f"bare node, {len(asked[_summary]) / 1000:.0f} kB of a summary",
        lambda: _load(node, lambda: asked[_summary]),
        "gateway, getDefiSummary, 1 connection",
        lambda: _load(base, _summary),
    )
    quote = await measure_added(
        "bare node, the calls of a quote, 1 connection",
        lambda: _load(node, lambda: asked[_quote]),
        "gateway, getDexAV3Quote without fee, 1 connection",
        lambda: _load(base, _quote),
    )
    balance = await measure_added(
        "bare node, a balance, 1 connection",
        lambda: _load(node, node_request),
        "gateway, getBalance, 1 connection",
        lambda: _load(base, single()),
    )
    return [
        Promise("getDefiSummary, warm / bare node, the same batch", ratio, 1.25, False),
        Promise("upstream requests for a warm getDefiSummary", asked["requests"], 1, False),
        Promise("getDexAV3Quote adds more than getBalance, ms", (quote - balance) * 1000, 0.25, False),
        Promise(f"upstream requests for {WALLETS} x getLendAV3UserPositions", asked["wallets"], 16, False),
    ]


async def _observe(node: str, processors: set[int] | None) -> dict[Any, Any]:
    """Return the bodies that a gateway sends for a warm summary and quote, and the requests that wallets take."""
    async with AsyncExitStack() as stack:
        relay = CountingRelay(node)
        url = await relay.start()
        stack.push_async_callback(relay.close)
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        base = await stack.enter_async_context(gateway_on(url, Path(folder), processors))
        found: dict[Any, Any] = {}
        for body in (_summary, _quote):
            await _answers(base, body())
            await _answers(base, body())
            before = relay.requests
            await _answers(base, body())
            found[body] = relay.last
            if body is _summary:
                found["requests"] = relay.requests - before
        before = relay.requests
        await _answers(base, _positions())
        found["wallets"] = relay.requests - before
        return found


@asynccontextmanager
async def gateway_on(node: str, folder: Path, processors: set[int] | None) -> AsyncIterator[str]:
    """Run a gateway over ethereum alone until the block ends; enter it with its URL."""
    http_port, grpc_port = free_port(), free_port()
    config = folder / "waypost.toml"
    config.write_text(
        f'profile = "devnet"\n[http]\nport = {http_port}\n[grpc]\nport = {grpc_port}\n'
        f'[storage]\nurl = "sqlite+aiosqlite:///{folder}/waypost.db"\n'
        f'[chains.ethereum]\nendpoints = [{{ label = "node", url = "{node}" }}]\n'
    )
    serve = ("-m", "cli", "serve", "--config", str(config))
    async with AsyncExitStack() as stack:
        log = stack.enter_context((folder / "waypost.log").open("wb"))
        await stack.enter_async_context(python(*serve, port=http_port, log=log, processors=processors))
        yield f"http://127.0.0.1:{http_port}/local/v1"


def _request(method: str, place: int = 1, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": place, "method": method, "params": {"chain": "ethereum", **params}}


def _summary() -> bytes:
    return orjson.dumps(_request("getDefiSummary", address=next(FRESH)))


def _quote() -> bytes:
    amount = f"1.{next(_AMOUNTS):08}"
    return orjson.dumps(_request("getDexAV3Quote", tokenIn=_WETH, tokenOut=USDC, amount=amount))


def _positions() -> bytes:
    return orjson.dumps([_request("getLendAV3UserPositions", place, address=next(FRESH)) for place in range(WALLETS)])


async def _load(url: str, body: Callable[[], bytes]) -> http_load.Load:
    return await http_load.post(url, body, expect=b'"result"', connections=1, seconds=_SECONDS)


async def _answers(url: str, body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    async with aiohttp.ClientSession() as session, session.post(url, data=body, headers=headers) as response:
        answer = await response.text()
    if '"error"' in answer:
        raise AssertionError(f"a part of the world is missing: {answer[:1000]}")


async def main() -> int:
    """Measure this alone, and return 1 when a promise is broken."""
    measured = set_processor_apart()
    async with AsyncExitStack() as stack:
        devnet = await stack.enter_async_context(
            Devnet.start(["ethereum"], progress=lambda _: None, mines=False, of_mainnet_size=True)
        )
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        node = devnet.endpoints["ethereum"]
        base = await stack.enter_async_context(gateway_on(node, Path(folder), measured))
        return 0 if judge(await measure(node, base, measured)) else 1


if __name__ == "__main__":
    sys.exit(uvloop.run(main()))
