"""A stand-in of an off-chain source of prices, so that every token has one without a network.

It answers as DefiLlama's price API does, with made-up figures: current ones of coins.toml, past ones by a formula.
"""

import time
import tomllib
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from aiohttp import web

COINS = Path(__file__).with_name("coins.toml")
WORD = "stand-in"
"""What the devnet calls it: our own code that answers in the real one's shape."""

_CONFIDENCE = 0.99
_SECONDS = {"m": 60, "h": 3600, "d": 24 * 3600, "w": 7 * 24 * 3600}
# The real one's limit is not documented.
_LONGEST_SPAN = 500
_OWN = "standin:"
_BASE = "/prices"


class Coin(NamedTuple):
    """A coin of the stand-in: its symbol and its price in US dollars."""

    symbol: str
    price: Decimal


@cache
def load_coins() -> dict[str, Coin]:
    """Return the rows of coins.toml by key."""
    table = tomllib.loads(COINS.read_text(encoding="utf-8"))
    return {key: Coin(row["symbol"], Decimal(row["price"])) for key, row in table.items()}


def past_price(price: Decimal, at: int) -> Decimal:
    """Return what a coin of that price cost at a moment (unix seconds): another figure every hour, 2 % off at most."""
    return price * (1000 + (at // 3600 * 7919) % 41 - 20) / 1000


def add_routes(app: web.Application) -> None:
    """Serve the stand-in below `/prices`."""
    app.router.add_get(f"{_BASE}/prices/current/{{coins}}", _current)
    app.router.add_get(f"{_BASE}/chart/{{coins}}", _chart)


def settings(authority: str) -> dict[str, Any]:
    """Return what the gateway's settings need to ask the stand-in at `host:port`, as the table `sources` is."""
    own = {coin.symbol: key for key, coin in load_coins().items() if key.startswith(_OWN)}
    return {"defillama": {"endpoints": [{"label": WORD, "url": f"http://{authority}{_BASE}"}], "coins": own}}


async def _current(request: web.Request) -> web.Response:
    now = int(time.time())
    return web.json_response(
        {
            "coins": {
                key: {"price": float(coin.price), "symbol": coin.symbol, "timestamp": now, "confidence": _CONFIDENCE}
                for key, coin in _asked(request)
            }
        }
    )


async def _chart(request: web.Request) -> web.Response:
    """Answer a price for each moment from `start` on that is not in the future, `period` apart."""
    start, span = request.query.get("start", ""), request.query.get("span", "")
    period = request.query.get("period", "1d").lower()
    step = int(period[:-1] or 0) * _SECONDS.get(period[-1:], 0) if period[:-1].isdigit() else 0
    if not (start.isdigit() and span.isdigit() and step and int(span) <= _LONGEST_SPAN):
        return web.json_response({"message": "start, span or period is wrong"}, status=400)
    now = int(time.time())
    moments = [at for at in range(int(start), int(start) + int(span) * step, step) if at <= now]
    return web.json_response(
        {
            "coins": {
                key: {
                    "symbol": coin.symbol,
                    "confidence": _CONFIDENCE,
                    "prices": [{"timestamp": at, "price": float(past_price(coin.price, at))} for at in moments],
                }
                for key, coin in _asked(request)
            }
        }
    )


def _asked(request: web.Request) -> Iterator[tuple[str, Coin]]:
    """Yield the coins asked for; unknown ones are left out, as the real one does."""
    coins = load_coins()
    for key in request.match_info["coins"].split(","):
        if key in coins:
            yield key, coins[key]
