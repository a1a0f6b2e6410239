"""A stand-in of yield-a's API: its list of markets and a wallet's transactions, without a network.

Figures follow from the local chains at the moment of the question:

- a market's `impliedApy` is e^r - 1 of its stored rate r, 0 from expiry on; `liquidity` is what its tokens are worth in
  the asset at that rate, times its price in coins.toml, null for one without; `underlyingApy` is that of the token of
  ours, `swapFeeApy` 0.5 %, `aggregatedApy` the sum of all three, so it never equals the implied one;
- what wallets bought before a chain's first block is a purchase at `BOUGHT_AT`, at the rate at which the market trades
  now: e^(r * time to expiry then) principal tokens per asset. So what such a wallet earns is what the market implies;
- every later swap of the market for a wallet is a purchase or a sale with the amounts of its event, the asset's at the
  exchange rate of the block.

The same answers lie below several addresses: the plain one, and one for each way in which it misbehaves.
"""

import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from aiohttp import web
from eth_abi.abi import decode
from eth_utils.crypto import keccak

from devnet import known
from devnet.evm.calls import encode_call, to_hex
from devnet.evm.node import Node
from devnet.evm.treasury import token_of
from devnet.evm.world import FIRST_TIMESTAMP
from devnet.known_yield_a import YIELD_A, YieldMarket
from devnet.offchain.prices import load_coins

WORD = "stand-in"
"""What the devnet calls it: our own code that answers in the real one's shape."""

MODES = ("slow", "limited", "half", "changed")
"""The ways in which it misbehaves, each below `/pendle/<mode>`: it answers late, with its rate limit, with half of the
rows that it states there are, or with one member under another name."""

BOUGHT_AT = FIRST_TIMESTAMP - 43_200
SLOW_SECONDS = 30.0
UNITS = {"/v2/markets/all": 2, "/v1/pnl/transactions": 1}
"""Computing units that a request costs."""

_BASE = "/pendle"
_ONE = Decimal(10**18)
_YEAR = 31_536_000
_UNDERLYING, _FEES = Decimal("0.04"), Decimal("0.005")
_STATE = "(int256,int256,int256,address,int256,uint256,uint256,uint256,uint256)"
_SWAP = to_hex(keccak(text="Swap(address,address,int256,int256,uint256,uint256)"))
_RENAMED = {"impliedApy": "impliedAPY", "txValueAsset": "valueAsset"}
_LIMITS = {"/v2/markets/all": 100, "/v1/pnl/transactions": 1_000}
# What wallets did besides, before the first block; it moves no principal tokens that the wallets still have.
_OTHER = {known.VITALIK: "addLiquiditySingleToken", known.BOB: "buyYt"}

Nodes = Callable[[], Mapping[str, Node]]


def add_routes(app: web.Application, nodes: Nodes) -> None:
    """Serve the stand-in below `/pendle`, and each mode below `/pendle/<mode>`; `nodes` are the EVM chains that run."""
    api = _Api(nodes)
    for path, answer in (("/v2/markets/all", api.markets), ("/v1/pnl/transactions", api.transactions)):
        for mode in ("", *MODES):
            place = f"{_BASE}/{mode}{path}" if mode else f"{_BASE}{path}"
            app.router.add_get(place, _serve(path, mode, answer))


def settings(authority: str, mode: str | None = None) -> dict[str, Any]:
    """Return what the gateway's settings need to ask the stand-in at `host:port`, as the table `sources` is."""
    if mode is not None and mode not in MODES:
        raise ValueError(f"the stand-in of yield-a's API has no mode {mode}")
    base = f"http://{authority}{_BASE}" + (f"/{mode}" if mode else "")
    return {"pendle": {"endpoints": [{"label": WORD, "url": base, "rate": 1000}]}}


class _Api:
    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes

    async def markets(self, request: web.Request) -> list[dict[str, Any]]:
        """Return the markets of all chains that run, as `isActive` and `chainId` choose them."""
        chain_id, is_active = request.query.get("chainId"), request.query.get("isActive")
        rows: list[dict[str, Any]] = []
        for slug, node in self._nodes().items():
            if chain_id in (None, str(node.chain.chain_id)):
                now = await _now(node)
                for market in YIELD_A.get(slug, ()):
                    if is_active is None or (is_active == "true") == (market.expiry > now):
                        rows.append(await _listed(node, market, now))
        return rows

    async def transactions(self, request: web.Request) -> list[dict[str, Any]]:
        """Return what a wallet did in a market, newest first; nothing where either is unknown."""
        asked = request.query
        rows: list[dict[str, Any]] = []
        for slug, node in self._nodes().items():
            for market in YIELD_A.get(slug, ()):
                is_asked = asked.get("chainId") in (None, str(node.chain.chain_id))
                if is_asked and asked.get("market", market.market).lower() == market.market.lower():
                    rows += await _made(node, market, asked.get("user", ""))
        return sorted(rows, key=lambda row: str(row["timestamp"]), reverse=True)


def _serve(path: str, mode: str, answer: Callable[[web.Request], Any]) -> Callable[[web.Request], Any]:
    async def serve(request: web.Request) -> web.Response:
        headers = {"X-Computing-Unit": str(UNITS[path]), "X-RateLimit-Limit": "100"}
        if mode == "limited":
            headers |= {"X-RateLimit-Remaining": "0", "Retry-After": "60"}
            return web.json_response({"message": "Too many requests"}, status=429, headers=headers)
        if mode == "slow":
            await asyncio.sleep(SLOW_SECONDS)
        skip, limit = (request.query.get(name, default) for name, default in (("skip", "0"), ("limit", "10")))
        if not (skip.isdigit() and limit.isdigit() and int(limit) <= _LIMITS[path]):
            return web.json_response({"message": "skip or limit is wrong"}, status=400, headers=headers)
        rows = await answer(request)
        page = rows[int(skip) : int(skip) + int(limit)]
        if mode == "half":
            page = page[: len(page) // 2]
        if mode == "changed":
            page = [_renamed(row) for row in page]
        document = {"total": len(rows), "limit": int(limit), "skip": int(skip), "results": page}
        return web.json_response(document, headers=headers)

    return serve


def _renamed(row: Any) -> Any:
    if not isinstance(row, dict):
        return row
    return {_RENAMED.get(name, name): _renamed(value) for name, value in row.items()}


async def _listed(node: Node, market: YieldMarket, now: int) -> dict[str, Any]:
    chain = node.chain
    asset = token_of(chain, market.asset)
    state = await _read(node, market.market, "readState(address)", ["0x" + "00" * 20], _STATE)
    index = await _read(node, market.token(chain.slug), "exchangeRate()", [], "uint256")
    discount = _rate(state[8], market.expiry - now)
    implied = (Decimal(state[8]) / _ONE).exp() - 1 if market.expiry > now else Decimal(0)
    price = _price(market.asset)
    worth = (state[1] * index / _ONE + state[0] / discount).scaleb(-asset.decimals)
    return {
        "name": market.asset,
        "protocol": "Waypost devnet",
        "address": market.market.lower(),
        "expiry": _text(market.expiry),
        "pt": f"{chain.chain_id}-{market.principal.lower()}",
        "yt": f"{chain.chain_id}-{market.yield_token.lower()}",
        "sy": f"{chain.chain_id}-{market.token(chain.slug).lower()}",
        "underlyingAsset": f"{chain.chain_id}-{asset.address.lower()}",
        "accountingAsset": f"{chain.chain_id}-{asset.address.lower()}",
        "chainId": chain.chain_id,
        "details": {
            "liquidity": None if price is None else float(worth * price),
            "totalTvl": None if price is None else float(2 * worth * price),
            "tradingVolume": 0,
            "underlyingApy": float(_UNDERLYING),
            "swapFeeApy": float(_FEES),
            "pendleApy": 0,
            "impliedApy": float(implied),
            "aggregatedApy": float(implied + _UNDERLYING + _FEES),
            "maxBoostedApy": float(implied + _UNDERLYING + _FEES),
            "feeRate": 0.0005,
            "yieldRange": {"min": 0.01, "max": 0.2},
            "totalPt": float(Decimal(state[0]).scaleb(-asset.decimals)),
            "totalSy": float(Decimal(state[1]).scaleb(-asset.decimals)),
            "totalSupply": float(Decimal(state[2]).scaleb(-18)),
        },
        "isNew": False,
        "isPrime": False,
        "timestamp": _text(FIRST_TIMESTAMP),
        "categoryIds": ["stables"],
    }


async def _made(node: Node, market: YieldMarket, wallet: str) -> list[dict[str, Any]]:
    """Return a wallet's transactions in a market: those before the first block, and the swaps since."""
    unit = Decimal(10 ** token_of(node.chain, market.asset).decimals)
    rows = []
    holder = next((one for one in (known.VITALIK, known.ALICE, known.BOB) if one.lower() == wallet.lower()), None)
    bought = {known.VITALIK: market.bought, known.ALICE: market.bought // 3}.get(holder or "")
    if bought:
        ln_rate = (await _read(node, market.market, "readState(address)", ["0x" + "00" * 20], _STATE))[8]
        rate = _rate(ln_rate, market.expiry - BOUGHT_AT)
        rows.append(_row(node, market, wallet, BOUGHT_AT, "buyPt", Decimal(bought).scaleb(-6) / rate, rate))
    if holder in _OTHER:
        rows.append(_row(node, market, wallet, BOUGHT_AT, _OTHER[holder], Decimal(1), None))
    asked = {
        "address": market.market,
        "topics": [_SWAP, None, "0x" + wallet.removeprefix("0x").lower().rjust(64, "0")],
        "fromBlock": hex(node.chain.height),
        "toBlock": "latest",
    }
    for log in await node.call("eth_getLogs", asked):
        principal, split, _, _ = decode(["int256", "int256", "uint256", "uint256"], bytes.fromhex(log["data"][2:]))
        index = await _read(node, market.token(node.chain.slug), "exchangeRate()", [], "uint256", log["blockNumber"])
        asset = abs(split) * index / _ONE / unit
        at = int((await node.call("eth_getBlockByNumber", log["blockNumber"], False))["timestamp"], 16)
        action = "buyPt" if principal > 0 else "sellPt"
        rate = abs(principal) / unit / asset
        rows.append(_row(node, market, wallet, at, action, asset, rate, log["transactionHash"]))
    return rows


def _row(
    node: Node,
    market: YieldMarket,
    wallet: str,
    at: int,
    action: str,
    asset: Decimal,
    rate: Decimal | None,
    sent: str | None = None,
) -> dict[str, Any]:
    nothing = {"unit": 0, "spent_v2": {"usd": 0, "asset": 0, "eth": 0}}
    row = {
        "chainId": node.chain.chain_id,
        "market": market.market.lower(),
        "user": wallet.lower(),
        "timestamp": _text(at),
        "action": action,
        "ptData": nothing,
        "ytData": nothing,
        "lpData": nothing,
        "priceInAsset": {"pt": 0, "yt": 0, "lp": 0},
        "profit": {"usd": 0, "asset": 0, "eth": 0},
        "txValueAsset": float(asset),
        "assetUsd": float(_price(market.asset) or 0),
        "assetEth": 0,
        "ptExchangeRate": float(rate or 1),
    }
    if rate is not None:
        row["effectivePtExchangeRate"] = float(rate)
    return row | ({"txHash": sent} if sent else {})


def _price(symbol: str) -> Decimal | None:
    return next((coin.price for coin in load_coins().values() if coin.symbol == symbol), None)


def _rate(ln_rate: int, seconds: int) -> Decimal:
    """Return the principal tokens per asset of a rate with so many seconds to expiry, one from then on."""
    return (Decimal(ln_rate) * max(0, seconds) / _YEAR / _ONE).exp()


def _text(at: int) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


async def _now(node: Node) -> int:
    return int((await node.call("eth_getBlockByNumber", "latest", False))["timestamp"], 16)


async def _read(
    node: Node, to: str, signature: str, arguments: list[object], answer: str, block: str = "latest"
) -> Any:
    question = {"to": to, "data": to_hex(encode_call(signature, arguments))}
    return decode([answer], bytes.fromhex((await node.call("eth_call", question, block))[2:]))[0]
