"""A stand-in of venue-a's API (`POST /info`, `metaAndAssetCtxs`), without a network.

Its figures are made up. The mark price of a coin that the devnet has a price of is that price, of any other 1 dollar;
coin number n (from 0) pays ((37 n) mod 101 - 50) x 0.0000025 an hour and has 1000 + 13 n coins of open interest.
"""

import json
from decimal import Decimal
from typing import Any

from aiohttp import web

from devnet.offchain.modes import add_modes, mode_url
from devnet.offchain.prices import load_coins

WORD = "stand-in"
"""What the devnet calls it: our own code that answers in the real one's shape."""

COINS = ("BTC", "ETH", "SOL", "HYPE", "LINK", "kPEPE", "@107", "xyz:GOLD", "NEAR", "TON", "EIGEN", "STRK")
"""The coins that are traded."""

DELISTED = "MATIC"
"""A coin that was traded once: it stays in the answer, after the others."""

_BASE = "/hyperliquid"
_ROUTE = "/info"
_STEP = Decimal("0.0000025")


def add_routes(app: web.Application) -> None:
    """Serve the stand-in below `/hyperliquid`, and each mode below `/hyperliquid/<mode>`."""
    add_modes(app, "POST", _BASE, _ROUTE, _info, "funding")


def settings(authority: str, mode: str | None = None) -> dict[str, Any]:
    """Return what the gateway's settings need to ask the stand-in at `host:port`, as the table `sources` is."""
    return {"hyperliquid": {"endpoints": [{"label": WORD, "url": mode_url(authority, _BASE, mode)}]}}


def hourly_rate(coin: str) -> Decimal:
    """Return what a coin pays in an hour, as a fraction."""
    return ((37 * COINS.index(coin)) % 101 - 50) * _STEP


def mark_price(coin: str) -> Decimal:
    """Return the price of a coin in US dollars."""
    prices = {one.symbol: one.price for one in load_coins().values()}
    return prices.get(coin, Decimal(1))


def open_interest(coin: str) -> Decimal:
    """Return how many coins are held."""
    return Decimal(1000 + 13 * COINS.index(coin))


def document() -> list[Any]:
    """Return the answer: the coins, and as many contexts in the same order."""
    universe: list[dict[str, Any]] = [
        {"szDecimals": 3, "name": coin, "maxLeverage": 20, "marginTableId": 20} for coin in COINS
    ]
    universe.append({"szDecimals": 1, "name": DELISTED, "maxLeverage": 20, "marginTableId": 20, "isDelisted": True})
    contexts = [_context(hourly_rate(coin), mark_price(coin), open_interest(coin)) for coin in COINS]
    contexts.append(_context(Decimal("0.0000125"), Decimal("0.2"), Decimal(0)) | {"midPx": None, "premium": None})
    return [{"universe": universe, "marginTables": [], "collateralToken": 0}, contexts]


def _context(rate: Decimal, price: Decimal, interest: Decimal) -> dict[str, Any]:
    written = format(price, "f")
    return {
        "funding": format(rate, "f"),
        "openInterest": format(interest, "f"),
        "prevDayPx": written,
        "dayNtlVlm": "0.0",
        "premium": "0.0",
        "oraclePx": written,
        "markPx": written,
        "midPx": written,
        "impactPxs": [written, written],
        "dayBaseVlm": "0.0",
    }


async def _info(request: web.Request) -> web.Response:
    try:
        asked = json.loads(await request.read())
    except ValueError:
        asked = None
    if not isinstance(asked, dict) or asked.get("type") != "metaAndAssetCtxs":
        return web.Response(text="Failed to deserialize the JSON body into the target type", status=422)
    return web.json_response(document())
