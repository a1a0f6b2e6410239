"""What a warm getFundingRates costs beside a bare echo of as many bytes: `python -m bench.funding`.

The venues are answered for by documents of mainnet's size, made up here; the gateway asks for them every few seconds
while it is measured, as it does for any callers.
"""

from __future__ import annotations

import random
import sys
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import orjson
import uvloop
from aiohttp import web

from bench import http_load
from bench.processes import python, set_processor_apart
from bench.promises import Promise, compare, judge
from devnet.offchain import dydx, hyperliquid
from devnet.offchain.server import OffchainServer
from devnet.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.http_load import Load

COINS = 230
"""Coins of venue-a, one in ten of them delisted."""

MARKETS = 300
"""Markets of venue-b, one in ten of them not active."""

SEED = 13
CONNECTIONS = 64
_SECONDS = 1.0
_QUESTION = b'{"jsonrpc":"2.0","id":1,"method":"getFundingRates","params":{}}'


def of_venue_a() -> list[Any]:
    """Return a document of venue-a."""
    chance = random.Random(SEED)
    [coins, [context, *_]] = hyperliquid.document()
    universe = [
        {"szDecimals": 2, "name": f"COIN{number}", "maxLeverage": 10, "marginTableId": 10}
        | ({"isDelisted": True} if number % 10 == 9 else {})
        for number in range(COINS)
    ]
    contexts = [
        context | {"funding": f"{chance.uniform(-1e-4, 1e-4):.10f}", "markPx": f"{chance.uniform(0.01, 1e5):.5g}"}
        for _ in range(COINS)
    ]
    for one in contexts:
        one["markPx"] = f"{float(one['markPx']):f}"
    return [coins | {"universe": universe}, contexts]


def of_venue_b() -> dict[str, Any]:
    """Return a document of venue-b."""
    chance = random.Random(SEED)
    [market, *_] = dydx.document()["markets"].values()
    tickers = [f"MARKET{number}-USD" for number in range(MARKETS)]
    return {
        "markets": {
            ticker: market
            | {
                "ticker": ticker,
                "status": "FINAL_SETTLEMENT" if place % 10 == 9 else "ACTIVE",
                "nextFundingRate": f"{chance.uniform(-1e-4, 1e-4):.12f}",
            }
            for place, ticker in enumerate(tickers)
        }
    }


def _add_venues(app: web.Application) -> None:
    rates, markets = orjson.dumps(of_venue_a()), orjson.dumps(of_venue_b())

    def answering(body: bytes) -> Callable[[web.Request], Any]:
        async def answer(request: web.Request) -> web.Response:
            return web.Response(body=body, content_type="application/json")

        return answer

    app.router.add_post("/a/info", answering(rates))
    app.router.add_get("/b/v4/perpetualMarkets", answering(markets))


async def measure(stack: AsyncExitStack, processors: set[int] | None) -> list[Promise]:
    """Measure a gateway and an echo of their own, which end with the stack."""
    venues = await stack.enter_async_context(OffchainServer((_add_venues,)))
    http_port, grpc_port, echo_port = (free_port() for _ in range(3))
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    config = folder / "waypost.toml"
    config.write_text(
        f'profile = "devnet"\n[http]\nport = {http_port}\n[grpc]\nport = {grpc_port}\n'
        f'[storage]\nurl = "sqlite+aiosqlite:///{folder}/waypost.db"\n'
        # With chains of its own it starts none.
        f'[chains.ethereum]\nendpoints = [{{ label = "none", url = "http://127.0.0.1:9" }}]\n'
        f'[sources.hyperliquid]\nendpoints = [{{ label = "a", url = "http://{venues.authority}/a" }}]\n'
        f'[sources.dydx]\nendpoints = [{{ label = "b", url = "http://{venues.authority}/b" }}]\n'
    )
    log = stack.enter_context((folder / "waypost.log").open("wb"))
    serve = ("-m", "cli", "serve", "--config", str(config))
    await stack.enter_async_context(python(*serve, port=http_port, log=log, processors=processors))
    base = f"http://127.0.0.1:{http_port}/local/v1"
    size = await _size_of_answer(base)
    echo = ("-m", "bench.echoes", "http", str(echo_port), str(size))
    await stack.enter_async_context(python(*echo, port=echo_port, processors=processors))
    ratio = await compare(
        f"bare aiohttp + orjson echo of {size / 1000:.0f} kB, {CONNECTIONS} connections",
        lambda: _load(f"http://127.0.0.1:{echo_port}/v1"),
        f"gateway, warm getFundingRates, {CONNECTIONS} connections",
        lambda: _load(base),
    )
    return [Promise("warm getFundingRates / bare HTTP echo of as many bytes", ratio, 0.2, True)]


async def _load(url: str) -> Load:
    return await http_load.post(url, lambda: _QUESTION, expect=b'"result"', connections=CONNECTIONS, seconds=_SECONDS)


async def _size_of_answer(url: str) -> int:
    headers = {"Content-Type": "application/json"}
    async with aiohttp.ClientSession() as session, session.post(url, data=_QUESTION, headers=headers) as response:
        answer = await response.read()
    found = orjson.loads(answer)["result"]["data"]
    listed = (len(found["venueA"]), len(found["venueB"]), found["unavailable"])
    if listed != (COINS - COINS // 10, MARKETS - MARKETS // 10, []):
        raise AssertionError(f"the venues are not answered for: {listed}")
    return len(answer)


async def main() -> int:
    """Measure this alone, and return 1 when a promise is broken."""
    measured = set_processor_apart()
    async with AsyncExitStack() as stack:
        return 0 if judge(await measure(stack, measured)) else 1


if __name__ == "__main__":
    sys.exit(uvloop.run(main()))
