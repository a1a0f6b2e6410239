"""A stand-in of venue-b's indexer (`GET /v4/perpetualMarkets`), without a network.

Its figures are made up: market number n (from 0) pays ((29 n) mod 97 - 48) x 0.00000375 an hour; the last one pays
0.0000003 and writes that with an exponent.
"""

from decimal import Decimal
from typing import Any

from aiohttp import web

from devnet.offchain.modes import add_modes, mode_url

WORD = "stand-in"
"""What the devnet calls it: our own code that answers in the real one's shape."""

MARKETS = ("BTC-USD", "ETH-USD", "SOL-USD", "LINK-USD", "BUFFI,RAYDIUM,A1B2C3D4-USD", "NEAR-USD", "TON-USD", "STRK-USD")
"""The markets that are active."""

TINY = MARKETS[-1]

PAUSED = {"LUNA-USD": "FINAL_SETTLEMENT", "DYDX-USD": "PAUSED", "NEW-USD": "INITIALIZING"}
"""Markets that are listed and not active, with their status."""

_BASE = "/dydx"
_ROUTE = "/v4/perpetualMarkets"
_STEP = Decimal("0.00000375")


def add_routes(app: web.Application) -> None:
    """Serve the stand-in below `/dydx`, and each mode below `/dydx/<mode>`."""
    add_modes(app, "GET", _BASE, _ROUTE, _markets, "nextFundingRate")


def settings(authority: str, mode: str | None = None) -> dict[str, Any]:
    """Return what the gateway's settings need to ask the stand-in at `host:port`, as the table `sources` is."""
    return {"dydx": {"endpoints": [{"label": WORD, "url": mode_url(authority, _BASE, mode)}]}}


def hourly_rate(ticker: str) -> Decimal:
    """Return what a market pays in an hour, as a fraction."""
    return Decimal("3e-7") if ticker == TINY else ((29 * MARKETS.index(ticker)) % 97 - 48) * _STEP


def document() -> dict[str, Any]:
    """Return the answer."""
    markets = {ticker: _market(ticker, "ACTIVE", hourly_rate(ticker)) for ticker in MARKETS}
    markets[TINY]["nextFundingRate"] = "3e-7"
    return {"markets": markets | {ticker: _market(ticker, status, Decimal(0)) for ticker, status in PAUSED.items()}}


def _market(ticker: str, status: str, rate: Decimal) -> dict[str, Any]:
    return {
        "clobPairId": "0",
        "ticker": ticker,
        "status": status,
        "oraclePrice": "1",
        "priceChange24H": "0",
        "volume24H": "0",
        "trades24H": 0,
        "nextFundingRate": format(rate, "f"),
        "initialMarginFraction": "0.05",
        "maintenanceMarginFraction": "0.03",
        "openInterest": "1000",
        "atomicResolution": -10,
        "quantumConversionExponent": -9,
        "tickSize": "1",
        "stepSize": "0.0001",
        "stepBaseQuantums": 1000000,
        "subticksPerTick": 100000,
        "marketType": "CROSS",
        "baseOpenInterest": "1000",
        "defaultFundingRate1H": "0",
    }


async def _markets(request: web.Request) -> web.Response:
    return web.json_response(document())
